import type { Clock } from '../clock.ts';
import { AppError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Day, Month, Store, UsageReport, UsageThreshold } from '../store/store.ts';
import { dayOf, monthAround, monthOf } from './calendar.ts';
import { createKeyUses } from './key-uses.ts';

/** A crash of a node costs an account at most this part of its month… */
const LEASE_SHARE = 1 / 100;
/** …and at most so many requests: a write for each thousand is as good as none. */
const MAX_LEASE = 1_000;
/** With less than this part of a block left the next one is leased ahead, so that no request waits for it. */
const LEASE_AHEAD = 1 / 4;
/** How often the days' counts and the last uses of keys are written; a crash forgets so much of them. */
const REPORT_EVERY_MS = 10_000;
/** What an account does not use for so long goes back, for other nodes to use. */
const GIVE_BACK_AFTER_MS = 60_000;
/** Answers are held for less, so that each can tell what is left. */
const FORGET_AFTER_MS = 600_000;
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

/** An account's month as this node knows it. */
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
  pending(accountId: string): { unspent: number; days: Map<Day, number> };
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

/** An account's month here. */
interface Account {
  readonly month: Month;
  readonly resetAt: number;
  /** The quota that was asked for last. */
  limit: number;
  /** Leased and not yet counted. */
  unspent: number;
  /** The largest quota under which those were leased: they are good under it and larger ones. */
  leasedUnder: number;
  /** As the last lease said. */
  taken: number;
  /** A quota of this size had nothing left, and is not asked for again before that time. */
  empty: { limit: number; until: number } | null;
  leasing: Promise<void> | null;
  /** What the lease under way asks for. */
  wanted: number;
  usedAt: number;
  /** What was counted since the last report. */
  days: Map<Day, number>;
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
  const accounts = new Map<string, Account>();
  const leases = new Set<Promise<void>>();
  /** Of months that are over, and what a failed report could not tell. */
  let left: UsageReport[] = [];
  const keyUses = createKeyUses();
  let today = { day: '', from: 0, to: 0 };

  const dayNow = (now: number): Day => {
    if (now < today.from || now >= today.to) {
      const from = now - (now % 86_400_000);
      today = { day: dayOf(now), from, to: from + 86_400_000 };
    }
    return today.day;
  };

  const tellPassed = (accountId: string, month: Month, passed: readonly UsageThreshold[]): void => {
    for (const percent of passed) {
      log.warn({ accountId, month, percent }, `the account has used ${percent} % of its month`);
    }
  };

  /** Takes what is to be told of an account out of it. */
  const takeReport = (accountId: string, account: Account, giveBack: boolean): UsageReport => {
    const { month, days } = account;
    const returned = giveBack ? account.unspent : 0;
    account.unspent -= returned;
    account.taken -= returned;
    account.days = new Map();
    return {
      ...{ accountId, month, returned, limit: Number.isFinite(account.limit) ? account.limit : null },
      // The lease under way may have been granted already.
      kept: account.unspent + account.wanted,
      days: [...days].flatMap(([day, requests]) => (requests === 0 ? [] : { day, requests })),
    };
  };

  /** The account's state in the month of this moment. */
  const current = (accountId: string, limit: number, now: number): Account => {
    const known = accounts.get(accountId);
    if (known && now < known.resetAt) return known;
    if (known) left.push(takeReport(accountId, known, true));
    const account: Account = {
      ...{ month: monthOf(now), resetAt: monthAround(now).end, limit, usedAt: now },
      ...{ unspent: 0, leasedUnder: 0, taken: 0, empty: null, leasing: null, wanted: 0, days: new Map() },
    };
    accounts.set(accountId, account);
    return account;
  };

  /** True when a request under this quota may be counted at once. */
  const maySpend = (account: Account, limit: number): boolean =>
    account.unspent > 0 && limit >= account.leasedUnder;

  const isEmpty = ({ empty }: Account, limit: number, now: number): boolean =>
    empty !== null && limit <= empty.limit && now < empty.until;

  const blockOf = (limit: number): number =>
    Math.min(MAX_LEASE, Math.max(1, Math.floor(limit * LEASE_SHARE)));

