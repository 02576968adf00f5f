import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../clock.ts';

const KIB = 1024;

export const DEFAULT_SMTP_LIMITS = {
  /** A connection takes about 20 KB. */
  maxConnections: 2000,
  /** The default of Postfix. Loopback clients are exempt, because all clients of a CI job share that address. */
  maxConnectionsPerAddress: 50,
  /** RFC 5321 section 4.5.3.1.8 requires at least 100. */
  maxRecipients: 100,
  /** 5yz replies since the last stored message; the limit of Postfix. Slows down guessing of addresses. */
  maxErrors: 20,
  /** Client libraries try PLAIN, then LOGIN, so a wrong password fails twice. */
  maxAuthFailures: 5,
  /** Commands since the last stored message: enough for 100 recipients and many RSET and NOOP. */
  maxCommandsPerMail: 1000,
  /** RFC 5321 section 4.5.3.1.4 requires 512, and extensions add to it. */
  maxCommandBytes: 2 * KIB,
  /** Bytes of a longer line that are discarded before the connection is closed. */
  maxSkippedLineBytes: 64 * KIB,
  /** Bytes of a rejected message that are discarded so that the client reads the 5yz; then it is disconnected. */
  maxDrainedBytes: KIB * KIB * KIB,
  /** RFC 5321 section 4.5.3.2.7 requires at least five minutes. Counted from the last complete command. */
  idleMs: 5 * MINUTE_MS,
  handshakeMs: 30 * SECOND_MS,
  /** Longest session: longer than a message takes at the minimum speed below. Connection pools can open a new connection. */
  sessionMs: HOUR_MS,
  /** The default of smtpd_min_data_rate of Postfix. */
  minDataBytesPerSecond: 500,
  /** Time over which the minimum speed is measured: long enough for retransmissions. */
  slowWindowMs: 60 * SECOND_MS,
};

export type SmtpLimits = typeof DEFAULT_SMTP_LIMITS;
