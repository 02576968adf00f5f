import type { Clock } from '../../clock.ts';
import type { Receiver } from '../../inbound/receiver.ts';
import type { Logger } from '../../log.ts';
import type { SmtpLimits } from '../limits.ts';

/** What a failed handshake is reported to. */
export interface HandshakeContext {
  clock: Clock;
  limits: Pick<SmtpLimits, 'handshakeMs'>;
  log: Logger;
  metrics: { tlsHandshakeFailure(): void };
  receiver: Pick<Receiver, 'handshakeFailed'>;
}

const CLOSED = 'The client closed the connection during the handshake';
const CLOSED_AFTER =
  'The client closed the connection directly after the handshake; it may not trust the certificate';
const TOO_LONG = 'The handshake took too long';

/** Kinds of failure by OpenSSL's reason; an alert comes from the client (RFC 8446 section 6.2). */
const KINDS: readonly [RegExp, string][] = [
  [/alert .*(?:certificate|unknown ca)/, 'The client rejected the certificate'],
  [/wrong version number|http request|packet length|record type/, 'The client did not send a TLS handshake'],
  [/protocol|version|cipher|alert handshake failure/, 'The client has no TLS version or cipher in common'],
];

const textOf = (error: object, name: 'code' | 'reason'): string | undefined => {
  const value = Object.entries(error).find(([key]) => key === name)?.[1];
  return typeof value === 'string' ? value : undefined;
};

/**
 * Why a handshake failed, as a sentence without a full stop.
 * @param error what the TLS socket reported; undefined when the connection was only closed
 */
function handshakeFailureReason(error: unknown): string {
  if (!(error instanceof Error)) return CLOSED;
  const reason = textOf(error, 'reason');
  if (reason !== undefined) {
    const kind = KINDS.find(([pattern]) => pattern.test(reason))?.[1] ?? 'The handshake failed';
    return `${kind} (${reason})`;
  }
  const code = textOf(error, 'code');
  return code?.startsWith('ERR_') ? `The handshake failed (${code})` : CLOSED;
}

/**
 * Watches the TLS handshake of one connection, and reports its failure once: to the log, the metrics and the
 * receiver. A client that completes the handshake and leaves without a command counts too: that is how
 * Node.js rejects a certificate.
 */
export class HandshakeWatch {
  readonly #context: HandshakeContext;
  readonly #peer: { session?: string; remoteAddress: string; helo: string };
  #state: 'none' | 'handshake' | 'first command' = 'none';
  #begunAt = 0;
  #error: unknown;

  constructor(context: HandshakeContext, peer: { session?: string; remoteAddress: string; helo: string }) {
    this.#context = context;
    this.#peer = peer;
  }

  begin(): void {
    this.#state = 'handshake';
    this.#begunAt = this.#context.clock.monotonic();
  }

  /** The connection is encrypted. */
  done(): void {
    this.#state = 'first command';
  }

  failed(error: unknown): void {
    this.#error ??= error;
  }

  /** Nothing more is reported: the client sent a command, or the server closes the connection. */
  settled(): void {
    this.#state = 'none';
  }

  /**
   * The connection is closed.
   * @param hasBegun false when the client sent no byte: then only a handshake that took too long is reported,
   *   because load balancers open and close connections as health checks
   */
  closed(hasBegun = true): void {
    if (this.#state === 'none') return;
    const { clock, limits, log, metrics, receiver } = this.#context;
    const tookTooLong = clock.monotonic() - this.#begunAt >= limits.handshakeMs;
    const during = tookTooLong ? TOO_LONG : handshakeFailureReason(this.#error);
    const reason = this.#state === 'handshake' ? during : CLOSED_AFTER;
    this.#state = 'none';
    if (!hasBegun && !tookTooLong) return;
    log.warn({ ...this.#peer, reason }, 'A TLS handshake failed');
    metrics.tlsHandshakeFailure();
    const { remoteAddress, helo } = this.#peer;
    receiver.handshakeFailed({ at: clock.now(), remoteAddress, helo, reason });
  }
}
