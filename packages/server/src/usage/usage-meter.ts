import { type Clock, repeat } from '../clock.ts';
import { AppError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Store } from '../store.ts';
import { AccountMonth, type Charge } from './account-month.ts';
import { type Day, DayCache, dayOf, type Month, monthOf } from './calendar.ts';
import { KeyUses } from './key-uses.ts';
import type { UsageReport, UsageThreshold } from './sql.ts';

/** How often daily counts and key uses are written; a crash loses at most this much of them. */
const REPORT_EVERY_MS = 10_000;
/** Unspent requests are returned after this long without requests, for other nodes to use. */
const RETURN_AFTER_MS = 60_000;
/** An account without requests for this long is dropped from memory; held requests end sooner. */
const FORGET_AFTER_MS = 600_000;

export interface MonthStanding {
  remaining: number | null;
  /** Start of the next month, epoch milliseconds. */
  resetAt: number;
}

export interface UsageDeps {
  store: Pick<Store, 'usage' | 'keys'>;
  clock: Clock;
  log: Logger;
}

function quotaExceeded(limit: number, resetAt: number, now: number): AppError {
  const nextMonth = new Date(resetAt).toISOString();
  return new AppError(
    'quota_exceeded',
    `The account has used all ${limit} requests of this month. Retry after ${nextMonth}, when the next month begins, or ask the operator for a larger plan. GET /v1/usage shows the usage and is free.`,
    { retryAfterSeconds: Math.max(1, Math.ceil((resetAt - now) / 1_000)) },
  );
}

/** Counts requests. Leases blocks from the store and spends them in memory: most requests cost no database write. */
export class UsageMeter {
  readonly #store: UsageDeps['store'];
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #accounts = new Map<string, AccountMonth>();
  readonly #leasing = new Map<AccountMonth, Promise<void>>();
  readonly #keyUses = new KeyUses();
  readonly #days = new DayCache();
  readonly #stopping = new AbortController();
  #unreported: UsageReport[] = [];
  #loop: Promise<void> = Promise.resolve();

