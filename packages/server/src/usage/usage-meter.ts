import { limitOrNull } from '../accounts/plans.ts';
import { type Clock, type Day, dayOf, type Month, monthAround, monthOf, repeat } from '../clock.ts';
import { AppError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Store } from '../store.ts';
import type { UsageReport } from './sql.ts';

/** Maximum share of the quota in one lease. A crash of a node loses at most one lease per account. */
const LEASE_SHARE = 1 / 100;
const MAX_LEASE = 1_000;
/** Pause before a used-up quota is queried again, because other nodes may return unspent requests. */
const RETRY_EMPTY_MS = 5_000;

export interface Charge {
  readonly account: AccountMonth;
  readonly day: Day;
}

const blockOf = (limit: number): number => Math.min(MAX_LEASE, Math.max(1, Math.floor(limit * LEASE_SHARE)));

/** Usage of one account on this node, in one month and under one quota. */
class AccountMonth {
  readonly accountId: string;
  readonly month: Month;
  readonly resetAt: number;
  readonly limit: number;
  usedAt: number;
  /** Requests leased or used by all nodes, as of the last query of the store. */
  taken = 0;
  unspent = 0;
  /** Monotonic milliseconds: until then, a used-up quota is not queried again in the store. */
  emptyUntil = 0;
  leasing: Promise<void> | null = null;
  days = new Map<Day, number>();

  constructor(accountId: string, limit: number, now: number, monotonic: number) {
    this.accountId = accountId;
    this.month = monthOf(now);
    this.resetAt = monthAround(now).end;
    this.limit = limit;
    this.usedAt = monotonic;
  }

  count(day: Day, requests: number): void {
    this.unspent -= requests;
    this.days.set(day, (this.days.get(day) ?? 0) + requests);
  }

  takeReport(returnUnspent: boolean): UsageReport {
    const { accountId, month, days } = this;
    const returned = returnUnspent ? this.unspent : 0;
    this.unspent -= returned;
    this.taken -= returned;
    this.days = new Map();
    return {
      ...{ accountId, month, returned },
      days: [...days].flatMap(([day, requests]) => (requests === 0 ? [] : { day, requests })),
    };
  }
}

/** Interval at which daily counts and key uses are written. A crash loses at most one interval. */
const REPORT_EVERY_MS = 10_000;
/** An account without a request for this long returns the rest of its lease, for other nodes. */
const RETURN_AFTER_MS = 60_000;
/** An account without a request for this long is dropped from memory. No `refund` for it can come so late. */
const FORGET_AFTER_MS = 600_000;

function quotaExceeded(limit: number, resetAt: number, now: number): AppError {
  const nextMonth = new Date(resetAt).toISOString();
  return new AppError(
    'quota_exceeded',
    `The account has used all ${limit} requests of this month. Retry after ${nextMonth}, when the next month begins, or ask the operator for a larger plan. GET /v1/usage shows the usage and is free.`,
    { retryAfterSeconds: Math.max(1, Math.ceil((resetAt - now) / 1_000)) },
  );
}

/** Counts requests. Leases blocks of requests from the store, so that few requests need a database write. */
export class UsageMeter {
  readonly #store: Pick<Store, 'usage' | 'keys'>;
  readonly #clock: Clock;
  readonly #log: Logger;
  /** The current month of each account, and earlier months that are not fully reported. */
  readonly #accounts = new Map<string, AccountMonth[]>();
  readonly #keyUses = new Map<string, number>();
  #unreported: UsageReport[] = [];
  #stopReports: () => Promise<void> = async () => undefined;

