import type { SmtpCredentials } from '../inbound/smtp-credentials.ts';
import type { Reply } from './replies.ts';

/** A mail transaction begins; an earlier one is over (RFC 5321 section 3.3). */
export interface MailEvent {
  type: 'mail';
  /** '' is the null reverse-path. */
  mailFrom: string;
  /** The SIZE parameter, or 0. */
  declaredBytes: number;
  smtputf8: boolean;
  /** Lower case. */
  helo: string;
  tls: boolean;
}

/** The protocol rejected a RCPT command by itself; for metrics and explanations. */
export interface RejectedRcptEvent {
  type: 'rejected';
  command: 'RCPT';
  reply: Reply;
  /** The recipient, where there are too many; otherwise null. */
  rcptTo: string | null;
}

/** The protocol rejected a MAIL command for the size that it declares; for metrics and explanations. */
export interface RejectedMailEvent {
  type: 'rejected';
  command: 'MAIL';
  reply: Reply;
  mailFrom: string;
  /** The SIZE parameter. */
  declaredBytes: number;
  /** Lower case. */
  helo: string;
}

export type RejectedEvent = RejectedMailEvent | RejectedRcptEvent;

/** What the caller has to answer before anything more is read. */
export type Request =
  /** 2yz accepts the recipient, whose path has no brackets and no source route. */
  | { type: 'rcpt'; rcptTo: string }
  /** Or to accept with `acceptData`. */
  | { type: 'data' }
  /** The end of the message. The answer is the refusal where there is one. */
  | { type: 'end-of-data'; refusal: Reply | null }
  /** 2yz is success. */
  | { type: 'auth'; credentials: SmtpCredentials }
  /** Or to accept with `acceptTls`. */
  | { type: 'starttls' };

/** What the engine reports to its caller. */
export type ProtocolEvent =
  | Request
  | MailEvent
  | RejectedEvent
  /** Bytes of the message, dots unstuffed: a view into the bytes that were pushed, which does not change any more. */
  | { type: 'bytes'; bytes: Buffer }
  /** The message is refused: drop what was received; no further bytes of it are reported. */
  | { type: 'data-refused' }
  /** Many lines were read at once: write the replies, and continue in a later turn of the event loop. */
  | { type: 'yield' }
  /** The last event: write the replies and close the connection. */
  | { type: 'close' };

const REQUESTS: ReadonlySet<string> = new Set<Request['type']>([
  'rcpt',
  'data',
  'end-of-data',
  'auth',
  'starttls',
]);

export const isRequest = (event: ProtocolEvent): event is Request => REQUESTS.has(event.type);