  const askFor = async (accountId: string, account: Account, limit: number): Promise<void> => {
    const { month } = account;
    // The plan has become smaller: what the larger one was granted goes back, to be weighed anew.
    if (limit < account.leasedUnder) left.push(takeReport(accountId, account, true));
    if (left.length > 0) await report();
    const block = { want: blockOf(limit), limit: Number.isFinite(limit) ? limit : null };
    account.wanted = block.want;
    const lease = await store.usage.lease(accountId, month, block, clock.now()).finally(() => {
      account.wanted = 0;
    });
    const { granted, taken, passed } = lease;
    tellPassed(accountId, month, passed);
    if (accounts.get(accountId) !== account) {
      // Meanwhile the month has turned: nobody spends from here any more.
      left.push({ accountId, month, limit: block.limit, returned: granted, kept: 0, days: [] });
      return;
    }
    account.leasedUnder = account.unspent > 0 ? Math.max(account.leasedUnder, limit) : limit;
    account.unspent += granted;
    account.taken = taken;
    account.empty = granted === 0 ? { limit, until: clock.now() + LOOK_AGAIN_MS } : null;
  };

  /** One lease at a time; whoever comes meanwhile waits for that one and looks again. */
  const lease = (accountId: string, account: Account, limit: number): Promise<void> => {
    if (account.leasing) return account.leasing;
    account.usedAt = clock.now();
    const leasing = askFor(accountId, account, limit).finally(() => {
      account.leasing = null;
      leases.delete(leasing);
    });
    account.leasing = leasing;
    leases.add(leasing);
    return leasing;
  };

  const spend = (accountId: string, account: Account, limit: number, now: number): Charge => {
    account.unspent -= 1;
    account.usedAt = now;
    account.limit = limit;
    const day = dayNow(now);
    account.days.set(day, (account.days.get(day) ?? 0) + 1);
    const isLow = account.unspent < blockOf(limit) * LEASE_AHEAD;
    if (isLow && !account.leasing && !isEmpty(account, limit, now)) {
      lease(accountId, account, limit).catch((err) =>
        log.error({ err, accountId }, 'no requests could be leased ahead'),
      );
    }
    return { accountId, month: account.month, day, limit };
  };

  const chargeSlowly = async (accountId: string, limit: number): Promise<Charge> => {
    for (;;) {
      const now = clock.now();
      const account = current(accountId, limit, now);
      if (maySpend(account, limit)) return spend(accountId, account, limit, now);
      if (isEmpty(account, limit, now)) throw exceeded(limit, account.resetAt, now);
      await lease(accountId, account, limit);
    }
  };

  const takeReports = (now: number, giveBackAll: boolean): UsageReport[] => {
    const reports = left;
    left = [];
    for (const [accountId, account] of accounts) {
      const isIdle = giveBackAll || now - account.usedAt >= GIVE_BACK_AFTER_MS;
      reports.push(takeReport(accountId, account, isIdle));
      if (now - account.usedAt >= FORGET_AFTER_MS && !account.leasing) accounts.delete(accountId);
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
      if (account && now < account.resetAt && maySpend(account, limit)) {
        return spend(accountId, account, limit, now);
      }
      return chargeSlowly(accountId, limit);
    },

    refund({ accountId, month, day, limit }) {
      const account = accounts.get(accountId);
      // Under a smaller plan it must not be spent again.
      if (account?.month === month && account.leasedUnder >= limit) {
        account.unspent += 1;
        account.days.set(day, (account.days.get(day) ?? 0) - 1);
        return;
      }
      left.push({ accountId, month, limit: null, returned: 1, kept: 0, days: [{ day, requests: -1 }] });
    },

    standing(accountId, limit) {
      const now = clock.now();
      const account = accounts.get(accountId);
      const { taken, unspent, resetAt } =
        account && now < account.resetAt ? account : { taken: 0, unspent: 0, resetAt: monthAround(now).end };
      const remaining = Number.isFinite(limit) ? Math.max(0, limit - taken + unspent) : null;
      return { remaining, resetAt };
    },

    lookUp(accountId, limit) {
      const now = clock.now();
      if (now < (accounts.get(accountId)?.resetAt ?? 0)) return undefined;
      return store.usage.read(accountId, monthOf(now), dayOf(now)).then(({ taken }) => {
        // A lease that came meanwhile knows it better.
        const isNew = !accounts.has(accountId);
        const account = current(accountId, limit, now);
        if (isNew) account.taken = taken;
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
      await Promise.allSettled(leases);
      await report(true);
    },
  };
}
