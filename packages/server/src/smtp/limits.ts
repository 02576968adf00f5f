import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../clock.ts';

const KIB = 1024;

export const SMTP_LIMITS = {
  /** RFC 5321 section 4.5.3.1.8 requires at least 100. */
  maxRecipients: 100,
  /** Maximum of 5yz replies since the last stored message. Slows down clients that guess addresses. */
  maxErrors: 20,
  /** Client libraries try PLAIN, then LOGIN, so that a wrong password counts as two failures. */
  maxAuthFailures: 5,
  /** Commands since the last stored message: enough for 100 recipients and many RSET and NOOP. */
  maxCommandsPerMail: 1000,
  /** RFC 5321 section 4.5.3.1.4 requires 512 octets, and extensions of SMTP require more. */
  maxCommandBytes: 2 * KIB,
  /** A line that is too long is discarded up to this length. If it is even longer, the connection is closed. */
  maxSkippedLineBytes: 64 * KIB,
  /** Bytes of a rejected message that are discarded, so that the client can read the 5yz reply. */
  maxDrainedBytes: KIB * KIB * KIB,
  /** Time without a complete command. RFC 5321 section 4.5.3.2.7 requires at least five minutes. */
  idleMs: 5 * MINUTE_MS,
  handshakeMs: 30 * SECOND_MS,
  sessionMs: HOUR_MS,
  /** The same as the default of `smtpd_min_data_rate` in Postfix. */
  minDataBytesPerSecond: 500,
  /** Time over which the minimum speed is measured: long enough for TCP retransmissions. */
  slowWindowMs: 60 * SECOND_MS,
};

export type SmtpLimits = typeof SMTP_LIMITS;
