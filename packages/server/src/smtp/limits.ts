import { IN_FLIGHT_BYTES } from '../inbound/in-flight/byte-budget.ts';

/** RFC 5321 section 4.5.3.1.8 asks for at least 100 recipients; a test needs no more. */
const MAX_RECIPIENTS = 100;

const KIB = 1024;
const MIB = 1024 * KIB;
const SECOND = 1000;
const MINUTE = 60 * SECOND;

/** What one sender, and all of them together, may take of the process. Times are milliseconds. */
export interface SmtpLimits {
  maxConnections: number;
  maxConnectionsPerAddress: number;
  maxRecipients: number;
  maxErrors: number;
  maxAuthFailures: number;
  maxCommandsPerMail: number;
  maxCommandBytes: number;
  maxSkippedLineBytes: number;
  maxDrainedBytes: number;
  inFlightBytes: number;
  idleMs: number;
  handshakeMs: number;
  sessionMs: number;
  minDataBytesPerSecond: number;
  slowWindowMs: number;
}

/** Those that hang on what one client sends, and not on time or on others. */
export type ProtocolLimits = Pick<
  SmtpLimits,
  | 'maxRecipients'
  | 'maxErrors'
  | 'maxAuthFailures'
  | 'maxCommandsPerMail'
  | 'maxCommandBytes'
  | 'maxSkippedLineBytes'
  | 'maxDrainedBytes'
>;

export const DEFAULT_SMTP_LIMITS: SmtpLimits = {
  /** A connection costs some 20 KB; two thousand are more than a test farm opens at once. */
  maxConnections: 2000,
  /** As Postfix has it. Addresses of this machine are exempt: a CI job's clients all come from one. */
  maxConnectionsPerAddress: 50,
  maxRecipients: MAX_RECIPIENTS,
  /** 5yz replies since the last mail taken, as Postfix' hard error limit: a guesser of addresses has to reconnect. */
  maxErrors: 20,
  /** Libraries try PLAIN and then LOGIN: two rounds of that, and one more. A new connection may try again. */
  maxAuthFailures: 5,
  /** Commands since the last mail taken: a hundred recipients and a lot of RSET and NOOP fit, an endless chat does not. */
  maxCommandsPerMail: 1000,
  /** RFC 5321 section 4.5.3.1.4 asks for 512 and extensions add to it; nothing offered here needs more than this. */
  maxCommandBytes: 2 * KIB,
  /** What is thrown away of a longer line before the connection is closed: nobody types that. */
  maxSkippedLineBytes: 64 * KIB,
  /**
   * What is read and thrown away of a mail that is refused already, so that its sender stays in step
   * and reads the 5yz. Past it the reply is given at once and the connection closed.
   */
  maxDrainedBytes: 1024 * MIB,
  inFlightBytes: IN_FLIGHT_BYTES,
  /** RFC 5321 section 4.5.3.2.7 asks for at least five minutes. Counted from the last whole command. */
  idleMs: 5 * MINUTE,
  /** A handshake takes four packets; who needs longer holds a place for nothing. */
  handshakeMs: 30 * SECOND,
  /** No honest mail takes an hour; a pool of connections may open a new one. */
  sessionMs: 60 * MINUTE,
  /** Postfix' smtpd_min_data_rate: slower than a modem is an attack. */
  minDataBytesPerSecond: 500,
  /** Long enough for a hiccup of the network. */
  slowWindowMs: 60 * SECOND,
};

/** Where half of all connections are taken, a session may idle so long. */
export const CROWDED_IDLE_MS = MINUTE;
/** The same where nine tenths are taken; as Postfix does under stress. */
export const NEARLY_FULL_IDLE_MS = 10 * SECOND;

/** How often the limits of time are checked while connections are open; they may end late by so much. */
export const WATCH_INTERVAL_MS = SECOND;
/** The same while none is. */
export const QUIET_WATCH_INTERVAL_MS = 5 * SECOND;
