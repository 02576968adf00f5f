import type { Clock } from '../../clock.ts';

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

/** Of all messages together, above {@link FREE_BYTES} each; the largest message must fit. */
export const IN_FLIGHT_BYTES = 64 * 1024 * 1024;
/**
 * Granted to each message at once. A socket's read buffer is as large, so making the sender wait would save
 * nothing. Bounded by the number of connections.
 */
export const FREE_BYTES = 64 * 1024;
/** One half lets one source use a third of what is not reserved, and five sources leave an eighth free. */
const SOURCE_FACTOR = 0.5;
/** Two lets one account use two thirds of it: more than one source, or that would hold up all of its account. */
const ACCOUNT_FACTOR = 2;
/** A share that holds memory must receive this much while others wait; slower senders may try later. */
export const MIN_PROGRESS_BYTES_PER_SECOND = 32 * 1024;
/** The same for the owner, because all large messages wait for it: 4 Mbit/s, 100 seconds for the largest. */
export const MIN_OWNER_BYTES_PER_SECOND = 512 * 1024;
/** How long progress is measured: long enough for a retransmission, short enough for those who wait. */
export const PROGRESS_WINDOW_MS = 3_000;

/** Whose message it is; memory is shared fairly between the values of each. */
export interface ShareOwner {
  /** As `sourceKey` of source-key.ts returns it. */
  source: string;
  /** The account of the first recipient; '' where there is none. */
  account: string;
}

export interface ShareEvents {
  /** Called once for each `take` that returned false, unless the share is closed before. */
  resume(): void;
  /** The message came too slowly while others waited: its sender is to be sent away and the share closed. */
  revoke(): void;
}

/** One message's share of a {@link ByteBudget}. */
export interface Share {
  /** Bytes that count now. */
  readonly held: number;
  /** True while requested bytes are not granted; then nothing more may be requested. */
  readonly waiting: boolean;
  /**
   * Requests more bytes. True: granted. False: the caller must stop reading until `resume` is called, by
   * which time the bytes are granted.
   * @throws RangeError when the share would grow past the largest message
   */
  take(bytes: number): boolean;
  /** The whole message is here: it is not slow any more, and needs no more memory. */
  complete(): void;
  /** Releases everything, and cancels a wait. Safe to call twice. */
  close(): void;
}

export interface BudgetOptions {
  /** Bytes of all shares together, above {@link FREE_BYTES} each. */
  capacity: number;
  /** Bytes that one share may hold. */
  largest: number;
  clock: Pick<Clock, 'monotonic' | 'sleep'>;
}

/** What a source or an account holds. */
interface Group {
  key: string;
  /** It may hold so many times what is free. */
  factor: number;
  shares: number;
  /** Above the free bytes of each share; the owner's bytes do not count. */
  pooled: number;
  /** When a share of it became the owner: a count that grows. */
  lastTurn: number;
}

/** Bounds the bytes of all messages in flight, without a deadlock and without letting one source stop others. */
export class ByteBudget {
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

  /** For {@link Share}. */
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

  /** For {@link Share}. */
  complete(share: OpenShare): void {
    share.isComplete = true;
    if (share === this.#owner) this.#disown();
    this.#serveWaiting();
  }

  /** For {@link Share}. */
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

/** The bytes of a share that come out of the capacity. */
const pooledOf = (held: number): number => Math.max(0, held - FREE_BYTES);

/** The first of those with the smallest value. */
function firstBy<T>(all: Iterable<T>, rankOf: (one: T) => number): T | undefined {
  let best: T | undefined;
  for (const one of all) if (best === undefined || rankOf(one) < rankOf(best)) best = one;
  return best;
}

class OpenShare implements Share {
  held = 0;
  wanted = 0;
  isComplete = false;
  readonly groups: readonly Group[];
  readonly events: ShareEvents;
  readonly #budget: ByteBudget;
  /** When its progress began to be measured, and what it held then. */
  #window: { since: number; held: number };

  constructor(budget: ByteBudget, groups: readonly Group[], events: ShareEvents, now: number) {
    this.#budget = budget;
    this.groups = groups;
    this.events = events;
    this.#window = { since: now, held: 0 };
  }

  get waiting(): boolean {
    return this.wanted > 0;
  }

  get pooled(): number {
    return pooledOf(this.held);
  }

  get sourcePooled(): number {
    return this.groups[0]?.pooled ?? 0;
  }

  startWindow(now: number): void {
    this.#window = { since: now, held: this.held };
  }

  /**
   * Whether it holds memory and received less than so many bytes a second since its window began. Begins the
   * next window.
   */
  isSlower(bytesPerSecond: number, now: number): boolean {
    if (this.pooled === 0 || this.isComplete || this.waiting) return false;
    const elapsed = now - this.#window.since;
    if (elapsed < PROGRESS_WINDOW_MS) return false;
    const received = this.held - this.#window.held;
    this.startWindow(now);
    return received * 1000 < bytesPerSecond * elapsed;
  }

  take(bytes: number): boolean {
    return this.#budget.take(this, bytes);
  }

  complete(): void {
    this.#budget.complete(this);
  }

  close(): void {
    this.#budget.close(this);
  }
}
