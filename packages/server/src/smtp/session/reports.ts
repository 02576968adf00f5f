import type { Clock } from '../../clock.ts';
import type { Receiver } from '../../inbound/receiver.ts';
import type { CaptureTarget } from '../../inbound/smtp-credentials.ts';
import type { Logger } from '../../log.ts';
import { parseAddress } from '../../mail/address.ts';
import type { SmtpMetrics } from '../../monitoring/metrics.ts';
import type { MailEnvelope } from '../../store/contract/index.ts';
import type { RejectedMailEvent } from '../protocol/events.ts';
import { REPLIES, type Reply, replyLine } from '../protocol/replies.ts';
import type { SmtpVisits } from '../visits.ts';
import type { Fault } from './faults.ts';

export interface ReportsDeps {
  receiver: Pick<Receiver, 'refused' | 'senderRefused' | 'captured'>;
  visits: Pick<SmtpVisits, 'delivered'>;
  clock: Clock;
  log: Logger;
  metrics: SmtpMetrics;
  maxMessageBytes: number;
}

/** A DATA command that came to its end. */
export interface EndedMessage {
  envelope: MailEnvelope;
  recipients: readonly { inboxId: string; address: string; rcptTo: string }[];
  /** Bytes that came. */
  bytes: number;
  /** When DATA was accepted, monotonic milliseconds. */
  begunAt: number;
}

/** What became of the commands of one session: in the metrics, the log and the refusals. */
export class SessionReports {
  readonly #session: string;
  readonly #remoteAddress: string;
  readonly #deps: ReportsDeps;

  constructor({ id, remoteAddress }: { id: string; remoteAddress: string }, deps: ReportsDeps) {
    this.#session = id;
    this.#remoteAddress = remoteAddress;
    this.#deps = deps;
  }

