import { limitOrNull } from '../accounts/plans.ts';
import { type Day, type Month, monthAround, monthOf } from './calendar.ts';
import type { Lease, UsageReport } from './sql.ts';

/** A lease takes this share of the quota, so a crash of a node costs an account at most that much… */
const LEASE_SHARE = 1 / 100;
/** …and never more requests than this: one database write for each thousand is cheap enough. */
const MAX_LEASE = 1_000;
/** The next lease is requested when less than this share of a block is left, so that no request waits for it. */
const LEASE_AHEAD = 1 / 4;
/** How long to wait before asking again for a month that had nothing left: another node may return requests. */
const RETRY_EMPTY_MS = 5_000;

/** A counted request, so that it can be refunded. */
export interface Charge {
  readonly accountId: string;
  readonly month: Month;
  readonly day: Day;
  /** The monthly quota when the request was counted. */
  readonly limit: number;
}

const blockOf = (limit: number): number => Math.min(MAX_LEASE, Math.max(1, Math.floor(limit * LEASE_SHARE)));

/**
 * One account's month on this node: requests leased from the store, spent, and not reported yet. A `limit`
 * is the monthly quota of the current plan, Infinity for none.
 */
export class AccountMonth {
  readonly accountId: string;
  readonly month: Month;
  /** The first moment of the next month, epoch milliseconds. */
  readonly resetAt: number;
  /** When it was last used, monotonic milliseconds. */
  usedAt: number;
  /** Requests of the month that are leased or answered on any node, as the store said last. */
  #taken = 0;
  /** Leased and not counted yet. */
  #unspent = 0;
  /** The largest quota under which the unspent requests were leased; they must not be spent under a smaller one. */
  #leasedUnder = 0;
  /** The size of the lease in progress. */
  #wanted = 0;
  /** The quota of the last request. */
  #limit: number;
  /** A used-up quota, and the monotonic time until which the store is not queried again, milliseconds. */
  #empty: { limit: number; until: number } | null = null;
  /** Requests counted since the last report. */
  #days = new Map<Day, number>();

  /** @param now epoch milliseconds; decides the month */
  constructor(accountId: string, limit: number, now: number, monotonic: number) {
    this.accountId = accountId;
    this.month = monthOf(now);
    this.resetAt = monthAround(now).end;
    this.usedAt = monotonic;
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
    return limitOrNull(Math.max(0, limit - this.#taken + this.#unspent));
  }

  /** True when a request under this quota can be counted without a lease. */
  canSpend(limit: number): boolean {
    return this.#unspent > 0 && limit >= this.#leasedUnder;
  }

  /** True when the store had nothing left under such a quota, less than {@link RETRY_EMPTY_MS} ago. */
  isEmpty(limit: number, monotonic: number): boolean {
    return this.#empty !== null && limit <= this.#empty.limit && monotonic < this.#empty.until;
  }

  /** True when the next block should be leased ahead. */
  isLow(limit: number): boolean {
    return this.#unspent < blockOf(limit) * LEASE_AHEAD;
  }

  /** Counts a request. Requires {@link AccountMonth.canSpend}. */
  spend(limit: number, day: Day, monotonic: number): Charge {
    this.#unspent -= 1;
    this.usedAt = monotonic;
    this.#limit = limit;
    this.#count(day, 1);
    return { accountId: this.accountId, month: this.month, day, limit };
  }

  /** Makes a counted request available again. @returns false when it is of another month or a larger quota */
  refund({ month, day, limit }: Charge): boolean {
    if (month !== this.month || this.#leasedUnder < limit) return false;
    this.#unspent += 1;
    this.#count(day, -1);
    return true;
  }

  /** True when the plan became smaller: requests leased under the larger quota must be returned first. */
  exceeds(limit: number): boolean {
    return limit < this.#leasedUnder;
  }

  /** Starts a lease. @returns what to request from the store */
  beginLease(limit: number): { want: number; limit: number | null } {
    this.#wanted = blockOf(limit);
    return { want: this.#wanted, limit: limitOrNull(limit) };
  }

  endLease(): void {
    this.#wanted = 0;
  }

  /** Adds what the store granted under a quota. */
  add({ granted, taken }: Lease, limit: number, monotonic: number): void {
    this.#leasedUnder = this.#unspent > 0 ? Math.max(this.#leasedUnder, limit) : limit;
    this.#unspent += granted;
    this.#taken = taken;
    this.#empty = granted === 0 ? { limit, until: monotonic + RETRY_EMPTY_MS } : null;
  }

  /** Sets how much of the month is taken, as read from the store before the first lease. */
  setTaken(taken: number): void {
    this.#taken = taken;
  }

  /** Removes and returns what is to be reported. @param returnUnspent whether to return unspent requests as well */
  takeReport(returnUnspent: boolean): UsageReport {
    const returned = returnUnspent ? this.#unspent : 0;
    const days = this.#days;
    this.#unspent -= returned;
    this.#taken -= returned;
    this.#days = new Map();
    return {
      accountId: this.accountId,
      month: this.month,
      limit: limitOrNull(this.#limit),
      returned,
      // The lease in progress may have been granted already.
      kept: this.#unspent + this.#wanted,
      days: [...days].flatMap(([day, requests]) => (requests === 0 ? [] : { day, requests })),
    };
  }

  #count(day: Day, requests: number): void {
    this.#days.set(day, (this.#days.get(day) ?? 0) + requests);
  }
}
