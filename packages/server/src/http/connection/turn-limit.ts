import type { Clock } from '../../clock.ts';
import type { ConnectionLimiter } from '../../connection-limiter.ts';
import type { HttpConnection } from './http-connection.ts';

/** Of one client address in one turn of the event loop: a thousand clients at one address send fewer together. */
const MAX_REQUESTS = 500;
/** A chunk takes an eighth of the time of a request. */
const REQUESTS_PER_CHUNK = 1 / 8;

/**
 * Limits how much of one client address is parsed in one turn of the event loop. Node reads all connections that have
 * data in one turn, 64 KiB of each, which may be 3,600 requests or 10,000 chunks of a body. From the limit on the
 * connections of that address are read no further for as long as the turn took, and the longer the more it was. A next
 * turn alone would not do: Node accepts one connection a turn, and others may wait behind hundreds.
 */
export class TurnLimit {
  readonly #limiter: ConnectionLimiter<HttpConnection>;
  readonly #clock: Clock;
  /** What was parsed in this turn, in requests, by address. */
  readonly #parsed = new Map<string, number>();
  /** Connections that are not read, by address. */
  readonly #paused = new Map<string, HttpConnection[]>();

  constructor(limiter: ConnectionLimiter<HttpConnection>, clock: Clock) {
    this.#limiter = limiter;
    this.#clock = clock;
  }

  request({ source }: HttpConnection): void {
    this.#count(source, 1);
  }

  chunk({ source }: HttpConnection): void {
    this.#count(source, REQUESTS_PER_CHUNK);
  }

  opened(connection: HttpConnection): void {
    const paused = this.#paused.get(connection.source);
    if (!paused) return;
    paused.push(connection);
    // Node begins to read at the end of this tick. The others may have been resumed by then.
    setImmediate(() => {
      if (this.#paused.get(connection.source) === paused) connection.socket.pause();
    });
  }

  #count(source: string, requests: number): void {
    if (this.#parsed.size === 0) {
      const begunAt = this.#clock.monotonic();
      setImmediate(() => this.#endTurn(this.#clock.monotonic() - begunAt));
    }
    const parsed = (this.#parsed.get(source) ?? 0) + requests;
    this.#parsed.set(source, parsed);
    if (parsed >= MAX_REQUESTS && !this.#paused.has(source)) this.#pause(source);
  }

  #pause(source: string): void {
    const paused = [...this.#limiter.of(source)].filter(({ socket }) => !socket.isPaused());
    this.#paused.set(source, paused);
    for (const { socket } of paused) socket.pause();
  }

  #endTurn(ms: number): void {
    for (const [source, parsed] of this.#parsed) {
      if (parsed < MAX_REQUESTS) continue;
      // Node counts a timer from the begin of the turn.
      const rest = this.#clock.sleep(ms * (1 + parsed / MAX_REQUESTS));
      void rest.then(() => {
        for (const { socket } of this.#paused.get(source) ?? []) socket.resume();
        this.#paused.delete(source);
      });
    }
    this.#parsed.clear();
  }
}
