import { LRUCache } from 'lru-cache';
import type { Clock } from '../clock.ts';
import type { MetFault } from '../faults/sql.ts';
import type { SmtpReceiver } from '../inbound/receiver.ts';
import type { CaptureTarget, SmtpCredentials } from '../inbound/smtp-credentials.ts';
import type { Logger } from '../log.ts';
import { parseAddress } from '../mail/address.ts';
import type { MailEnvelope } from '../mail/mail.ts';
import type { Trail, TrailEvent, TrailStep } from '../mail/trail.ts';
import type { SmtpMetrics } from '../operations/metrics.ts';
import { NO_RECIPIENT, type Refusal } from '../refusals/sql.ts';
import { type Outcome, REPLIES, type Reply, replyLine } from './protocol.ts';

const MAX_EARLY = 100;
/** An {@link EarlyLeaver} is a health check if it also left within this time before the searched period. */
const HEALTH_CHECK_MS = 60_000;
const MAX_SENDERS = 1_000;

type Peer = Pick<Refusal, 'remoteAddress' | 'helo'>;

/** A client that disconnected after HELO or EHLO without naming a recipient. */
type EarlyLeaver = Peer & { at: number };

const keyOf = ({ remoteAddress, helo }: Peer): string => `${remoteAddress} ${helo}`;

/** Recent activity of SMTP clients. Kept in memory: storing it would cost a write for each connection. */
export class SmtpVisits {
  /** When a client last connected or began a mail, epoch milliseconds; null before the first. */
  lastAt: number | null = null;
  #early: EarlyLeaver[] = [];
  readonly #delivered = new LRUCache<string, number>({ max: MAX_SENDERS });

  leftEarly(client: EarlyLeaver): void {
    this.#early = [client, ...this.#early].slice(0, MAX_EARLY);
  }

  delivered(client: Peer, at: number): void {
    this.#delivered.set(keyOf(client), at);
  }

  hasDeliveredSince(client: Peer, at: number): boolean {
    return (this.#delivered.get(keyOf(client)) ?? 0) >= at;
  }

  /** Clients that disconnected early since `after` (epoch milliseconds), newest first, without health checks. */
  earlyLeavers(after: number): EarlyLeaver[] {
    const before = this.#early.filter(({ at }) => at <= after && at > after - HEALTH_CHECK_MS).map(keyOf);
    return this.#early.filter((one) => one.at > after && !before.includes(keyOf(one)));
  }
}

/** For each event, the earlier events that it removes from the trail: a second RCPT replaces the first. */
const REPLACES: Partial<Record<TrailEvent, TrailEvent[]>> = {
  tls: ['authenticated'],
  'mail-from': ['mail-from', 'rcpt-to', 'data'],
  'rcpt-to': ['rcpt-to'],
};

function detailOf({ rule, at, reply, delayMs, disconnect }: MetFault): string {
  const effects = [
    ...(reply ? [`${reply.code} ${reply.text}`] : []),
    ...(disconnect ? ['connection closed'] : []),
    ...(delayMs > 0 ? [`delayed by ${delayMs} ms`] : []),
  ];
  return `Rule ${rule} at ${at}: ${effects.join(', ')}`;
}

/** The steps of an SMTP session with wall-clock times, for the timelines of its messages. */
export class SessionTrail {
  readonly #clock: Clock;
  /** Oldest first. `inboxId`: the inbox whose fault rule was applied. */
  #steps: (TrailStep & { inboxId?: string })[];

  constructor(clock: Clock, connectedAt: number) {
    this.#clock = clock;
    this.#steps = [{ event: 'connected', at: connectedAt }];
  }

  add(event: TrailEvent, detail?: string): void {
    const replaced = REPLACES[event];
    if (replaced) this.#steps = this.#steps.filter((step) => !replaced.includes(step.event));
    this.#steps.push({ event, at: this.#clock.now(), detail });
  }

