import type { Day, Lease, Month, UsageReport } from '../store/contract/index.ts';
import { monthAround, monthOf } from './calendar.ts';

/** A crash of a node costs an account at most this part of its month… */
const LEASE_SHARE = 1 / 100;
/** …and at most so many requests: a write for each thousand is as good as none. */
const MAX_LEASE = 1_000;
/** With less than this part of a block left the next one is leased ahead, so that no request waits for it. */
const LEASE_AHEAD = 1 / 4;
/** Another node may give something back, so a month that has nothing left is looked at again after this. */
const LOOK_AGAIN_MS = 5_000;

/** A request that was counted, so that it can be given back. */
export interface Charge {
  readonly accountId: string;
  readonly month: Month;
  readonly day: Day;
  /** The month's quota when it was counted. */
  readonly limit: number;
}

const blockOf = (limit: number): number => Math.min(MAX_LEASE, Math.max(1, Math.floor(limit * LEASE_SHARE)));

const orNull = (limit: number): number | null => (Number.isFinite(limit) ? limit : null);

/**
 * An account's month as this node knows it: what it has leased of it, spent, and not told yet. A `limit` is
 * the month's quota under the plan of the moment, Infinity for none.
 */
export class AccountMonth {
  readonly accountId: string;
  readonly month: Month;
  /** The first moment of the next month, epoch milliseconds. */
  readonly resetAt: number;
  /** When it was last needed, epoch milliseconds. */
  usedAt: number;
  /** As the store said last. */
  #taken = 0;
  /** Leased and not yet counted. */
  #unspent = 0;
  /** The largest quota under which those were leased: they are good under it and larger ones. */
  #leasedUnder = 0;
  /** What the lease under way asks for. */
  #wanted = 0;
  /** The quota that was asked for last. */
  #limit: number;
  /** A quota of this size had nothing left, and is not asked for again before that time. */
  #empty: { limit: number; until: number } | null = null;
  /** What was counted since the last report. */
  #days = new Map<Day, number>();

  constructor(accountId: string, limit: number, now: number) {
    this.accountId = accountId;
    this.month = monthOf(now);
    this.resetAt = monthAround(now).end;
    this.usedAt = now;
    this.#limit = limit;
  }

  get unspent(): number {
    return this.#unspent;
  }

  get days(): ReadonlyMap<Day, number> {
    return this.#days;
  }

  /** Requests left; null without a quota. */
  remaining(limit: number): number | null {
    return orNull(Math.max(0, limit - this.#taken + this.#unspent));
  }

  /** True when a request under this quota may be counted at once. */
  maySpend(limit: number): boolean {
    return this.#unspent > 0 && limit >= this.#leasedUnder;
  }

  /** True when the store had nothing left under such a quota, a moment ago. */
  isEmpty(limit: number, now: number): boolean {
    return this.#empty !== null && limit <= this.#empty.limit && now < this.#empty.until;
  }

  /** True when it is time to lease ahead. */
  isLow(limit: number): boolean {
    return this.#unspent < blockOf(limit) * LEASE_AHEAD;
  }

  /** Counts a request; only where {@link AccountMonth.maySpend}. */
  spend(limit: number, day: Day, now: number): Charge {
    this.#unspent -= 1;
    this.usedAt = now;
    this.#limit = limit;
    this.#count(day, 1);
    return { accountId: this.accountId, month: this.month, day, limit };
  }

  /** Takes a request back, to be spent by another. False when it is not of this month or of a larger quota. */
  refund({ month, day, limit }: Charge): boolean {
    // Under a smaller plan it must not be spent again.
    if (month !== this.month || this.#leasedUnder < limit) return false;
    this.#unspent += 1;
    this.#count(day, -1);
    return true;
  }

  /** True when the plan has become smaller: what the larger one was granted goes back, to be weighed anew. */
  exceeds(limit: number): boolean {
    return limit < this.#leasedUnder;
  }

  /** Begins a lease. @returns what to ask the store for */
  beginLease(limit: number): { want: number; limit: number | null } {
    this.#wanted = blockOf(limit);
    return { want: this.#wanted, limit: orNull(limit) };
  }

  endLease(): void {
    this.#wanted = 0;
  }

  /** Adds what was leased under a quota. */
  add({ granted, taken }: Lease, limit: number, now: number): void {
    this.#leasedUnder = this.#unspent > 0 ? Math.max(this.#leasedUnder, limit) : limit;
    this.#unspent += granted;
    this.#taken = taken;
    this.#empty = granted === 0 ? { limit, until: now + LOOK_AGAIN_MS } : null;
  }

  /** Learns how much the store says is taken, before the first lease. */
  learn(taken: number): void {
    this.#taken = taken;
  }

  /** Takes what is to be told out of it; with `giveBack` also what is unspent. */
  takeReport(giveBack: boolean): UsageReport {
    const returned = giveBack ? this.#unspent : 0;
    const days = this.#days;
    this.#unspent -= returned;
    this.#taken -= returned;
    this.#days = new Map();
    return {
      accountId: this.accountId,
      month: this.month,
      limit: orNull(this.#limit),
      returned,
      // The lease under way may have been granted already.
      kept: this.#unspent + this.#wanted,
      days: [...days].flatMap(([day, requests]) => (requests === 0 ? [] : { day, requests })),
    };
  }

  #count(day: Day, requests: number): void {
    this.#days.set(day, (this.#days.get(day) ?? 0) + requests);
  }
}
