import type { MailEnvelope } from '../mail/mail.ts';

/** Free bytes in front of a message, to add the Received line in place. Its two names have at most 255 letters each. */
export const TRACE_HEADROOM_BYTES = 1024;

export interface Trace {
  /** Of the SMTP session or the HTTP request, as in the log. */
  id: string;
  protocol: 'SMTP' | 'HTTP';
  authenticated?: boolean;
}

/** A HELO name may contain anything; in a header it must not end the line or open a comment. */
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
  // RFC 3848.
  const smtp = `ESMTP${envelope.tls ? 'S' : ''}${trace.authenticated ? 'A' : ''}`;
  const protocol = trace.protocol === 'SMTP' ? smtp : trace.protocol;
  return `Received: from ${helo} ([${peer}])\r\n\tby ${hostname} with ${protocol} id ${trace.id};\r\n\t${mailDate(now)}\r\n`;
}
