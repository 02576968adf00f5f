import type { MailEnvelope } from '../mail/mail.ts';

/**
 * Bytes left free in front of a mail in its memory, so that adding our Received line copies nothing. A
 * HELO name and a host name have at most 255 letters each (RFC 5321 section 4.5.3.1.2).
 */
export const TRACE_HEADROOM_BYTES = 1024;

/** How a mail came in. */
export interface Trace {
  /** Of the SMTP session or the HTTP request, as in the log. */
  id: string;
  protocol: 'SMTP' | 'HTTP';
  /** True for a message of an authenticated SMTP session. */
  authenticated?: boolean;
}

/** A HELO name may hold anything; what stands in a header must not end it or open a comment. */
const UNSAFE_IN_TRACE = /[^A-Za-z0-9.:_[\]-]/g;
const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** RFC 5322 section 3.3, in UTC. */
function mailDate(now: number): string {
  const at = new Date(now);
  const two = (value: number) => String(value).padStart(2, '0');
  const time = `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}:${two(at.getUTCSeconds())}`;
  return `${DAYS[at.getUTCDay()]}, ${at.getUTCDate()} ${MONTHS[at.getUTCMonth()]} ${at.getUTCFullYear()} ${time} +0000`;
}

/**
 * The trace header of RFC 5321 section 4.4 that a receiver puts before the mail, ended by CRLF. It
 * names no recipient: a Bcc must not show in the other recipients' copies.
 */
export function receivedLine(mail: {
  hostname: string;
  trace: Trace;
  envelope: MailEnvelope;
  /** Epoch milliseconds. */
  now: number;
}): string {
  const { hostname, trace, envelope, now } = mail;
  const helo = envelope.helo.replace(UNSAFE_IN_TRACE, '?') || 'unknown';
  const peer = envelope.remoteAddress.includes(':')
    ? `IPv6:${envelope.remoteAddress}`
    : envelope.remoteAddress;
  // RFC 3848.
  const smtp = `ESMTP${envelope.tls ? 'S' : ''}${trace.authenticated ? 'A' : ''}`;
  const protocol = trace.protocol === 'SMTP' ? smtp : trace.protocol;
  return `Received: from ${helo} ([${peer}])\r\n\tby ${hostname} with ${protocol} id ${trace.id};\r\n\t${mailDate(now)}\r\n`;
}