  /** A MAIL command was refused for its size; stored, so that the owner of an inbox can find out why nothing came. */
  sender({ reply, mailFrom, declaredBytes, helo }: RejectedMailEvent): void {
    const { metrics, log, receiver, clock, maxMessageBytes } = this.#deps;
    metrics.refusal(reply.code);
    const peer = { mailFrom, helo, remoteAddress: this.#remoteAddress };
    log.info(
      { session: this.#session, ...peer, declaredBytes, reply: replyLine(reply) },
      'A sender was refused',
    );
    const refusal = `${replyLine(reply)} (declared: ${declaredBytes} bytes, limit: ${maxMessageBytes} bytes)`;
    receiver.senderRefused({ at: clock.now(), reply: refusal, ...peer });
  }

  /**
   * A recipient was refused.
   * @param address the one that missed the mail: in an authenticated session that of its inbox
   * @param isLogged whether there is a line in the log
   */
  recipient(
    envelope: MailEnvelope,
    { rcptTo, address, reply }: { rcptTo: string; address: string; reply: Reply },
    isLogged: boolean,
  ): void {
    const { metrics, log } = this.#deps;
    metrics.refusal(reply.code);
    this.#refusal(envelope, address, reply);
    if (isLogged)
      log.info(
        { session: this.#session, remoteAddress: this.#remoteAddress, rcptTo, reply: replyLine(reply) },
        'A recipient was refused',
      );
  }

  /** A message was stored or refused. @param target the inbox for which the sender has authenticated */
  message(
    { envelope, recipients, bytes, begunAt }: EndedMessage,
    given: Reply | Fault,
    target: CaptureTarget | null,
  ): void {
    const { metrics, clock, log } = this.#deps;
    const reply = 'disconnects' in given ? given.reply : given;
    const ms = clock.monotonic() - begunAt;
    const line = this.#line(bytes, ms, recipients);
    if (reply && reply.code < 300) {
      metrics.mail('accepted', bytes, ms / 1000);
      log.info(line, 'A message was stored');
      this.#stored(envelope, recipients, target);
      return;
    }
    metrics.mail(!reply || reply.code < 500 ? 'failed' : 'refused', bytes, ms / 1000);
    if (reply) metrics.refusal(reply.code);
    log.info({ ...line, reply: reply ? replyLine(reply) : '' }, 'A message was refused');
    // Faults are stored where they are applied.
    if ('disconnects' in given) return;
    for (const one of new Set(recipients.map(({ address }) => target?.address ?? address))) {
      this.#refusal(envelope, one, given);
    }
  }

  /** Other inboxes may wait for mail that an authenticated session has brought into one. */
  #stored(
    { mailFrom, helo, remoteAddress }: MailEnvelope,
    recipients: EndedMessage['recipients'],
    target: CaptureTarget | null,
  ): void {
    const { receiver, visits, clock } = this.#deps;
    const at = clock.now();
    visits.delivered({ remoteAddress, helo }, at);
    if (!target) return;
    const { inboxId, accountId } = target;
    const sender = { at, mailFrom, helo, remoteAddress, capturedBy: { inboxId, accountId } };
    for (const { rcptTo } of recipients)
      if (rcptTo.toLowerCase() !== target.address) receiver.captured({ ...sender, address: rcptTo });
  }

  /** A client named recipients and left before DATA. @param address as in {@link recipient} */
  left(
    { envelope, recipients }: Pick<EndedMessage, 'envelope' | 'recipients'>,
    address: string | undefined,
  ): void {
    for (const one of new Set(recipients.map((recipient) => address ?? recipient.address))) {
      this.#refusal(envelope, one, null);
    }
  }

  /**
   * Credentials were refused; stored for the owner of the inbox whose address or id the user name is.
   * @param username not checked in any way
   */
  credentials(username: string, reply: Reply): void {
    const { receiver, clock } = this.#deps;
    const remoteAddress = this.#remoteAddress;
    const refusal = { at: clock.now(), reply: replyLine(reply), mailFrom: '', helo: '', remoteAddress };
    if (parseAddress(username, { smtputf8: true })) receiver.refused({ ...refusal, address: username });
    // Other names are guesses of strangers, which would displace what is worth knowing.
    else if (username.startsWith('inb_')) receiver.senderRefused(refusal);
  }

  /**
   * The connection ended in the middle of a message.
   * @param address as in {@link recipient}; undefined for each recipient's
   */
  interrupted({ envelope, recipients, bytes, begunAt }: EndedMessage, address: string | undefined): void {
    const { metrics, clock, log } = this.#deps;
    const ms = clock.monotonic() - begunAt;
    metrics.mail('failed', bytes, ms / 1000);
    log.info(this.#line(bytes, ms, recipients), 'The connection ended before the end of a message');
    for (const one of new Set(recipients.map((recipient) => address ?? recipient.address))) {
      this.#refusal(envelope, one, null, true);
    }
  }

  /** Anything but a known error is a defect: logged here, and the sender may try again. */
  defect(err: unknown): Reply {
    this.#deps.log.error({ session: this.#session, err }, 'An SMTP session failed unexpectedly');
    return REPLIES.tryLater;
  }

  /** What the log says of a message. @param ms since its DATA command */
  #line(bytes: number, ms: number, recipients: EndedMessage['recipients']) {
    return {
      session: this.#session,
      remoteAddress: this.#remoteAddress,
      bytes,
      ms: Math.round(ms * 10) / 10,
      recipients: recipients.map(({ inboxId }) => inboxId),
    };
  }

  #refusal(
    { mailFrom, helo, remoteAddress }: MailEnvelope,
    address: string,
    reply: Reply | null,
    hadBegun = false,
  ): void {
    const { receiver, clock } = this.#deps;
    receiver.refused({
      at: clock.now(),
      address,
      reply: reply ? replyLine(reply) : '',
      mailFrom,
      helo,
      remoteAddress,
      ...(hadBegun && { hadBegun }),
    });
  }
}
