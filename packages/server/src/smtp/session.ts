import type { Readable } from 'node:stream';
import type { Clock } from '../clock.ts';
import type { ByteBudget } from '../inbound/in-flight/byte-budget.ts';
import type { Receiver, Recipient } from '../inbound/receiver.ts';
import type { CaptureTarget } from '../inbound/smtp-credentials.ts';
import type { Logger } from '../log.ts';
import type { MailEnvelope } from '../store/contract/index.ts';
import { readMail, readRcpt } from './commands.ts';
import { type BareLineEndings, Transfer, type TransferEnd } from './data/transfer.ts';
import type { SmtpLimits } from './limits.ts';
import { REPLIES, type Reply, replyForError, replyLine } from './replies.ts';

/** What the SMTP server counts; given by the app. */
export interface SmtpMetrics {
  connection(): void;
  disconnection(): void;
  /** A DATA command came to its end. @param seconds from DATA to the reply */
  mail(result: 'accepted' | 'refused' | 'failed', bytes: number, seconds: number): void;
  /** A RCPT or DATA got a reply that is not 2xx. @param code the three digits */
  refusal(code: number): void;
  /** Credentials were checked: those of an inbox, any others that were accepted, or refused ones. */
  authentication(result: 'captured' | 'accepted' | 'refused'): void;
  /** A TLS handshake failed. */
  tlsHandshakeFailure(): void;
}

/** What all sessions share. */
export interface SessionContext {
  receiver: Receiver;
  clock: Clock;
  log: Logger;
  metrics: SmtpMetrics;
  limits: SmtpLimits;
  budget: ByteBudget;
  maxMessageBytes: number;
  bareLineEndings: BareLineEndings;
  /** Domains whose postmaster is accepted and logged; none: refused. */
  postmasterDomains: ReadonlySet<string>;
}

/** Who speaks, as far as it is known now. */
export interface Peer {
  helo: string;
  remoteAddress: string;
  tls: boolean;
}

/** What authentication changes in a session. */
export interface SessionRights {
  /** The inbox that takes all mail of the session; null for delivery by recipients. */
  target: CaptureTarget | null;
  /** True where MAIL may have the AUTH parameter. */
  allowsAuth: boolean;
}

/** The reply to a finished DATA. `inStep` is false when the connection has to be closed after it. */
export type DataAnswer = (reply: Reply, inStep: boolean) => void;

interface Transaction {
  envelope: MailEnvelope;
  target: CaptureTarget | null;
  declaredBytes: number;
  smtputf8: boolean;
  recipients: Recipient[];
  /** Recipients that are logged and go nowhere. */
  postmasters: number;
  overshotLogged: boolean;
}

/**
 * The mail transactions of one connection (RFC 5321 section 3.3): what MAIL, RCPT and DATA mean and
 * which reply they get. Knows nothing of sockets and of the SMTP library.
 */
export class Session {
  readonly id: string;
  readonly #context: SessionContext;
  #transaction: Transaction | undefined;
  #transfer: Transfer | undefined;

  constructor(id: string, context: SessionContext) {
    this.id = id;
    this.#context = context;
  }

  /** The bytes that are coming in now, if any are. */
  get transfer(): Transfer | undefined {
    return this.#transfer?.receiving ? this.#transfer : undefined;
  }

  /** True between MAIL and the end of the message, or RSET. */
  get inTransaction(): boolean {
    return this.#transaction !== undefined;
  }

  /** True when no more recipients are taken for this mail. */
  get isFull(): boolean {
    const transaction = this.#transaction;
    return (
      transaction !== undefined && this.#countRecipients(transaction) >= this.#context.limits.maxRecipients
    );
  }

  /** RSET, a new EHLO, STARTTLS, the end of a mail: no transaction. */
  reset(): void {
    this.#transaction = undefined;
  }