  constructor({ store, clock, log }: { store: Pick<Store, 'usage' | 'keys'>; clock: Clock; log: Logger }) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
  }

  /** @param limit Infinity for no limit @throws AppError `quota_exceeded`, `unavailable` */
  async charge(accountId: string, limit: number): Promise<Charge> {
    for (;;) {
      const now = this.#clock.now();
      const account = this.#current(accountId, limit, now);
      if (account.unspent > 0) {
        const day = dayOf(now);
        account.usedAt = this.#clock.monotonic();
        account.count(day, 1);
        return { account, day };
      }
      if (this.#clock.monotonic() < account.emptyUntil) throw quotaExceeded(limit, account.resetAt, now);
      await this.#lease(account);
    }
  }

  refund({ account, day }: Charge): void {
    account.count(day, -1);
  }

  /** Requests left until `resetAt` (epoch ms): all, if this node has not charged the account this month. */
  standing(accountId: string, limit: number): { remaining: number | null; resetAt: number } {
    const now = this.#clock.now();
    const account = this.#find(accountId, limit, now);
    const left = account ? limit - account.taken + account.unspent : limit;
    const resetAt = account?.resetAt ?? monthAround(now).end;
    return { remaining: limitOrNull(Math.max(0, left)), resetAt };
  }

  pending(accountId: string): { unspent: number; days: ReadonlyMap<Day, number> } {
    const months = this.#accounts.get(accountId) ?? [];
    const days = new Map<Day, number>();
    for (const one of months)
      for (const [day, requests] of one.days) days.set(day, (days.get(day) ?? 0) + requests);
    return { unspent: months.reduce((sum, { unspent }) => sum + unspent, 0), days };
  }

  recordKeyUse(keyId: string): void {
    this.#keyUses.set(keyId, this.#clock.now());
  }

  start(): void {
    this.#stopReports = repeat(this.#clock, REPORT_EVERY_MS, () => this.report());
  }

  /** Returns all unspent requests to the store. Nothing may be charged afterwards. */
  async stop(): Promise<void> {
    await this.#stopReports();
    await Promise.allSettled([...this.#accounts.values()].flat().map(({ leasing }) => leasing));
    await this.report(true);
  }

  /** Writes counts and returns idle accounts' leases (`returnAll`: all leases) to the store. Never throws. */
  async report(returnAll = false): Promise<void> {
    await this.#writeReports(this.#takeReports(returnAll));
    const uses = [...this.#keyUses].map(([keyId, at]) => ({ keyId, at }));
    this.#keyUses.clear();
    try {
      if (uses.length > 0) await this.#store.keys.used(uses);
    } catch (err) {
      this.#log.error({ err }, 'The last uses of API keys could not be written');
    }
  }

  async #writeReports(reports: UsageReport[]): Promise<void> {
    if (reports.length === 0) return;
    try {
      await this.#store.usage.report(reports);
    } catch (err) {
      this.#log.error({ err }, 'Usage could not be written and will be written later');
      // If the write may have succeeded, do not return requests again: accounts could exceed their quota.
      const isUnchanged = err instanceof AppError && err.code === 'unavailable';
      this.#unreported.push(...reports.map((one) => ({ ...one, returned: isUnchanged ? one.returned : 0 })));
    }
  }

  #takeReports(returnAll: boolean): UsageReport[] {
    const monotonic = this.#clock.monotonic();
    const reports = this.#unreported;
    this.#unreported = [];
    for (const [accountId, months] of this.#accounts) {
      for (const one of months) {
        const isUnused = one !== months.at(-1) || monotonic - one.usedAt >= RETURN_AFTER_MS;
        reports.push(one.takeReport(returnAll || isUnused));
      }
      const kept = months.filter((one) => monotonic - one.usedAt < FORGET_AFTER_MS || one.leasing);
      if (kept.length > 0) this.#accounts.set(accountId, kept);
      else this.#accounts.delete(accountId);
    }
    return reports.filter(({ returned, days }) => returned > 0 || days.length > 0);
  }

  #find(accountId: string, limit: number, now: number): AccountMonth | undefined {
    return this.#accounts.get(accountId)?.find((one) => one.limit === limit && now < one.resetAt);
  }

  #current(accountId: string, limit: number, now: number): AccountMonth {
    const known = this.#find(accountId, limit, now);
    if (known) return known;
    const others = this.#accounts.get(accountId) ?? [];
    this.#unreported.push(...others.map((one) => one.takeReport(true)));
    const account = new AccountMonth(accountId, limit, now, this.#clock.monotonic());
    this.#accounts.set(accountId, [...others, account]);
    return account;
  }

  #lease(account: AccountMonth): Promise<void> {
    account.leasing ??= this.#requestLease(account).finally(() => {
      account.leasing = null;
    });
    return account.leasing;
  }

  async #requestLease(account: AccountMonth): Promise<void> {
    const { accountId, month, limit } = account;
    account.usedAt = this.#clock.monotonic();
    // Report first: this returns unspent requests to the store, and the lease below can use them.
    if (this.#unreported.length > 0) await this.report();
    const block = { want: blockOf(limit), limit: limitOrNull(limit) };
    const lease = await this.#store.usage.lease(accountId, month, block, this.#clock.now());
    for (const percent of lease.passed)
      this.#log.warn(
        { accountId, month, percent },
        `The account has used ${percent} % of its requests of the month`,
      );
    account.taken = lease.taken;
    account.unspent += lease.granted;
    account.emptyUntil = lease.granted === 0 ? this.#clock.monotonic() + RETRY_EMPTY_MS : 0;
  }
}
