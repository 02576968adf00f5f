import type { Clock } from '../../clock.ts';
import type { ByteBudget } from '../../inbound/in-flight/byte-budget.ts';
import type { ShareEvents } from '../../inbound/in-flight/share.ts';
import type { Receiver } from '../../inbound/receiver.ts';
import type { Recipient } from '../../inbound/recipients.ts';
import { SessionTrail } from '../../inbound/session-trail.ts';
import type { CaptureTarget, SmtpCredentials } from '../../inbound/smtp-credentials.ts';
import { sourceKey } from '../../inbound/source-key.ts';
import type { Logger } from '../../log.ts';
import type { SmtpMetrics } from '../../monitoring/metrics.ts';
import type { FaultPoint, MailEnvelope } from '../../store/contract/index.ts';
import { type AuthContext, checkCredentials } from '../authentication.ts';
import type { SmtpLimits } from '../limits.ts';
import type { MailEvent, RejectedEvent } from '../protocol/events.ts';
import { REPLIES, type Reply } from '../protocol/replies.ts';
import { replyForError } from '../replies.ts';
import type { SmtpVisits } from '../visits.ts';
import { type Fault, SessionFaults } from './faults.ts';
import { IncomingMessage } from './incoming-message.ts';
import { SessionReports } from './reports.ts';

/** What all sessions share. */
export interface SessionContext {
  receiver: Receiver;
  visits: SmtpVisits;
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
  /** True where a fault rule has met it, which is stored. */
  metFault: boolean;
}

export interface SessionOptions {
  /** For the log and the Received line. */
  id: string;
  remoteAddress: string;
  /** When the connection was accepted, epoch milliseconds. */
  connectedAt: number;
}

