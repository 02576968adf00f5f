import type { Clock } from '../clock.ts';
import { AppError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Day, Month, Store, UsageReport, UsageThreshold } from '../store/contract/index.ts';
import { AccountMonth, type Charge } from './account-month.ts';
import { dayOf, monthOf } from './calendar.ts';
import { createKeyUses } from './key-uses.ts';

export type { Charge } from './account-month.ts';

const DAY_MS = 86_400_000;
/** How often the days' counts and the last uses of keys are written; a crash forgets so much of them. */
const REPORT_EVERY_MS = 10_000;
/** What an account does not use for so long goes back, for other nodes to use. */
const GIVE_BACK_AFTER_MS = 60_000;
/** Answers are held for less, so that each can tell what is left. */
const FORGET_AFTER_MS = 600_000;

/** What is left of an account's month, as far as this node knows. */
export interface MonthStanding {
  /** Requests left; null without a quota. */
  remaining: number | null;
  /** The first moment of the next month, epoch milliseconds. */
  resetAt: number;
}

/** Counts requests against the month of their account, by leases: no write for a single one. */
export interface UsageMeter {
  /**
   * Counts a request before it is answered.
   * @param limit the month's quota, Infinity for none
   * @throws AppError `quota_exceeded`, with the month's end in `retryAfterSeconds`; `unavailable`
   */
  charge(accountId: string, limit: number): Charge | Promise<Charge>;
  /** Gives back a request whose answer costs nothing. */
  refund(charge: Charge): void;
  /** Of an account that was neither charged nor looked up here all of the month is left. */
  standing(accountId: string, limit: number): MonthStanding;
  /** Asks the store for the account's month where {@link UsageMeter.standing} would not know it. @throws AppError `unavailable` */
  lookUp(accountId: string, limit: number): Promise<void> | undefined;
  /** Requests counted here that the store does not know of yet, and leases not used. */
  pending(accountId: string): { unspent: number; days: ReadonlyMap<Day, number> };
  /** Remembers that a key was used now. */
  sawKey(keyId: string): void;
  /** Tells the store what was counted; gives leases back that are not used. Logs failures, throws nothing. */
  report(): Promise<void>;
  start(): void;
  /** Gives everything back; after it nothing may be charged. */
  stop(): Promise<void>;
}

export interface UsageDeps {
  store: Pick<Store, 'usage' | 'keys'>;
  clock: Clock;
  log: Logger;
}

function exceeded(limit: number, resetAt: number, now: number): AppError {
  const nextMonth = new Date(resetAt).toISOString();
  return new AppError(
    'quota_exceeded',
    `the ${limit} requests of this month are used; the next month begins at ${nextMonth}`,
    { retryAfterSeconds: Math.max(1, Math.ceil((resetAt - now) / 1_000)) },
  );
}