  /** Adds an applied fault rule to the timeline of the next message, but not more than 20. */
  fault(met: MetFault, inboxId: string): void {
    if (this.#steps.filter(({ event }) => event === 'fault').length >= 20) return;
    this.#steps.push({ event: 'fault', at: this.#clock.now(), detail: detailOf(met), inboxId });
  }

  /** The steps of a message. Fault rules are private, so mail for several accounts shows none of them. */
  endOfData(recipients: readonly { inboxId: string; accountId: string }[]): Trail {
    const isShared = new Set(recipients.map(({ accountId }) => accountId)).size > 1;
    const inboxes = new Set(isShared ? [] : recipients.map(({ inboxId }) => inboxId));
    const own = this.#steps.filter(({ inboxId }) => inboxId === undefined || inboxes.has(inboxId));
    const steps = own.map(({ event, at, detail }): TrailStep => ({ event, at, detail }));
    return [...steps, { event: 'end-of-data', at: this.#clock.now() }];
  }

  stored(): void {
    this.#steps = this.#steps.filter(({ event }) => event !== 'fault');
  }
}

export interface ReportsContext {
  receiver: SmtpReceiver;
  visits: SmtpVisits;
  clock: Clock;
  log: Logger;
  metrics: SmtpMetrics;
  /** The size limit that EHLO announces; an inbox may have a smaller one. */
  maxMessageBytes: number;
}

interface Named {
  envelope: MailEnvelope;
  recipients: readonly { inboxId: string; address: string; rcptTo: string }[];
}

/** Reports the results of a session's commands: to the metrics, the log and the stored refusals. */
export class SessionReports {
  target: CaptureTarget | null = null;
  /** The last envelope that exceeded the recipient limit. Only its first refusal is logged. */
  #overshot: MailEnvelope | undefined;
  readonly #peer: { session: string; remoteAddress: string };
  readonly #context: ReportsContext;

  constructor({ id, remoteAddress }: { id: string; remoteAddress: string }, context: ReportsContext) {
    this.#peer = { session: id, remoteAddress };
    this.#context = context;
  }

  /** Rejects MAIL because of its declared size. The stored refusal may explain why an inbox gets no mail. */
  sender(envelope: MailEnvelope, declaredBytes: number): Reply {
    const { metrics, log, maxMessageBytes } = this.#context;
    const reply = REPLIES.messageTooLarge;
    const { tls: _, ...sender } = envelope;
    const line = replyLine(reply);
    metrics.refusal(reply.code);
    log.info({ ...this.#peer, ...sender, declaredBytes, reply: line }, 'A sender was refused');
    const shown = `${line} (declared: ${declaredBytes} bytes, limit: ${maxMessageBytes} bytes)`;
    this.#refused(envelope, NO_RECIPIENT, shown);
    return reply;
  }

  recipient(envelope: MailEnvelope, rcptTo: string, reply: Reply): Reply {
    const { metrics, log } = this.#context;
    const line = replyLine(reply);
    metrics.refusal(reply.code);
    this.#refused(envelope, this.target?.address ?? rcptTo, line);
    const isOvershoot = reply === REPLIES.tooManyRecipients;
    if (!isOvershoot || this.#overshot !== envelope)
      log.info({ ...this.#peer, rcptTo, reply: line }, 'A recipient was refused');
    if (isOvershoot) this.#overshot = envelope;
    return reply;
  }

  /** @param bytes received bytes @param given the reply; null if the connection closed before the reply */
  message(message: Named & { begunAt: number }, bytes: number, given: Reply | Outcome | null): void {
    const { metrics, log, clock } = this.#context;
    const { recipients, begunAt } = message;
    const isFault = given !== null && 'disconnects' in given;
    const reply = isFault ? given.reply : given;
    const code = reply?.code ?? 0;
    const ms = clock.monotonic() - begunAt;
    const inboxes = recipients.map(({ inboxId }) => inboxId);
    const line = { ...this.#peer, bytes, ms: Math.round(ms * 10) / 10, recipients: inboxes };
    if (code >= 200 && code < 300) {
      metrics.mail('accepted', bytes, ms / 1000);
      log.info(line, 'A message was stored');
      this.#stored(message);
      return;
    }
    metrics.mail(code < 500 ? 'failed' : 'refused', bytes, ms / 1000);
    if (reply) metrics.refusal(code);
    const shown = reply ? replyLine(reply) : '';
    if (given) log.info({ ...line, reply: shown }, 'A message was refused');
    else log.info(line, 'The connection ended before the end of a message');
    if (!isFault) this.missed(message, shown, given === null);
  }

  /** If an authenticated client's mail went to `target`, stores that for each other address in RCPT. */
  #stored({ envelope, recipients }: Named): void {
    this.#context.visits.delivered(envelope, this.#context.clock.now());
    if (!this.target) return;
    const { id: inboxId, accountId, address } = this.target;
    for (const { rcptTo } of recipients)
      if (rcptTo.toLowerCase() !== address)
        this.#refused(envelope, rcptTo, '', { capturedBy: { inboxId, accountId } });
  }

  /** Stores a refusal for each recipient. @param hadBegun whether the client left during the message */
  missed({ envelope, recipients }: Named, reply = '', hadBegun = false): void {
    const addresses = new Set(recipients.map(({ address }) => this.target?.address ?? address));
    for (const address of addresses) this.#refused(envelope, address, reply, hadBegun ? { hadBegun } : {});
  }

  authenticated({ password }: SmtpCredentials): void {
    const { metrics, log } = this.#context;
    metrics.authentication(this.target ? 'captured' : 'accepted');
    if (this.target) {
      log.info({ ...this.#peer, inbox: this.target.id }, 'An SMTP session was authenticated for an inbox');
      return;
    }
    // A password with the prefix of keys and tokens is probably one that is mistyped, revoked or expired.
    log[/^mf[kt]_/.test(password) ? 'warn' : 'info'](
      this.#peer,
      'The SMTP user name and password belong to no live inbox; the mail is delivered by its recipients',
    );
  }

  /** Reports rejected credentials, and stores the refusal for the inbox that the user name refers to. */
  refusedCredentials({ username }: SmtpCredentials, reply: Reply): Reply {
    const { metrics, log } = this.#context;
    metrics.authentication('refused');
    log.info(this.#peer, 'SMTP credentials were refused');
    const sender = { mailFrom: '', helo: '', remoteAddress: this.#peer.remoteAddress };
    const isAddress = parseAddress(username, { smtputf8: true }) !== undefined;
    // Other user names are guesses of attackers. If stored, their refusals would displace useful ones.
    if (isAddress || username.startsWith('inb_'))
      this.#refused(sender, isAddress ? username : NO_RECIPIENT, replyLine(reply));
    return reply;
  }

  #refused(
    { mailFrom, helo, remoteAddress }: Omit<MailEnvelope, 'tls'>,
    address: string,
    reply: string,
    more: Pick<Refusal, 'hadBegun' | 'capturedBy'> = {},
  ): void {
    const { receiver, clock } = this.#context;
    receiver.refused({ at: clock.now(), address, reply, mailFrom, helo, remoteAddress, ...more });
  }
}