  mail(line: string, peer: Peer, { target, allowsAuth }: SessionRights): Reply {
    if (this.#transaction) return REPLIES.nestedMail;
    const command = readMail(line, this.#context.maxMessageBytes, allowsAuth);
    if ('code' in command) return command;
    const { mailFrom, declaredBytes, smtputf8 } = command;
    this.#transaction = {
      envelope: { mailFrom, ...peer },
      target,
      declaredBytes,
      smtputf8,
      recipients: [],
      postmasters: 0,
      overshotLogged: false,
    };
    return REPLIES.senderOk;
  }

  /** Never rejects. */
  async rcpt(line: string): Promise<Reply> {
    const transaction = this.#transaction;
    if (!transaction) return REPLIES.needMail;
    const command = readRcpt(line, transaction.smtputf8);
    if ('code' in command) {
      this.#context.metrics.refusal(command.code);
      return command;
    }
    const { rcptTo } = command;
    if (this.isFull) {
      return this.#refuseRcpt(transaction, rcptTo, REPLIES.tooManyRecipients);
    }
    const { target, declaredBytes } = transaction;
    if (!target && this.#isPostmaster(rcptTo)) {
      transaction.postmasters++;
      return REPLIES.recipientOk;
    }
    try {
      const recipient = await this.#context.receiver.accept(rcptTo, declaredBytes, target);
      transaction.recipients.push(recipient);
      return REPLIES.recipientOk;
    } catch (error) {
      return this.#refuseRcpt(transaction, rcptTo, this.#replyFor(error));
    }
  }

  /** The reply that refuses DATA now, or undefined when it may begin. */
  dataProblem(): Reply | undefined {
    if (!this.#transaction) return REPLIES.needMail;
    return this.#countRecipients(this.#transaction) === 0 ? REPLIES.needRecipient : undefined;
  }

  /** Reads the mail from `stream` and answers once, unless the connection ends before the mail does. */
  data(stream: Readable, answer: DataAnswer): void {
    const { limits, maxMessageBytes, bareLineEndings, budget, clock } = this.#context;
    const transaction = this.#transaction;
    if (!transaction) throw new Error('DATA without a transaction');
    const { recipients, postmasters } = transaction;
    const largest = Math.max(
      postmasters > 0 ? maxMessageBytes : 0,
      ...recipients.map((r) => r.maxMessageBytes),
    );
    const begun = clock.now();
    const options = {
      limit: Math.min(largest, maxMessageBytes),
      drainLimit: limits.maxDrainedBytes,
      bareLineEndings,
      budget,
    };
    const transfer = new Transfer(stream, options, (end) => {
      void this.#finish(transaction, transfer, end, begun, answer);
    });
    this.#transfer = transfer;
  }

  async #finish(
    transaction: Transaction,
    transfer: Transfer,
    end: TransferEnd,
    begun: number,
    answer: DataAnswer,
  ): Promise<void> {
    const { metrics, clock, log } = this.#context;
    const bytes = transfer.bytesReceived;
    const reply =
      'bytes' in end ? await this.#take(transaction, end.bytes) : 'refused' in end ? end.refused : null;
    transfer.release();
    const ms = clock.now() - begun;
    const line = { session: this.id, bytes, ms, recipients: transaction.recipients.map((r) => r.inboxId) };
    if (!reply) {
      metrics.mail('failed', bytes, ms / 1000);
      log.info(line, 'mail interrupted by its sender');
      return;
    }
    if (reply.code < 300) {
      metrics.mail('accepted', bytes, ms / 1000);
      log.info(line, 'mail accepted');
    } else {
      metrics.mail(reply.code < 500 ? 'failed' : 'refused', bytes, ms / 1000);
      metrics.refusal(reply.code);
      log.info({ ...line, reply: replyLine(reply) }, 'mail refused');
      const addresses = new Set(transaction.recipients.map(({ address }) => address));
      for (const address of addresses) this.#tellRefusal(transaction, address, reply);
    }
    answer(reply, !('refused' in end) || end.inStep);
  }

  async #take(transaction: Transaction, bytes: Uint8Array): Promise<Reply> {
    const { envelope, recipients, postmasters } = transaction;
    const { receiver, log } = this.#context;
    if (postmasters > 0)
      log.info({ session: this.id, bytes: bytes.length, ...envelope }, 'mail to postmaster');
    if (recipients.length === 0) return REPLIES.stored;
    try {
      await receiver.take(envelope, recipients, bytes, this.id);
      return REPLIES.stored;
    } catch (error) {
      return this.#replyFor(error);
    }
  }

  /** Anything that was not meant to be told is a defect: logged here, and heard as "try again later". */
  #replyFor(error: unknown): Reply {
    const reply = replyForError(error);
    if (reply) return reply;
    this.#context.log.error({ session: this.id, err: error }, 'unexpected failure in an SMTP session');
    return REPLIES.tryLater;
  }

  #countRecipients({ recipients, postmasters }: Transaction): number {
    return recipients.length + postmasters;
  }

  #isPostmaster(rcptTo: string): boolean {
    const { postmasterDomains } = this.#context;
    const [local, domain] = rcptTo.toLowerCase().split('@');
    if (local !== 'postmaster' || postmasterDomains.size === 0) return false;
    return domain === undefined || postmasterDomains.has(domain);
  }

  #refuseRcpt(transaction: Transaction, rcptTo: string, reply: Reply): Reply {
    this.#context.metrics.refusal(reply.code);
    this.#tellRefusal(transaction, rcptTo, reply);
    // One line says it for all of a list that is too long.
    if (reply === REPLIES.tooManyRecipients && transaction.overshotLogged) return reply;
    transaction.overshotLogged ||= reply === REPLIES.tooManyRecipients;
    this.#context.log.info({ session: this.id, rcptTo, reply: replyLine(reply) }, 'recipient refused');
    return reply;
  }

  #tellRefusal({ envelope, target }: Transaction, rcptTo: string, reply: Reply): void {
    const { mailFrom, helo, remoteAddress } = envelope;
    const at = this.#context.clock.now();
    // In an authenticated session it is the session's inbox that missed the mail.
    const address = target?.address ?? rcptTo;
    this.#context.receiver.refused({ at, address, reply: replyLine(reply), mailFrom, helo, remoteAddress });
  }
}
