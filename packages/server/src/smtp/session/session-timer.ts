import type { SmtpLimits } from '../limits.ts';
import { REPLIES, type Reply } from '../protocol/replies.ts';

/** Snapshot of session activity, used to evaluate timeouts. */
interface Activity {
  /** The client waits for the server: for a reply, or for memory for its data. */
  waitsForUs: boolean;
  /** Bytes of the mail that is coming in; null when none is. */
  dataBytes: number | null;
}

/** Timeouts of one session: its length, its idle time, and the speed of data. */
export class SessionTimer {
  readonly #limits: SmtpLimits;
  #begunAt: number;
  #pausedAt: number;
  #lastCommandAt: number;
  /** Bytes of the incoming message at the last check of its speed. */
  #data = { since: 0, bytes: 0 };

  /** @param now monotonic milliseconds, as in all methods */
  constructor(limits: SmtpLimits, now: number) {
    this.#limits = limits;
    this.#begunAt = now;
    this.#pausedAt = now;
    this.#lastCommandAt = now;
  }

  /** A command came, or a slow one was answered. */
  touch(now: number): void {
    this.#lastCommandAt = now;
  }

  /** A delay that a fault rule asks for begins: it counts against no limit of the session. */
  pause(now: number): void {
    this.#pausedAt = now;
  }

  /** The delay has ended. */
  goOn(now: number): void {
    this.#begunAt += now - this.#pausedAt;
  }

  beginData(now: number): void {
    this.#data = { since: now, bytes: 0 };
  }

  /** @returns the reply that ends the session now, or undefined when no timeout has passed */
  check(now: number, { waitsForUs, dataBytes }: Activity): Reply | undefined {
    if (waitsForUs) {
      this.#data = { since: now, bytes: dataBytes ?? 0 };
      this.#lastCommandAt = now;
      return undefined;
    }
    if (now - this.#begunAt > this.#limits.sessionMs) return REPLIES.sessionTooLong;
    if (dataBytes !== null) return this.#isTooSlow(now, dataBytes) ? REPLIES.tooSlow : undefined;
    return now - this.#lastCommandAt > this.#limits.idleMs ? REPLIES.idle : undefined;
  }

  #isTooSlow(now: number, bytes: number): boolean {
    const { slowWindowMs, minDataBytesPerSecond } = this.#limits;
    const elapsed = now - this.#data.since;
    if (elapsed < slowWindowMs) return false;
    if (bytes - this.#data.bytes < (minDataBytesPerSecond * elapsed) / 1000) return true;
    this.#data = { since: now, bytes };
    return false;
  }
}