const hasFaults = ({ faultsOf }: Recipient): boolean => faultsOf !== undefined;

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
  #hasEnded = false;
  /** The ids of the last message that was stored, one for each inbox. */
  #stored: readonly string[] = [];
  /** The inbox that takes all mail of this session; null for delivery by recipients. */
  #target: CaptureTarget | null = null;
  #isAuthenticated = false;
  /** Whether what became of a mail or of a login is stored. */
  #hasTrace = false;
  readonly #faults: SessionFaults;
  readonly #reports: SessionReports;
  /** Aborted when the connection is gone; made when the first message is stored. */
  #gone: AbortController | undefined;
  #transaction: Transaction | undefined;
  #message: IncomingMessage | undefined;

  /** @param onDelay called when a delay that a fault rule asks for begins (true) or ends (false) */
  constructor(
    { id, remoteAddress, connectedAt }: SessionOptions,
    context: SessionContext,
    onDelay: (isDelayed: boolean) => void,
  ) {
    const { receiver, clock, log } = context;
    const trail = new SessionTrail(clock, connectedAt);
    this.#reports = new SessionReports({ id, remoteAddress }, context);
    this.#faults = new SessionFaults({ receiver, clock, log, trail, session: id, onDelay });
    this.#trail = trail;
    this.#id = id;
    this.#remoteAddress = remoteAddress;
    this.#source = sourceKey(remoteAddress);
    this.#context = context;
  }

  /** The connection is encrypted: discards what the client sent before (RFC 3207 section 4.2). @param cipher for the timeline */
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
    if (reply === REPLIES.badCredentials) {
      this.#hasTrace = true;
      this.#reports.credentials(credentials.username, reply);
    }
    return reply;
  }

  /** Begins a transaction; the one before, if there was one, is dropped. */
  mail({ mailFrom, declaredBytes, helo, tls }: MailEvent): void {
    const envelope = { mailFrom, helo, remoteAddress: this.#remoteAddress, tls };
    const none = { recipients: [], postmasters: 0, overshotLogged: false, metFault: false };
    this.#transaction = { envelope, declaredBytes, ...none };
    this.#context.visits.lastAt = this.#context.clock.now();
    this.#trail.mail();
  }

  /** A command that the protocol rejected: a MAIL for its size, or a RCPT. */
  rejected(event: RejectedEvent): void {
    const { metrics } = this.#context;
    this.#hasTrace = true;
    if (event.command === 'MAIL') this.#reports.sender(event);
    else if (event.rcptTo === null) metrics.refusal(event.reply.code);
    else this.#rejectRecipient(this.#current(), event.rcptTo, event.reply);
  }

  /** @returns the reply to RCPT, or what a fault rule does instead; never rejects */
  async rcpt(rcptTo: string): Promise<Reply | Fault> {
    const transaction = this.#current();
    this.#hasTrace = true;
    if (!this.#target && this.#isPostmaster(rcptTo)) {
      transaction.postmasters++;
      return REPLIES.recipientOk;
    }
    try {
      const { receiver } = this.#context;
      const recipient = await receiver.accept(rcptTo, transaction.declaredBytes, this.#target);
      const fault = hasFaults(recipient) ? await this.#meet('rcpt', transaction, [recipient]) : undefined;
      if (fault) return fault;
      transaction.recipients.push(recipient);
      this.#trail.rcpt();
      return REPLIES.recipientOk;
    } catch (error) {
      return this.#rejectRecipient(transaction, rcptTo, this.#replyFor(error));
    }
  }

  /** Whether the inbox of a recipient has fault rules, so that {@link data} is to be called. */
  get hasFaults(): boolean {
    return this.#current().recipients.some(hasFaults);
  }

  /** @returns what a fault rule does in place of the 354; undefined for nothing; never rejects */
  async data(): Promise<Reply | Fault | undefined> {
    try {
      return await this.#meet('data', this.#current());
    } catch (error) {
      return this.#replyFor(error);
    }
  }

  /** Ends delays, and leaves out later ones: the server stops. */
  endDelays(): void {
    this.#faults.end();
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

  /** Whether the memory of what was given to {@link append} is not needed any more. */
  get hasCopied(): boolean {
    return this.#message?.hasCopied ?? false;
  }

  /** The message is refused: what came of it is dropped. */
  refuseData(): void {
    this.#message?.release();
  }

  /**
   * Takes the message, when it is not refused.
   * @param bytesRead bytes of it that came, kept or not
   * @returns the reply to the end of the data, or what a fault rule does instead; never rejects
   */
  async endData(refusal: Reply | null, bytesRead: number): Promise<Reply | Fault> {
    const transaction = this.#current();
    const message = this.#message;
    if (!message) throw new Error('The end of a message that was not begun');
    this.#message = undefined;
    this.#transaction = undefined;
    const bytes = refusal ? bytesRead : message.length;
    const { given, delayMs } = refusal
      ? { given: refusal, delayMs: 0 }
      : await this.#finish(transaction, message.finish());
    // A delay holds no memory that others wait for.
    message.release();
    const { begunAt } = message;
    this.#reports.message({ ...transaction, bytes, begunAt }, given, this.#target);
    await this.#faults.delay(delayMs);
    if (given === REPLIES.stored && !this.#hasEnded) this.#context.receiver.replied(this.#stored);
    return given;
  }

  /**
   * The connection has ended, also in the middle of a message.
   * @param bytesRead as in {@link endData}
   * @param helo the client's name; undefined before it sent one
   */
  ended(bytesRead: number, helo: string | undefined): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#gone?.abort();
    this.#faults.end();
    if (!this.#message) {
      this.#leftWithoutMessage(helo);
      return;
    }
    const { begunAt } = this.#message;
    this.#message.release();
    this.#message = undefined;
    this.#reports.interrupted({ ...this.#current(), bytes: bytesRead, begunAt }, this.#target?.address);
  }

  #leftWithoutMessage(helo: string | undefined): void {
    const { clock, visits } = this.#context;
    const [transaction, remoteAddress] = [this.#transaction, this.#remoteAddress];
    if (transaction && !transaction.metFault && transaction.recipients.length > 0)
      this.#reports.left(transaction, this.#target?.address);
    else if (helo !== undefined && !this.#hasTrace)
      visits.leftEarly({ at: clock.now(), remoteAddress, helo });
  }

  /** Logs an unexpected failure. @returns the reply to it */
  failed(error: unknown): Reply {
    return this.#reports.defect(error);
  }

  #current(): Transaction {
    if (!this.#transaction) throw new Error('No mail transaction');
    return this.#transaction;
  }

  /** Applies the rules that are next for this point, with their delay. @throws AppError `unavailable` */
  async #meet(
    at: FaultPoint,
    transaction: Transaction,
    asked: readonly Recipient[] = transaction.recipients,
  ): Promise<Fault | undefined> {
    const { delayMs, fault } = await this.#faults.find(at, asked, transaction.envelope);
    if (fault) transaction.metFault = true;
    if (fault?.reply) this.#context.metrics.refusal(fault.reply.code);
    await this.#faults.delay(delayMs);
    return fault;
  }

  /** Stores a whole message, unless a fault rule refuses it. @returns what to answer after the delay */
  async #finish(
    transaction: Transaction,
    bytes: Uint8Array,
  ): Promise<{ given: Reply | Fault; delayMs: number }> {
    const { recipients, envelope } = transaction;
    if (!recipients.some(hasFaults)) return { given: await this.#take(transaction, bytes), delayMs: 0 };
    this.#gone ??= new AbortController();
    try {
      const { delayMs, fault } = await this.#faults.find('end-of-data', recipients, envelope);
      return { given: fault ?? (await this.#take(transaction, bytes)), delayMs };
    } catch (error) {
      return { given: this.#replyFor(error), delayMs: 0 };
    }
  }

  async #take({ envelope, recipients, postmasters }: Transaction, bytes: Uint8Array): Promise<Reply> {
    const { log } = this.#context;
    if (postmasters > 0)
      log.info({ session: this.#id, bytes: bytes.length, ...envelope }, 'A message to postmaster came');
    if (recipients.length === 0) return REPLIES.stored;
    this.#gone ??= new AbortController();
    const { signal } = this.#gone;
    const trace = { id: this.#id, protocol: 'SMTP' as const, authenticated: this.#isAuthenticated };
    const trail = this.#trail.endOfData(recipients);
    try {
      const mail = { envelope, recipients, received: bytes, trace, trail, signal };
      const placed = await this.#context.receiver.deliver(mail);
      this.#stored = placed.flatMap((place) => ('messageId' in place ? place.messageId : []));
      this.#trail.stored();
      return REPLIES.stored;
    } catch (error) {
      // The sender got no 250, so it will try again.
      return error === signal.reason ? REPLIES.senderLeft : this.#replyFor(error);
    }
  }

  #replyFor(error: unknown): Reply {
    return replyForError(error) ?? this.failed(error);
  }

  #isPostmaster(rcptTo: string): boolean {
    const { postmasterDomains } = this.#context;
    if (postmasterDomains.size === 0) return false;
    const [local, domain] = rcptTo.toLowerCase().split('@');
    return local === 'postmaster' && (domain === undefined || postmasterDomains.has(domain));
  }

  #rejectRecipient(transaction: Transaction, rcptTo: string, reply: Reply): Reply {
    // One log line for all recipients of a list that is too long.
    const isOvershoot = reply === REPLIES.tooManyRecipients;
    const isLogged = !(isOvershoot && transaction.overshotLogged);
    transaction.overshotLogged ||= isOvershoot;
    const address = this.#target?.address ?? rcptTo;
    this.#reports.recipient(transaction.envelope, { rcptTo, address, reply }, isLogged);
    return reply;
  }
}
