import { limitOrNull } from '../accounts/plans.ts';
import { type Clock, repeat } from '../clock.ts';
import { AppError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Store } from '../store.ts';
import { type Day, dayOf, type Month, monthAround, monthOf } from './calendar.ts';
import type { Lease, UsageReport, UsageThreshold } from './sql.ts';

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
  taken = 0;
  unspent = 0;
  /** The largest quota under which the unspent requests were leased; a smaller one must not spend them. */
  leasedUnder = 0;
  /** Of the lease in progress, which may already be granted. */
  wanted = 0;
  #limit: number;
  /** A used-up quota; the store is not queried until this monotonic time, milliseconds. */
  #empty: { limit: number; until: number } | null = null;
  days = new Map<Day, number>();

  /** @param now epoch milliseconds; determines the month */
  constructor(accountId: string, limit: number, now: number, monotonic: number) {
    this.accountId = accountId;
    this.month = monthOf(now);
    this.resetAt = monthAround(now).end;
    this.usedAt = monotonic;
    this.#limit = limit;
  }

  /** Null without a quota. */
  remaining(limit: number): number | null {
    return limitOrNull(Math.max(0, limit - this.taken + this.unspent));
  }

  /** True if a request under this quota needs no lease. */
  canSpend(limit: number): boolean {
    return this.unspent > 0 && limit >= this.leasedUnder;
  }

  /** True if the store had nothing left under this quota less than {@link RETRY_EMPTY_MS} ago. */
  isEmpty(limit: number, monotonic: number): boolean {
    return this.#empty !== null && limit <= this.#empty.limit && monotonic < this.#empty.until;
  }

  isLow(limit: number): boolean {
    return this.unspent < blockOf(limit) * LEASE_AHEAD;
  }

  /** Requires {@link AccountMonth.canSpend}. */
  spend(limit: number, day: Day, monotonic: number): Charge {
    this.unspent -= 1;
    this.usedAt = monotonic;
    this.#limit = limit;
    this.#count(day, 1);
    return { accountId: this.accountId, month: this.month, day, limit };
  }

  /** Returns false if the request is of another month or was counted under a larger quota. */
  refund({ month, day, limit }: Charge): boolean {
    if (month !== this.month || this.leasedUnder < limit) return false;
    this.unspent += 1;
    this.#count(day, -1);
    return true;
  }

  add({ granted, taken }: Lease, limit: number, monotonic: number): void {
    this.leasedUnder = this.unspent > 0 ? Math.max(this.leasedUnder, limit) : limit;
    this.unspent += granted;
    this.taken = taken;
    this.#empty = granted === 0 ? { limit, until: monotonic + RETRY_EMPTY_MS } : null;
  }

  takeReport(returnUnspent: boolean): UsageReport {
    const returned = returnUnspent ? this.unspent : 0;
    const days = this.days;
    this.unspent -= returned;
    this.taken -= returned;
    this.days = new Map();
    return {
      accountId: this.accountId,
      month: this.month,
      limit: limitOrNull(this.#limit),
      returned,
      kept: this.unspent + this.wanted,
      days: [...days].flatMap(([day, requests]) => (requests === 0 ? [] : { day, requests })),
    };
  }

  #count(day: Day, requests: number): void {
    this.days.set(day, (this.days.get(day) ?? 0) + requests);
  }
}

/** Accuracy of a key's `lastUsedAt`. */
const KEY_USE_MS = 60_000;

/** Collects uses of API keys until they are written to the store. Times are epoch milliseconds. */
class KeyUses {
  readonly #pending = new Map<string, number>();
  readonly #written = new Map<string, number>();

  record(keyId: string, now: number): void {
    if (now - (this.#written.get(keyId) ?? 0) < KEY_USE_MS) return;
    this.#written.set(keyId, now);
    this.#pending.set(keyId, now);
  }

  take(now: number): { keyId: string; at: number }[] {
    const taken = [...this.#pending].map(([keyId, at]) => ({ keyId, at }));
    this.#pending.clear();
    for (const [keyId, at] of this.#written) if (now - at >= KEY_USE_MS) this.#written.delete(keyId);
    return taken;
  }
}

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
      if (isNew) account.taken = taken;
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
    const charge = account.spend(limit, dayOf(this.#clock.now()), monotonic);
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
    // Requests that were leased under a larger quota are returned first.
    if (limit < account.leasedUnder) this.#unreported.push(account.takeReport(true));
    if (this.#unreported.length > 0) await this.report();
    account.wanted = blockOf(limit);
    const block = { want: account.wanted, limit: limitOrNull(limit) };
    const lease = await this.#store.usage.lease(accountId, month, block, this.#clock.now()).finally(() => {
      account.wanted = 0;
    });
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