  constructor({ store, clock, log }: UsageDeps) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
  }

  /** @param limit Infinity for none @throws AppError `quota_exceeded` with `retryAfterSeconds`, `unavailable` */
  charge(accountId: string, limit: number): Charge | Promise<Charge> {
    const now = this.#clock.now();
    const account = this.#accounts.get(accountId);
    if (account && now < account.resetAt && account.canSpend(limit)) return this.#spend(account, limit);
    return this.#chargeWithLease(accountId, limit);
  }

  /** Subtracts a request whose response is free. */
  refund(charge: Charge): void {
    const { accountId, month, day } = charge;
    if (this.#accounts.get(accountId)?.refund(charge)) return;
    this.#unreported.push({
      accountId,
      month,
      limit: null,
      returned: 1,
      kept: 0,
      days: [{ day, requests: -1 }],
    });
  }

  /** The whole month is left for an account that was neither charged nor looked up on this node. */
  standing(accountId: string, limit: number): MonthStanding {
    const now = this.#clock.now();
    const known = this.#accounts.get(accountId);
    const account = known && now < known.resetAt ? known : this.#monthOf(accountId, limit, now);
    return { remaining: account.remaining(limit), resetAt: account.resetAt };
  }

  /** Reads the account's month from the store unless it is known. @throws AppError `unavailable` */
  lookUp(accountId: string, limit: number): Promise<void> | undefined {
    const now = this.#clock.now();
    if (now < (this.#accounts.get(accountId)?.resetAt ?? 0)) return undefined;
    return this.#store.usage.read(accountId, monthOf(now), dayOf(now)).then(({ taken }) => {
      const isNew = !this.#accounts.has(accountId);
      const account = this.#current(accountId, limit, now);
      if (isNew) account.setTaken(taken);
    });
  }

  pending(accountId: string): { unspent: number; days: ReadonlyMap<Day, number> } {
    const account = this.#accounts.get(accountId);
    return { unspent: account?.unspent ?? 0, days: account?.days ?? new Map() };
  }

  recordKeyUse(keyId: string): void {
    this.#keyUses.record(keyId, this.#clock.now());
  }

  start(): void {
    this.#loop = repeat(this.#clock, REPORT_EVERY_MS, this.#stopping.signal, () => this.report());
  }

  /** Returns all unspent requests to the store. Nothing may be charged afterwards. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
    await Promise.allSettled(this.#leasing.values());
    await this.report(true);
  }

  /** Writes counts and returns unused leases, with `returnAll` every unspent request. Logs failures, throws nothing. */
  async report(returnAll = false): Promise<void> {
    const now = this.#clock.now();
    await this.#writeReports(this.#takeReports(returnAll), now);
    const uses = this.#keyUses.take(now);
    try {
      if (uses.length > 0) await this.#store.keys.used(uses);
    } catch (err) {
      this.#log.error({ err }, 'The last uses of API keys could not be written');
    }
  }

  async #writeReports(reports: UsageReport[], now: number): Promise<void> {
    if (reports.length === 0) return;
    try {
      for (const { accountId, month, passed } of await this.#store.usage.report(reports, now)) {
        this.#logPassed(accountId, month, passed);
      }
    } catch (err) {
      this.#log.error({ err }, 'Usage could not be written and will be written later');
      // If the write may have succeeded, the returned requests are lost: returned twice, they could exceed the quota.
      const isUnchanged = err instanceof AppError && err.code === 'unavailable';
      this.#unreported.push(
        ...reports.map((one) => ({
          ...one,
          ...{ limit: null, returned: isUnchanged ? one.returned : 0, kept: 0 },
        })),
      );
    }
  }

  #takeReports(returnAll: boolean): UsageReport[] {
    const monotonic = this.#clock.monotonic();
    const reports = this.#unreported;
    this.#unreported = [];
    for (const [accountId, account] of this.#accounts) {
      const idleMs = monotonic - account.usedAt;
      reports.push(account.takeReport(returnAll || idleMs >= RETURN_AFTER_MS));
      if (idleMs >= FORGET_AFTER_MS && !this.#leasing.has(account)) this.#accounts.delete(accountId);
    }
    return reports.filter(({ returned, days }) => returned > 0 || days.length > 0);
  }

  #logPassed(accountId: string, month: Month, passed: readonly UsageThreshold[]): void {
    for (const percent of passed) {
      this.#log.warn(
        { accountId, month, percent },
        `The account has used ${percent} % of its requests of the month`,
      );
    }
  }

  /** Replaces a month that has ended; its report is kept. */
  #current(accountId: string, limit: number, now: number): AccountMonth {
    const known = this.#accounts.get(accountId);
    if (known && now < known.resetAt) return known;
    if (known) this.#unreported.push(known.takeReport(true));
    const account = this.#monthOf(accountId, limit, now);
    this.#accounts.set(accountId, account);
    return account;
  }

  #monthOf(accountId: string, limit: number, now: number): AccountMonth {
    return new AccountMonth(accountId, limit, now, this.#clock.monotonic());
  }

  #spend(account: AccountMonth, limit: number): Charge {
    const monotonic = this.#clock.monotonic();
    const charge = account.spend(limit, this.#days.dayOf(this.#clock.now()), monotonic);
    if (account.isLow(limit) && !this.#leasing.has(account) && !account.isEmpty(limit, monotonic)) {
      this.#lease(account, limit).catch((err) =>
        this.#log.error({ err, accountId: account.accountId }, 'Requests could not be leased ahead'),
      );
    }
    return charge;
  }

  async #chargeWithLease(accountId: string, limit: number): Promise<Charge> {
    for (;;) {
      const now = this.#clock.now();
      const account = this.#current(accountId, limit, now);
      if (account.canSpend(limit)) return this.#spend(account, limit);
      if (account.isEmpty(limit, this.#clock.monotonic())) throw quotaExceeded(limit, account.resetAt, now);
      await this.#lease(account, limit);
    }
  }

  /** Leases a block, or waits for the lease in progress; the caller checks again afterwards. */
  #lease(account: AccountMonth, limit: number): Promise<void> {
    const inProgress = this.#leasing.get(account);
    if (inProgress) return inProgress;
    account.usedAt = this.#clock.monotonic();
    const started = this.#requestLease(account, limit).finally(() => this.#leasing.delete(account));
    this.#leasing.set(account, started);
    return started;
  }

  async #requestLease(account: AccountMonth, limit: number): Promise<void> {
    const { accountId, month } = account;
    if (account.exceeds(limit)) this.#unreported.push(account.takeReport(true));
    if (this.#unreported.length > 0) await this.report();
    const block = account.beginLease(limit);
    const lease = await this.#store.usage
      .lease(accountId, month, block, this.#clock.now())
      .finally(() => account.endLease());
    this.#logPassed(accountId, month, lease.passed);
    if (this.#accounts.get(accountId) === account) {
      account.add(lease, limit, this.#clock.monotonic());
      return;
    }
    // The month has ended meanwhile, so the lease is returned.
    this.#unreported.push({
      accountId,
      month,
      limit: block.limit,
      returned: lease.granted,
      kept: 0,
      days: [],
    });
  }
}
