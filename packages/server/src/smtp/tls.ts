import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { createSecureContext } from 'node:tls';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../clock.ts';
import { codeOf, messageOf } from '../errors.ts';
import type { SmtpReceiver } from '../inbound/receiver.ts';
import type { Logger } from '../log.ts';
import { NO_RECIPIENT } from '../refusals/sql.ts';
import type { SmtpLimits } from './limits.ts';

/** A certificate and its key, in PEM. */
export interface KeyPair {
  key: string;
  cert: string;
}

export type CertificateSummary = Pick<X509Certificate, 'subject' | 'validTo' | 'fingerprint256'>;

/** @throws Error with advice when certificate or key cannot be read, or they are not a pair */
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

/** Runs on a worker thread, whose end frees the 250 modules that generation needs. */
export async function selfSignedCertificate(hostname: string, now: number): Promise<KeyPair> {
  const thread = new Worker(new URL('./certificate-thread.ts', import.meta.url), {
    workerData: { hostname, now },
  });
  const [made] = await once(thread, 'message');
  return made;
}

/** Handshake failures by OpenSSL's reason. Alerts come from the client (RFC 8446 section 6.2). */
const KINDS: readonly [RegExp, string][] = [
  [/alert .*(?:certificate|unknown ca)/, 'The client rejected the certificate'],
  [/wrong version number|http request|packet length|record type/, 'The client did not send a TLS handshake'],
  [/protocol|version|cipher|alert handshake failure/, 'The client has no TLS version or cipher in common'],
];

/** @param error of the TLS socket; undefined when the connection just closed */
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

export interface HandshakeContext {
  clock: Clock;
  limits: Pick<SmtpLimits, 'handshakeMs'>;
  log: Logger;
  metrics: { tlsHandshakeFailure(): void };
  receiver: Pick<SmtpReceiver, 'refused'>;
}

/** Reports a failed handshake once, also if a client disconnects before its first command, as Node.js does when it rejects a certificate. */
export class HandshakeWatch {
  error: Error | undefined;
  readonly #context: HandshakeContext;
  readonly #peer: { session: string; remoteAddress: string; helo: string };
  readonly #begunAt: number;
  #state: 'handshake' | 'first command' | 'settled' = 'handshake';

  constructor(context: HandshakeContext, peer: { session: string; remoteAddress: string; helo: string }) {
    this.#context = context;
    this.#peer = peer;
    this.#begunAt = context.clock.monotonic();
  }

  done(): void {
    this.#state = 'first command';
  }

  /** Stops watching: the client sent a command, or the server closes the connection. */
  settled(): void {
    this.#state = 'settled';
  }

  /** The connection closed. @param hasBegun false if the client sent no byte, as in health checks of load balancers */
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
    const { remoteAddress, helo } = this.#peer;
    const refusal = { at: clock.now(), address: NO_RECIPIENT, reply: reason, mailFrom: '' };
    receiver.refused({ ...refusal, remoteAddress, helo });
  }
}
