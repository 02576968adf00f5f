import type { SmtpLimits } from './limits.ts';
import { REPLIES, type Reply } from './protocol/replies.ts';

/** What a session is at when its time is looked at. */
interface Activity {
  /** The client waits for us: for a reply, or for room for its data. */
  waitsForUs: boolean;
  /** Bytes of the mail that is coming in; null when none is. */
  dataBytes: number | null;
  /** How long the session may idle, milliseconds. */
  idleMs: number;
}

/** The limits of time of one session: how long it lasts, how long it idles, how slowly data comes. */
export class SessionTimer {
  readonly #limits: SmtpLimits;
  readonly #begunAt: number;
  #lastCommandAt: number;
  /** Bytes of the mail coming in, when they were last weighed. */
  #data = { since: 0, bytes: 0 };

  /** @param now monotonic milliseconds, as in all methods */
  constructor(limits: SmtpLimits, now: number) {
    this.#limits = limits;
    this.#begunAt = now;
    this.#lastCommandAt = now;
  }

  /** When the last whole command came or was answered. */
  get lastCommandAt(): number {
    return this.#lastCommandAt;
  }

  /** A command came, or one that took its time was answered. */
  touch(now: number): void {
    this.#lastCommandAt = now;
  }

  beginData(now: number): void {
    this.#data = { since: now, bytes: 0 };
  }

  /** The reply that ends the session now, or undefined when it has time. */
  check(now: number, { waitsForUs, dataBytes, idleMs }: Activity): Reply | undefined {
    if (waitsForUs) {
      this.#data = { since: now, bytes: dataBytes ?? 0 };
      this.#lastCommandAt = now;
      return undefined;
    }
    if (now - this.#begunAt > this.#limits.sessionMs) return REPLIES.sessionTooLong;
    if (dataBytes !== null) return this.#isTooSlow(now, dataBytes) ? REPLIES.tooSlow : undefined;
    return now - this.#lastCommandAt > idleMs ? REPLIES.idle : undefined;
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
