import type { Clock } from '../clock.ts';
import { AppError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Day, Month, Store, UsageReport, UsageThreshold } from '../store/store.ts';

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
/** Another node may give something back, so a month that has nothing left is looked at again after this. */
const LOOK_AGAIN_MS = 5_000;
/** The last use of a key is told to the minute. */
const KEY_USE_MS = 60_000;

/** A request that was counted, so that it can be given back. */
export interface Charge {
  readonly accountId: string;
  readonly month: Month;
  readonly day: Day;
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
  standing(accountId: string, limit: number): MonthStanding;
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

interface Account {
  month: Month;
  resetAt: number;
  limit: number;
  /** Leased and not yet counted. */
  unspent: number;
  /** As the last lease said. */
  taken: number;
  /** The month had nothing left; not asked again before. */
  emptyUntil: number;
  leasing: Promise<void> | null;
  usedAt: number;
  /** What was counted since the last report. */
  days: Map<Day, number>;
}

/** The UTC day of a time, `2026-11-21`. */
export const dayOf = (time: number): Day => new Date(time).toISOString().slice(0, 10);
/** The UTC month of a time, `2026-11`. */
export const monthOf = (time: number): Month => new Date(time).toISOString().slice(0, 7);

/** The first moments of the calendar month (UTC) of a time and of the next one, epoch milliseconds. */
export function monthAround(time: number): { start: number; end: number } {
  const date = new Date(time);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return { start: Date.UTC(year, month), end: Date.UTC(year, month + 1) };
}

export function createUsageMeter({ store, clock, log }: UsageDeps): UsageMeter {
  const accounts = new Map<string, Account>();
  /** Of months that are over, and what a failed report could not tell. */
  let left: UsageReport[] = [];
  const keyUses = new Map<string, number>();
  const keyTold = new Map<string, number>();
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
    const returned = giveBack ? account.unspent : 0;
    account.unspent -= returned;
    account.taken -= returned;
    const days = [...account.days].map(([day, requests]) => ({ day, requests }));
    account.days = new Map();
    const limit = Number.isFinite(account.limit) ? account.limit : null;
    return { accountId, month: account.month, limit, returned, kept: account.unspent, days };
  };

  /** The account's state for this moment and this quota. */
  const current = (accountId: string, limit: number, now: number): Account => {
    let account = accounts.get(accountId);
    if (account && account.limit === limit && now < account.resetAt) return account;
    // The month or the plan has changed: what was leased under the old one goes back.
    if (account) left.push(takeReport(accountId, account, true));
    account = {
      month: monthOf(now),
      resetAt: monthAround(now).end,
      limit,
      unspent: 0,
      taken: 0,
      emptyUntil: 0,
      leasing: null,
      usedAt: now,
      days: new Map(),
    };
    accounts.set(accountId, account);
    return account;
  };

  const blockOf = (limit: number): number =>
    Math.min(MAX_LEASE, Math.max(1, Math.floor(limit * LEASE_SHARE)));

  const lease = (accountId: string, account: Account): Promise<void> => {
    const { month, limit } = account;
    const begin = async (): Promise<void> => {
      // What went back under an older plan of this month must be known before a lease is weighed.
      if (left.length > 0) await report();
      const block = { want: blockOf(limit), limit: Number.isFinite(limit) ? limit : null };
      const { granted, taken, passed } = await store.usage.lease(accountId, month, block, clock.now());
      account.taken = taken;
      // Meanwhile the month or the plan may have turned: then nobody spends from here any more.
      if (accounts.get(accountId) === account) account.unspent += granted;
      else left.push({ accountId, month, limit: block.limit, returned: granted, kept: 0, days: [] });
      if (granted === 0) account.emptyUntil = clock.now() + LOOK_AGAIN_MS;
      tellPassed(accountId, month, passed);
    };
    account.leasing ??= begin().finally(() => {
      account.leasing = null;
    });
    return account.leasing;
  };

  const spend = (accountId: string, account: Account, now: number): Charge => {
    account.unspent -= 1;
    account.usedAt = now;
    const day = dayNow(now);
    account.days.set(day, (account.days.get(day) ?? 0) + 1);
    if (
      account.unspent < blockOf(account.limit) * LEASE_AHEAD &&
      !account.leasing &&
      now >= account.emptyUntil
    ) {
      lease(accountId, account).catch((err) =>
        log.error({ err, accountId }, 'no requests could be leased ahead'),
      );
    }
    return { accountId, month: account.month, day };
  };

  const exceeded = (account: Account, now: number): AppError =>
    new AppError(
      'quota_exceeded',
      `the ${account.limit} requests of this month are used; the next month begins at ${new Date(account.resetAt).toISOString()}`,
      { retryAfterSeconds: Math.max(1, Math.ceil((account.resetAt - now) / 1_000)) },
    );

  const chargeSlowly = async (accountId: string, limit: number): Promise<Charge> => {
    for (;;) {
      const now = clock.now();
      const account = current(accountId, limit, now);
      if (account.unspent > 0) return spend(accountId, account, now);
      if (now < account.emptyUntil) throw exceeded(account, now);
      await lease(accountId, account);
    }
  };

  const takeKeyUses = (): { keyId: string; at: number }[] => {
    const uses = [...keyUses].map(([keyId, at]) => ({ keyId, at }));
    keyUses.clear();
    return uses;
  };

  async function report(giveBackAll = false): Promise<void> {
    const now = clock.now();
    const reports = left;
    left = [];
    for (const [accountId, account] of accounts) {
      const isIdle = giveBackAll || now - account.usedAt >= GIVE_BACK_AFTER_MS;
      if (account.days.size === 0 && !isIdle) continue;
      if (account.days.size > 0 || account.unspent > 0) reports.push(takeReport(accountId, account, isIdle));
      else if (!account.leasing) accounts.delete(accountId);
    }
    const uses = takeKeyUses();
    try {
      if (reports.length > 0) {
        for (const { accountId, month, passed } of await store.usage.report(reports, now)) {
          tellPassed(accountId, month, passed);
        }
      }
    } catch (err) {
      log.error({ err }, 'usage could not be written, will try again');
      left.push(...reports);
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
      if (account && account.limit === limit && now < account.resetAt && account.unspent > 0) {
        return spend(accountId, account, now);
      }
      return chargeSlowly(accountId, limit);
    },

    refund({ accountId, month, day }) {
      const account = accounts.get(accountId);
      if (account?.month === month) {
        account.unspent += 1;
        account.days.set(day, (account.days.get(day) ?? 0) - 1);
        return;
      }
      left.push({ accountId, month, limit: null, returned: 1, kept: 0, days: [{ day, requests: -1 }] });
    },

    standing(accountId, limit) {
      const now = clock.now();
      const account = current(accountId, limit, now);
      const remaining = Number.isFinite(limit) ? Math.max(0, limit - account.taken + account.unspent) : null;
      return { remaining, resetAt: account.resetAt };
    },

    pending(accountId) {
      const account = accounts.get(accountId);
      return { unspent: account?.unspent ?? 0, days: account?.days ?? new Map() };
    },

    sawKey(keyId) {
      const now = clock.now();
      if (now - (keyTold.get(keyId) ?? 0) < KEY_USE_MS) return;
      keyTold.set(keyId, now);
      keyUses.set(keyId, now);
    },

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
      await Promise.allSettled([...accounts.values()].map((account) => account.leasing));
      await report(true);
    },
  };
}
