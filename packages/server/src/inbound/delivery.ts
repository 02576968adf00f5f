import { AppError } from '../errors.ts';
import type { MailEnvelope } from '../mail/mail.ts';
import { formatDate } from '../mail/mime/date.ts';
import type { Trail } from '../mail/trail.ts';
import type { NewMailRecipient, Placed } from '../messages/records.ts';

export interface Recipient extends Omit<NewMailRecipient, 'rcptTo'> {
  /** Lower case, without a tag. */
  address: string;
  /** As the RCPT command gave it. */
  rcptTo: string;
  maxMessageBytes: number;
  /** Set for an inbox with fault rules: the address under which an applied rule is recorded; its domain is served. */
  faultsOf?: string;
}

export interface ReceivedMail {
  envelope: MailEnvelope;
  recipients: Recipient[];
  /**
   * The message with dots unstuffed and no other change. With TRACE_HEADROOM_BYTES free in front of it, the Received
   * line is written there. The store takes over a resizable buffer. Do not change the bytes until the delivery settles.
   */
  received: Uint8Array;
  /** Null adds no Received line, such as for an imported message. */
  trace: Trace | null;
  trail: Trail;
  outgoing?: string;
}

export interface StagedMail extends Pick<ReceivedMail, 'envelope' | 'received' | 'trail'> {
  accountId: string;
}

/** Addresses that differ only in their tags have one inbox, which shows the message once with all of them. */
export function byInbox(recipients: Recipient[]): NewMailRecipient[] {
  const inboxes = new Map<string, NewMailRecipient>();
  for (const { inboxId, accountId, rcptTo, maxMessages, evictsOldest } of recipients) {
    const known = inboxes.get(inboxId);
    if (known) known.rcptTo.push(rcptTo);
    else {
      const rest = { maxMessages, ...(evictsOldest && { evictsOldest }) };
      inboxes.set(inboxId, { inboxId, accountId, rcptTo: [rcptTo], ...rest });
    }
  }
  return [...inboxes.values()];
}

/** Prepends the line, in place where {@link TRACE_HEADROOM_BYTES} are free in front of the message. */
export function withReceivedLine(line: string, received: Uint8Array): Uint8Array {
  const head = Buffer.from(line, 'latin1');
  const { buffer, byteOffset, byteLength } = received;
  const hasRoom =
    byteOffset === TRACE_HEADROOM_BYTES &&
    buffer.byteLength === byteOffset + byteLength &&
    head.length <= byteOffset;
  if (!hasRoom) return Buffer.concat([head, received]);
  const raw = new Uint8Array(buffer, byteOffset - head.length, head.length + byteLength);
  raw.set(head);
  return raw;
}

/** Inboxes can end or fill up between RCPT and commit. If one is full, the message is rejected for all recipients. */
export function assertStored(placed: readonly Placed[]): void {
  if (placed.some((place) => 'messageId' in place)) return;
  throw placed.some((place) => 'refused' in place && place.refused === 'full') ? inboxFull() : noSuchInbox();
}

export const noSuchInbox = (): AppError => new AppError('unknown_recipient', 'No such inbox here');

export const inboxFull = (): AppError =>
  new AppError(
    'inbox_full',
    'The inbox holds as many messages as the plan of its account allows. Delete some, or all with DELETE /v1/inboxes/{id}/messages.',
  );

export const messageTooLarge = (limit: number): AppError =>
  new AppError(
    'message_too_large',
    `The message is larger than ${limit} bytes, the limit of the plan of the inbox's account. Send a smaller one.`,
  );

/** @throws AppError `message_too_large` */
export function assertFits(bytes: number, limit: number): void {
  if (bytes > limit) throw messageTooLarge(limit);
}

/** Free bytes in front of a message for the Received line, whose two host names have at most 255 letters each. */
export const TRACE_HEADROOM_BYTES = 1024;

export interface Trace {
  id: string;
  protocol: 'SMTP' | 'HTTP';
  authenticated?: boolean;
}

/** A HELO name may contain anything; in a header it must not end the line or open a comment. */
const UNSAFE_IN_TRACE = /[^A-Za-z0-9.:_[\]-]/g;

/** The trace header (RFC 5321 section 4.4), with CRLF. Names no recipient, to keep Bcc recipients hidden. */
export function receivedLine(mail: {
  hostname: string;
  trace: Trace;
  envelope: MailEnvelope;
  now: number;
}): string {
  const { hostname, trace, envelope, now } = mail;
  const helo = envelope.helo.replace(UNSAFE_IN_TRACE, '?') || 'unknown';
  const peer = envelope.remoteAddress.includes(':')
    ? `IPv6:${envelope.remoteAddress}`
    : envelope.remoteAddress;
  // Protocol names of RFC 3848.
  const smtp = `ESMTP${envelope.tls ? 'S' : ''}${trace.authenticated ? 'A' : ''}`;
  const protocol = trace.protocol === 'SMTP' ? smtp : trace.protocol;
  return `Received: from ${helo} ([${peer}])\r\n\tby ${hostname} with ${protocol} id ${trace.id};\r\n\t${formatDate(now)}\r\n`;
}
