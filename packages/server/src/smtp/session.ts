import type { Clock } from '../clock.ts';
import type { ByteBudget, ShareEvents } from '../inbound/in-flight/byte-budget.ts';
import type { Receiver } from '../inbound/receiver.ts';
import type { Recipient } from '../inbound/recipients.ts';
import { SessionTrail } from '../inbound/session-trail.ts';
import type { CaptureTarget, SmtpCredentials } from '../inbound/smtp-credentials.ts';
import { sourceKey } from '../inbound/source-key.ts';
import type { Logger } from '../log.ts';
import type { MailEnvelope } from '../store/contract/index.ts';
import { type AuthContext, checkCredentials } from './authentication.ts';
import { IncomingMessage } from './incoming-message.ts';
import type { SmtpLimits } from './limits.ts';
import type { MailEvent, RejectedEvent, RejectedMailEvent } from './protocol/events.ts';
import { REPLIES, type Reply, replyLine } from './protocol/replies.ts';
import { replyForError } from './replies.ts';

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
  auth: AuthContext;
  budget: ByteBudget;
  maxMessageBytes: number;
  /** Domains whose postmaster is accepted and logged; none: refused. */
  postmasterDomains: ReadonlySet<string>;
}

interface Transaction {
  envelope: MailEnvelope;
  declaredBytes: number;
  recipients: Recipient[];
  /** Recipients that are logged and go nowhere. */
  postmasters: number;
  overshotLogged: boolean;
}

export interface SessionOptions {
  /** For the log and the Received line. */
  id: string;
  remoteAddress: string;
  /** When the connection was accepted, epoch milliseconds. */
  connectedAt: number;
}

/**
 * The mail transactions of one connection (RFC 5321 section 3.3): what the application decides about the events
 * of the protocol. Knows nothing of sockets, and nothing of the order of commands.
 */
export class Session {
  readonly #id: string;
  readonly #remoteAddress: string;
  readonly #source: string;
  readonly #context: SessionContext;
  readonly #trail: SessionTrail;
  /** The inbox that takes all mail of this session; null for delivery by recipients. */
  #target: CaptureTarget | null = null;
  #isAuthenticated = false;
  /** Aborted when the connection is gone; made when the first message is stored. */
  #gone: AbortController | undefined;
  #transaction: Transaction | undefined;
  #message: IncomingMessage | undefined;

  constructor({ id, remoteAddress, connectedAt }: SessionOptions, context: SessionContext) {
    this.#id = id;
    this.#remoteAddress = remoteAddress;
    this.#source = sourceKey(remoteAddress);
    this.#context = context;
    this.#trail = new SessionTrail(context.clock, connectedAt);
  }

  /** The connection is encrypted: forgets who the client is (RFC 3207 section 4.2). @param cipher for the timeline */
  secured(cipher: string): void {
    this.#target = null;
    this.#isAuthenticated = false;
    this.#transaction = undefined;
    this.#trail.secured(cipher);
  }

