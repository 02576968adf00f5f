import { limitOrNull } from '../accounts/plans.ts';
import { type Day, type Month, monthAround, monthOf } from './calendar.ts';
import type { Lease, UsageReport } from './sql.ts';

/** A crash of a node costs an account at most a lease: this share of its quota… */
const LEASE_SHARE = 1 / 100;
/** …and at most so many requests. One database write for each thousand is cheap enough. */
const MAX_LEASE = 1_000;
/** The next lease is requested when less than this share of a block is left, so that no request waits for it. */
const LEASE_AHEAD = 1 / 4;
/** Before the store is queried again for a used-up month: other nodes may return requests. */
const RETRY_EMPTY_MS = 5_000;

export interface Charge {
  readonly accountId: string;
  readonly month: Month;
  readonly day: Day;
  readonly limit: number;
}

const blockOf = (limit: number): number => Math.min(MAX_LEASE, Math.max(1, Math.floor(limit * LEASE_SHARE)));

/** One account's month on this node. `limit` is the monthly quota of the current plan, Infinity for none. */
export class AccountMonth {
  readonly accountId: string;
  readonly month: Month;
  /** Start of the next month, epoch milliseconds. */
  readonly resetAt: number;
  /** Monotonic milliseconds. */
  usedAt: number;
  /** Requests that are leased or served on any node, as the store returned last. */
  #taken = 0;
  #unspent = 0;
  /** The largest quota under which the unspent requests were leased; a smaller one must not spend them. */
  #leasedUnder = 0;
  #wanted = 0;
  #limit: number;
  /** A used-up quota; the store is not queried until this monotonic time, milliseconds. */
  #empty: { limit: number; until: number } | null = null;
  #days = new Map<Day, number>();

  /** @param now epoch milliseconds; determines the month */
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

  /** Null without a quota. */
  remaining(limit: number): number | null {
    return limitOrNull(Math.max(0, limit - this.#taken + this.#unspent));
  }

  /** True if a request under this quota needs no lease. */
  canSpend(limit: number): boolean {
    return this.#unspent > 0 && limit >= this.#leasedUnder;
  }

  /** True if the store had nothing left under this quota less than {@link RETRY_EMPTY_MS} ago. */
  isEmpty(limit: number, monotonic: number): boolean {
    return this.#empty !== null && limit <= this.#empty.limit && monotonic < this.#empty.until;
  }

  isLow(limit: number): boolean {
    return this.#unspent < blockOf(limit) * LEASE_AHEAD;
  }

  /** Requires {@link AccountMonth.canSpend}. */
  spend(limit: number, day: Day, monotonic: number): Charge {
    this.#unspent -= 1;
    this.usedAt = monotonic;
    this.#limit = limit;
    this.#count(day, 1);
    return { accountId: this.accountId, month: this.month, day, limit };
  }

  /** Returns false if the request is of another month or was counted under a larger quota. */
  refund({ month, day, limit }: Charge): boolean {
    if (month !== this.month || this.#leasedUnder < limit) return false;
    this.#unspent += 1;
    this.#count(day, -1);
    return true;
  }

  /** True if requests were leased under a larger quota: they must be returned first. */
  exceeds(limit: number): boolean {
    return limit < this.#leasedUnder;
  }

  beginLease(limit: number): { want: number; limit: number | null } {
    this.#wanted = blockOf(limit);
    return { want: this.#wanted, limit: limitOrNull(limit) };
  }

  endLease(): void {
    this.#wanted = 0;
  }

  add({ granted, taken }: Lease, limit: number, monotonic: number): void {
    this.#leasedUnder = this.#unspent > 0 ? Math.max(this.#leasedUnder, limit) : limit;
    this.#unspent += granted;
    this.#taken = taken;
    this.#empty = granted === 0 ? { limit, until: monotonic + RETRY_EMPTY_MS } : null;
  }

  setTaken(taken: number): void {
    this.#taken = taken;
  }

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
      // The lease in progress may already be granted.
      kept: this.#unspent + this.#wanted,
      days: [...days].flatMap(([day, requests]) => (requests === 0 ? [] : { day, requests })),
    };
  }

  #count(day: Day, requests: number): void {
    this.#days.set(day, (this.#days.get(day) ?? 0) + requests);
  }
}