export function createUsageMeter({ store, clock, log }: UsageDeps): UsageMeter {
  const accounts = new Map<string, AccountMonth>();
  /** Leases under way, one an account. */
  const leasing = new Map<AccountMonth, Promise<void>>();
  /** Of months that are over, and what a failed report could not tell. */
  let left: UsageReport[] = [];
  const keyUses = createKeyUses();
  let today = { day: '', from: 0, to: 0 };

  const dayNow = (now: number): Day => {
    if (now < today.from || now >= today.to) {
      const from = now - (now % DAY_MS);
      today = { day: dayOf(now), from, to: from + DAY_MS };
    }
    return today.day;
  };

  const tellPassed = (accountId: string, month: Month, passed: readonly UsageThreshold[]): void => {
    for (const percent of passed) {
      log.warn({ accountId, month, percent }, `the account has used ${percent} % of its month`);
    }
  };

  /** The account's month at this moment. */
  const current = (accountId: string, limit: number, now: number): AccountMonth => {
    const known = accounts.get(accountId);
    if (known && now < known.resetAt) return known;
    if (known) left.push(known.takeReport(true));
    const account = new AccountMonth(accountId, limit, now);
    accounts.set(accountId, account);
    return account;
  };

  const askFor = async (account: AccountMonth, limit: number): Promise<void> => {
    const { accountId, month } = account;
    if (account.exceeds(limit)) left.push(account.takeReport(true));
    if (left.length > 0) await report();
    const block = account.beginLease(limit);
    const lease = await store.usage
      .lease(accountId, month, block, clock.now())
      .finally(() => account.endLease());
    tellPassed(accountId, month, lease.passed);
    if (accounts.get(accountId) === account) {
      account.add(lease, limit, clock.now());
    } else {
      // Meanwhile the month has turned: nobody spends from here any more.
      left.push({ accountId, month, limit: block.limit, returned: lease.granted, kept: 0, days: [] });
    }
  };

  /** One lease at a time; whoever comes meanwhile waits for that one and looks again. */
  const lease = (account: AccountMonth, limit: number): Promise<void> => {
    const underWay = leasing.get(account);
    if (underWay) return underWay;
    account.usedAt = clock.now();
    const begun = askFor(account, limit).finally(() => leasing.delete(account));
    leasing.set(account, begun);
    return begun;
  };

  const spend = (account: AccountMonth, limit: number, now: number): Charge => {
    const charge = account.spend(limit, dayNow(now), now);
    if (account.isLow(limit) && !leasing.has(account) && !account.isEmpty(limit, now)) {
      lease(account, limit).catch((err) =>
        log.error({ err, accountId: account.accountId }, 'no requests could be leased ahead'),
      );
    }
    return charge;
  };

  const chargeSlowly = async (accountId: string, limit: number): Promise<Charge> => {
    for (;;) {
      const now = clock.now();
      const account = current(accountId, limit, now);
      if (account.maySpend(limit)) return spend(account, limit, now);
      if (account.isEmpty(limit, now)) throw exceeded(limit, account.resetAt, now);
      await lease(account, limit);
    }
  };

  const takeReports = (now: number, giveBackAll: boolean): UsageReport[] => {
    const reports = left;
    left = [];
    for (const [accountId, account] of accounts) {
      const isIdle = giveBackAll || now - account.usedAt >= GIVE_BACK_AFTER_MS;
      reports.push(account.takeReport(isIdle));
      if (now - account.usedAt >= FORGET_AFTER_MS && !leasing.has(account)) accounts.delete(accountId);
    }
    return reports.filter(({ returned, days }) => returned > 0 || days.length > 0);
  };

  async function report(giveBackAll = false): Promise<void> {
    const now = clock.now();
    const reports = takeReports(now, giveBackAll);
    const uses = keyUses.take(now);
    try {
      if (reports.length > 0) {
        for (const { accountId, month, passed } of await store.usage.report(reports, now)) {
          tellPassed(accountId, month, passed);
        }
      }
    } catch (err) {
      log.error({ err }, 'usage could not be written, will try again');
      // It may have been done all the same. Given back twice a lease would let the month be overrun, so it is lost.
      left.push(...reports.map((one) => ({ ...one, limit: null, returned: 0, kept: 0 })));
    }
    try {
      if (uses.length > 0) await store.keys.used(uses);
    } catch (err) {
      log.error({ err }, 'the last uses of keys were not kept');
    }
  }

  const stopping = new AbortController();
  let loop: Promise<void> = Promise.resolve();

  return {
    charge(accountId, limit) {
      const now = clock.now();
      const account = accounts.get(accountId);
      if (account && now < account.resetAt && account.maySpend(limit)) return spend(account, limit, now);
      return chargeSlowly(accountId, limit);
    },

    refund(charge) {
      const { accountId, month, day } = charge;
      if (accounts.get(accountId)?.refund(charge)) return;
      left.push({ accountId, month, limit: null, returned: 1, kept: 0, days: [{ day, requests: -1 }] });
    },

    standing(accountId, limit) {
      const now = clock.now();
      const known = accounts.get(accountId);
      const account = known && now < known.resetAt ? known : new AccountMonth(accountId, limit, now);
      return { remaining: account.remaining(limit), resetAt: account.resetAt };
    },

    lookUp(accountId, limit) {
      const now = clock.now();
      if (now < (accounts.get(accountId)?.resetAt ?? 0)) return undefined;
      return store.usage.read(accountId, monthOf(now), dayOf(now)).then(({ taken }) => {
        // A lease that came meanwhile knows it better.
        const isNew = !accounts.has(accountId);
        const account = current(accountId, limit, now);
        if (isNew) account.learn(taken);
      });
    },

    pending(accountId) {
      const account = accounts.get(accountId);
      return { unspent: account?.unspent ?? 0, days: account?.days ?? new Map() };
    },

    sawKey: (keyId) => keyUses.saw(keyId, clock.now()),

    report: () => report(),

    start() {
      const run = async (): Promise<void> => {
        while (!stopping.signal.aborted) {
          await clock.sleep(REPORT_EVERY_MS, stopping.signal);
          await report();
        }
      };
      loop = run();
    },

    async stop() {
      stopping.abort();
      await loop;
      await Promise.allSettled(leasing.values());
      await report(true);
    },
  };
}
