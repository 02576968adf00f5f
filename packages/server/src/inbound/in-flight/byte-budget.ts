import type { Clock } from '../../clock.ts';
import {
  type Group,
  OpenShare,
  PROGRESS_WINDOW_MS,
  pooledOf,
  type Share,
  type ShareEvents,
  type ShareMemory,
  type ShareOwner,
} from './share.ts';

/*
 * The memory of all messages that are being received or stored, over SMTP and HTTP together. The first
 * kibibytes of each message are always granted, so a small message never waits. What is above them comes out
 * of one capacity:
 * - Room for one message of the largest size is reserved for one share at a time, the owner, which therefore
 *   never waits. Sources take turns at it.
 * - The rest is shared by a dynamic threshold (Choudhury and Hahne, 1998): a source or an account may hold at
 *   most a fixed multiple of what is still free, so newcomers always find some.
 * - While a share waits, shares that hold memory and receive too slowly are revoked.
 */

/** Of all messages together, above `FREE_BYTES` each; the largest message must fit. */
export const IN_FLIGHT_BYTES = 64 * 1024 * 1024;
/** One half lets one source use a third of what is not reserved, and five sources leave an eighth free. */
const SOURCE_FACTOR = 0.5;
/** Two lets one account use two thirds of it: more than one source, or that would hold up all of its account. */
const ACCOUNT_FACTOR = 2;
/** A share that holds memory must receive this much while others wait; slower senders may try later. */
export const MIN_PROGRESS_BYTES_PER_SECOND = 32 * 1024;
/** The same for the owner, because all large messages wait for it: 4 Mbit/s, 100 seconds for the largest. */
export const MIN_OWNER_BYTES_PER_SECOND = 512 * 1024;

export interface BudgetOptions {
  /** Bytes of all shares together, above `FREE_BYTES` each. */
  capacity: number;
  /** Bytes that one share may hold. */
  largest: number;
  clock: Pick<Clock, 'monotonic' | 'sleep'>;
}

/** Bounds the bytes of all messages in flight, without a deadlock and without letting one source stop others. */
export class ByteBudget implements ShareMemory {
  readonly #capacity: number;
  readonly #largest: number;
  readonly #clock: BudgetOptions['clock'];
  readonly #shares = new Set<OpenShare>();
  readonly #waiting = new Set<OpenShare>();
  readonly #groups = new Map<string, Group>();
  #owner: OpenShare | undefined;
  #turns = 0;
  #held = 0;
  /** Above the free bytes, the owner's included. */
  #pooled = 0;
  /** Set while the shares are watched; aborted when none waits any more. */
  #watching: AbortController | undefined;

  /** @throws RangeError when `capacity` is less than `largest` */
  constructor({ capacity, largest, clock }: BudgetOptions) {
    if (capacity < largest) throw new RangeError(`A budget of ${capacity} bytes cannot hold ${largest}.`);
    this.#capacity = capacity;
    this.#largest = largest;
    this.#clock = clock;
  }

  /** Bytes of all shares together. */
  get held(): number {
    return this.#held;
  }

