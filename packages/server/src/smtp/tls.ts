import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { createSecureContext } from 'node:tls';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../clock.ts';
import { codeOf, messageOf } from '../errors.ts';
import type { Receiver } from '../inbound/receiver.ts';
import type { Logger } from '../log.ts';
import type { SmtpLimits } from './limits.ts';

export interface KeyPair {
  /** PEM. */
  key: string;
  /** PEM. */
  cert: string;
}

/** `auto`: with a configured certificate only; `self-signed`: also with a generated one; `off`: never. */
export type StartTlsMode = 'auto' | 'self-signed' | 'off';

/**
 * Whether STARTTLS is offered. A generated certificate is not offered by default, because libraries that
 * use STARTTLS when they see it (nodemailer, Go, PHPMailer, Ruby, aiosmtplib) then verify it and give up.
 */
export const offersStartTls = (mode: StartTlsMode, hasCertificate: boolean): boolean =>
  mode === 'self-signed' || (mode === 'auto' && hasCertificate);

/** Properties of a certificate for the log. */
export type CertificateSummary = Pick<X509Certificate, 'subject' | 'validTo' | 'fingerprint256'>;

/**
 * Checks that a certificate and its key can be used.
 * @throws Error with what to do, when they cannot be read or are not a pair
 */
export function checkKeyPair({ cert, key }: KeyPair): CertificateSummary {
  try {
    createSecureContext({ cert, key });
    const { subject, validTo, fingerprint256 } = new X509Certificate(cert);
    return { subject, validTo, fingerprint256 };
  } catch (cause) {
    const reason = messageOf(cause);
    throw new Error(
      `The SMTP certificate cannot be used with its key (${reason}). Check MAYFLY_SMTP_TLS_CERT and MAYFLY_SMTP_TLS_KEY.`,
      { cause },
    );
  }
}

/**
 * Generates a self-signed certificate: it encrypts, but proves nothing about the server. Made on a thread
 * of its own, so that the 250 modules it needs once are freed with the thread.
 * @param now epoch milliseconds
 */
export async function selfSignedCertificate(hostname: string, now: number): Promise<KeyPair> {
  const thread = new Worker(new URL('./certificate-thread.ts', import.meta.url), {
    workerData: { hostname, now },
  });
  const [made] = await once(thread, 'message');
  return made;
}

/** Kinds of failure by OpenSSL's reason; an alert comes from the client (RFC 8446 section 6.2). */
const KINDS: readonly [RegExp, string][] = [
  [/alert .*(?:certificate|unknown ca)/, 'The client rejected the certificate'],
  [/wrong version number|http request|packet length|record type/, 'The client did not send a TLS handshake'],
  [/protocol|version|cipher|alert handshake failure/, 'The client has no TLS version or cipher in common'],
];

/**
 * Why a handshake failed, as a sentence without a full stop.
 * @param error what the TLS socket reported; undefined when the connection was only closed
 */
function failureReason(error: Error | undefined): string {
  const reason = error && 'reason' in error ? String(error.reason) : undefined;
  if (reason !== undefined) {
    const kind = KINDS.find(([pattern]) => pattern.test(reason))?.[1] ?? 'The handshake failed';
    return `${kind} (${reason})`;
  }
  const code = codeOf(error);
  return code.startsWith('ERR_')
    ? `The handshake failed (${code})`
    : 'The client closed the connection during the handshake';
}

/** What a failed handshake is reported to. */
export interface HandshakeContext {
  clock: Clock;
  limits: Pick<SmtpLimits, 'handshakeMs'>;
  log: Logger;
  metrics: { tlsHandshakeFailure(): void };
  receiver: Pick<Receiver, 'handshakeFailed'>;
}

/**
 * Watches the TLS handshake of one connection, and reports its failure once: to the log, the metrics and the
 * receiver. A client that completes the handshake and leaves without a command counts too: that is how
 * Node.js rejects a certificate.
 */
export class HandshakeWatch {
  error: Error | undefined;
  readonly #context: HandshakeContext;
  readonly #peer: { session: string; remoteAddress: string };
  readonly #begunAt: number;
  #state: 'handshake' | 'first command' | 'settled' = 'handshake';

  constructor(context: HandshakeContext, peer: { session: string; remoteAddress: string }) {
    this.#context = context;
    this.#peer = peer;
    this.#begunAt = context.clock.monotonic();
  }

  /** The connection is encrypted. */
  done(): void {
    this.#state = 'first command';
  }

  /** Nothing more is reported: the client sent a command, or the server closes the connection. */
  settled(): void {
    this.#state = 'settled';
  }

  /**
   * The connection is closed.
   * @param hasBegun false when the client sent no byte: then only a handshake that took too long is reported,
   *   because load balancers open and close connections as health checks
   */
  closed(hasBegun: boolean): void {
    const { clock, limits, log, metrics, receiver } = this.#context;
    const tookTooLong = clock.monotonic() - this.#begunAt >= limits.handshakeMs;
    if (this.#state === 'settled' || (!hasBegun && !tookTooLong)) return;
    const during = tookTooLong ? 'The handshake took too long' : failureReason(this.error);
    const reason =
      this.#state === 'handshake'
        ? during
        : 'The client closed the connection directly after the handshake; it may not trust the certificate';
    this.#state = 'settled';
    log.warn({ ...this.#peer, reason }, 'A TLS handshake failed');
    metrics.tlsHandshakeFailure();
    receiver.handshakeFailed({ at: clock.now(), remoteAddress: this.#peer.remoteAddress, reason });
  }
}