  /** @returns the reply to AUTH; never rejects */
  async authenticate(credentials: SmtpCredentials): Promise<Reply> {
    const peer = { session: this.#id, remoteAddress: this.#remoteAddress };
    const { reply, target } = await checkCredentials(this.#context.auth, credentials, peer);
    this.#target = target;
    this.#isAuthenticated = reply === REPLIES.authenticated;
    if (this.#isAuthenticated) this.#trail.authenticated(target !== null);
    return reply;
  }

  /** Begins a transaction; the one before, if there was one, is forgotten. */
  mail({ mailFrom, declaredBytes, helo, tls }: MailEvent): void {
    const envelope = { mailFrom, helo, remoteAddress: this.#remoteAddress, tls };
    this.#transaction = { envelope, declaredBytes, recipients: [], postmasters: 0, overshotLogged: false };
    this.#trail.mail();
  }

  /** A command that the protocol rejected: a MAIL for its size, or a RCPT. */
  rejected(event: RejectedEvent): void {
    const { metrics } = this.#context;
    if (event.command === 'MAIL') this.#rejectSender(event);
    else if (event.rcptTo === null) metrics.refusal(event.reply.code);
    else this.#rejectRecipient(this.#current(), event.rcptTo, event.reply);
  }

  /** @returns the reply to RCPT; never rejects */
  async rcpt(rcptTo: string): Promise<Reply> {
    const transaction = this.#current();
    if (!this.#target && this.#isPostmaster(rcptTo)) {
      transaction.postmasters++;
      return REPLIES.recipientOk;
    }
    try {
      const { receiver } = this.#context;
      transaction.recipients.push(await receiver.accept(rcptTo, transaction.declaredBytes, this.#target));
      this.#trail.rcpt();
      return REPLIES.recipientOk;
    } catch (error) {
      return this.#rejectRecipient(transaction, rcptTo, this.#replyFor(error));
    }
  }

  /**
   * Begins a message.
   * @param events `resume` is called when the message may go on after {@link append} returned false, `revoke`
   *   when the session is to be closed because others wait for the memory
   * @returns the bytes that it may have
   */
  beginData(events: ShareEvents): number {
    const { maxMessageBytes, budget, clock } = this.#context;
    const { recipients, postmasters } = this.#current();
    const largest = Math.max(
      postmasters > 0 ? maxMessageBytes : 0,
      ...recipients.map((recipient) => recipient.maxMessageBytes),
    );
    const maxBytes = Math.min(largest, maxMessageBytes);
    const owner = { source: this.#source, account: recipients[0]?.accountId ?? '' };
    this.#trail.data();
    this.#message = new IncomingMessage(maxBytes, { budget, owner, events, now: clock.monotonic() });
    return maxBytes;
  }

  /** @returns false when the message has to wait until `resume` is called */
  append(bytes: Uint8Array): boolean {
    return this.#message?.append(bytes) ?? true;
  }

  /** The message is refused: what came of it is dropped. */
  refuseData(): void {
    this.#message?.release();
  }

  /**
   * Takes the message, when it is not refused.
   * @param bytesRead bytes of it that came, kept or not
   * @returns the reply to the end of the data; never rejects
   */
  async endData(refusal: Reply | null, bytesRead: number): Promise<Reply> {
    const transaction = this.#current();
    const message = this.#message;
    if (!message) throw new Error('The end of a message that was not begun');
    this.#message = undefined;
    this.#transaction = undefined;
    const bytes = refusal ? bytesRead : message.length;
    const reply = refusal ?? (await this.#take(transaction, message.finish()));
    message.release();
    this.#report(transaction, reply, bytes, message.begunAt);
    return reply;
  }

  /** The connection has ended, also in the middle of a message. @param bytesRead as in {@link endData} */
  ended(bytesRead: number): void {
    this.#gone?.abort();
    if (!this.#message) return;
    const { metrics, clock, log } = this.#context;
    const ms = clock.monotonic() - this.#message.begunAt;
    this.#message.release();
    this.#message = undefined;
    metrics.mail('failed', bytesRead, ms / 1000);
    const recipients = this.#current().recipients.map(({ inboxId }) => inboxId);
    log.info(
      { session: this.#id, bytes: bytesRead, ms, recipients },
      'The sender closed the connection before the end of a message',
    );
  }

  #current(): Transaction {
    if (!this.#transaction) throw new Error('No mail transaction');
    return this.#transaction;
  }

  async #take({ envelope, recipients, postmasters }: Transaction, bytes: Uint8Array): Promise<Reply> {
    const { log } = this.#context;
    if (postmasters > 0)
      log.info({ session: this.#id, bytes: bytes.length, ...envelope }, 'A message to postmaster came');
    if (recipients.length === 0) return REPLIES.stored;
    this.#gone ??= new AbortController();
    const { signal } = this.#gone;
    const trace = { id: this.#id, protocol: 'SMTP' as const, authenticated: this.#isAuthenticated };
    const trail = this.#trail.endOfData();
    try {
      await this.#context.receiver.take({ envelope, recipients, received: bytes, trace, trail, signal });
      this.#trail.stored();
      return REPLIES.stored;
    } catch (error) {
      // The sender got no 250, so it will try again.
      return error === signal.reason ? REPLIES.senderLeft : this.#replyFor(error);
    }
  }

  #report(transaction: Transaction, reply: Reply, bytes: number, begunAt: number): void {
    const { metrics, clock, log } = this.#context;
    const ms = clock.monotonic() - begunAt;
    const recipients = transaction.recipients.map(({ inboxId }) => inboxId);
    const line = { session: this.#id, bytes, ms, recipients };
    if (reply.code < 300) {
      metrics.mail('accepted', bytes, ms / 1000);
      log.info(line, 'A message was stored');
      return;
    }
    metrics.mail(reply.code < 500 ? 'failed' : 'refused', bytes, ms / 1000);
    metrics.refusal(reply.code);
    log.info({ ...line, reply: replyLine(reply) }, 'A message was refused');
    const addresses = new Set(transaction.recipients.map(({ address }) => address));
    for (const address of addresses) this.#reportRefusal(transaction, address, reply);
  }

  /** Anything but a known error is a defect: logged here, and the sender may try again. */
  #replyFor(error: unknown): Reply {
    const reply = replyForError(error);
    if (reply) return reply;
    this.#context.log.error({ session: this.#id, err: error }, 'An SMTP session failed unexpectedly');
    return REPLIES.tryLater;
  }

  #isPostmaster(rcptTo: string): boolean {
    const { postmasterDomains } = this.#context;
    if (postmasterDomains.size === 0) return false;
    const [local, domain] = rcptTo.toLowerCase().split('@');
    return local === 'postmaster' && (domain === undefined || postmasterDomains.has(domain));
  }

  /** Of a MAIL command for its size, so that the owner of an inbox can find out why nothing came. */
  #rejectSender({ reply, mailFrom, declaredBytes, helo }: RejectedMailEvent): void {
    const { metrics, log, receiver, clock, maxMessageBytes } = this.#context;
    metrics.refusal(reply.code);
    const peer = { mailFrom, helo, remoteAddress: this.#remoteAddress };
    log.info({ session: this.#id, ...peer, declaredBytes, reply: replyLine(reply) }, 'A sender was refused');
    const told = `${replyLine(reply)} (declared: ${declaredBytes} bytes, limit: ${maxMessageBytes} bytes)`;
    receiver.senderRefused({ at: clock.now(), reply: told, ...peer });
  }

  #rejectRecipient(transaction: Transaction, rcptTo: string, reply: Reply): Reply {
    this.#context.metrics.refusal(reply.code);
    this.#reportRefusal(transaction, rcptTo, reply);
    // One log line for all recipients of a list that is too long.
    if (reply === REPLIES.tooManyRecipients && transaction.overshotLogged) return reply;
    transaction.overshotLogged ||= reply === REPLIES.tooManyRecipients;
    this.#context.log.info({ session: this.#id, rcptTo, reply: replyLine(reply) }, 'A recipient was refused');
    return reply;
  }

  #reportRefusal({ envelope }: Transaction, rcptTo: string, reply: Reply): void {
    const { mailFrom, helo, remoteAddress } = envelope;
    const at = this.#context.clock.now();
    // In an authenticated session it is the session's inbox that missed the mail.
    const address = this.#target?.address ?? rcptTo;
    this.#context.receiver.refused({ at, address, reply: replyLine(reply), mailFrom, helo, remoteAddress });
  }
}
