import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../clock.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

/** Limits for one client and for all clients together. Times are in milliseconds. */
export const DEFAULT_SMTP_LIMITS = {
  /** A connection takes about 20 KB; 2,000 are more than a test farm opens at once. */
  maxConnections: 2000,
  /** The default of Postfix. Addresses of this machine are exempt: all clients of a CI job share one. */
  maxConnectionsPerAddress: 50,
  /** RFC 5321 section 4.5.3.1.8 requires at least 100; a test needs no more. */
  maxRecipients: 100,
  /**
   * 5yz replies since the last stored message, like the hard error limit of Postfix: slows down guessing of
   * addresses.
   */
  maxErrors: 20,
  /** Libraries try PLAIN, then LOGIN: enough for two such rounds. A new connection may try again. */
  maxAuthFailures: 5,
  /** Commands since the last stored message: 100 recipients and many RSET and NOOP fit. */
  maxCommandsPerMail: 1000,
  /** RFC 5321 section 4.5.3.1.4 requires 512, and extensions add to it; none that is offered needs more than this. */
  maxCommandBytes: 2 * KIB,
  /** Bytes of a longer line that are discarded before the connection is closed. */
  maxSkippedLineBytes: 64 * KIB,
  /**
   * Bytes of a refused message that are read and discarded, so that its sender reads the 5yz. Beyond them
   * the reply is sent at once and the connection is closed.
   */
  maxDrainedBytes: 1024 * MIB,
  /** RFC 5321 section 4.5.3.2.7 requires at least five minutes. Counted from the last whole command. */
  idleMs: 5 * MINUTE_MS,
  /** A handshake takes four packets. */
  handshakeMs: 30 * SECOND_MS,
  /** No message takes an hour at the minimum speed below; connection pools may open a new connection. */
  sessionMs: HOUR_MS,
  /** The default of smtpd_min_data_rate of Postfix: slower than a modem. */
  minDataBytesPerSecond: 500,
  /** Long enough for retransmissions. */
  slowWindowMs: 60 * SECOND_MS,
};

export type SmtpLimits = typeof DEFAULT_SMTP_LIMITS;

/** Limits that depend only on the bytes of one client, not on time or on other clients. */
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

/** How often the limits of time are checked while connections are open; they may end late by so much. */
export const WATCH_INTERVAL_MS = SECOND_MS;
/** The same while none is. */
export const QUIET_WATCH_INTERVAL_MS = 5 * SECOND_MS;