  open({ source, account }: ShareOwner, events: ShareEvents): Share {
    const groups = [this.#join(`source ${source}`, SOURCE_FACTOR)];
    if (account !== '') groups.push(this.#join(`account ${account}`, ACCOUNT_FACTOR));
    const share = new OpenShare(this, groups, events, this.#clock.monotonic());
    this.#shares.add(share);
    return share;
  }

  take(share: OpenShare, bytes: number): boolean {
    if (share.waiting || !this.#shares.has(share)) throw new Error('A waiting or closed share took bytes');
    if (share.held + bytes > this.#largest) {
      throw new RangeError(`A message of more than ${this.#largest} bytes`);
    }
    if (this.#fits(share, bytes) || this.#becomesOwner(share)) {
      this.#grant(share, bytes);
      return true;
    }
    share.wanted = bytes;
    this.#waiting.add(share);
    void this.#watch();
    return false;
  }

  complete(share: OpenShare): void {
    share.isComplete = true;
    if (share === this.#owner) this.#disown();
    this.#serveWaiting();
  }

  close(share: OpenShare): void {
    if (!this.#shares.delete(share)) return;
    if (share === this.#owner) this.#disown();
    this.#waiting.delete(share);
    if (this.#waiting.size === 0) this.#watching?.abort();
    share.wanted = 0;
    this.#held -= share.held;
    this.#pooled -= share.pooled;
    for (const group of share.groups) {
      group.pooled -= share.pooled;
      group.shares--;
      if (group.shares === 0) this.#groups.delete(group.key);
    }
    share.held = 0;
    this.#serveWaiting();
  }

  #join(key: string, factor: number): Group {
    const group = this.#groups.get(key) ?? { key, factor, shares: 0, pooled: 0, lastTurn: 0 };
    group.shares++;
    this.#groups.set(key, group);
    return group;
  }

  #fits(share: OpenShare, bytes: number): boolean {
    const more = pooledOf(share.held + bytes) - share.pooled;
    if (more <= 0 || share === this.#owner) return true;
    const others = this.#pooled - (this.#owner?.pooled ?? 0);
    const free = this.#capacity - this.#largest - others - more;
    return free >= 0 && share.groups.every((group) => group.pooled + more <= group.factor * free);
  }

  /** Makes a share the owner, if the reserved room is free. */
  #becomesOwner(share: OpenShare): boolean {
    if (this.#owner || this.#pooled - share.pooled > this.#capacity - this.#largest) return false;
    this.#owner = share;
    this.#turns++;
    for (const group of share.groups) {
      group.pooled -= share.pooled;
      group.lastTurn = this.#turns;
    }
    return true;
  }

  #disown(): void {
    for (const group of this.#owner?.groups ?? []) group.pooled += this.#owner?.pooled ?? 0;
    this.#owner = undefined;
  }

  #grant(share: OpenShare, bytes: number): void {
    const more = pooledOf(share.held + bytes) - share.pooled;
    share.held += bytes;
    this.#held += bytes;
    this.#pooled += more;
    if (share !== this.#owner) for (const group of share.groups) group.pooled += more;
  }

  #serveWaiting(): void {
    if (this.#waiting.size === 0) return;
    const served: OpenShare[] = [];
    const serve = (share: OpenShare): void => {
      this.#waiting.delete(share);
      this.#grant(share, share.wanted);
      share.wanted = 0;
      share.startWindow(this.#clock.monotonic());
      served.push(share);
    };
    if (!this.#owner) {
      const next = firstBy(this.#waiting, ({ groups }) => groups[0]?.lastTurn ?? 0);
      if (next && this.#becomesOwner(next)) serve(next);
    }
    for (const share of [...this.#waiting].sort((a, b) => a.sourcePooled - b.sourcePooled)) {
      if (this.#fits(share, share.wanted)) serve(share);
    }
    if (this.#waiting.size === 0) this.#watching?.abort();
    for (const share of served) share.events.resume();
  }

  /** Runs only while a share waits, so that an idle server sets no timers. */
  async #watch(): Promise<void> {
    if (this.#watching) return;
    const watching = new AbortController();
    this.#watching = watching;
    const { signal } = watching;
    for (const share of this.#shares) share.startWindow(this.#clock.monotonic());
    for (;;) {
      await this.#clock.sleep(PROGRESS_WINDOW_MS, signal);
      if (signal.aborted) break;
      this.#revokeSlow(this.#clock.monotonic());
    }
    this.#watching = undefined;
    if (this.#waiting.size > 0) void this.#watch();
  }

  #revokeSlow(now: number): void {
    for (const share of [...this.#shares]) {
      const isOwner = share === this.#owner;
      const minimum = isOwner ? MIN_OWNER_BYTES_PER_SECOND : MIN_PROGRESS_BYTES_PER_SECOND;
      if (this.#waiting.size > 0 && share.isSlower(minimum, now)) share.events.revoke();
    }
  }
}

/** The first of those with the smallest value. */
function firstBy<T>(all: Iterable<T>, rankOf: (one: T) => number): T | undefined {
  let best: T | undefined;
  for (const one of all) if (best === undefined || rankOf(one) < rankOf(best)) best = one;
  return best;
}
