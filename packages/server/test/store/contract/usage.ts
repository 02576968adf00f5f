import { pino } from 'pino';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/errors.ts';
import type { Store } from '../../../src/store.ts';
import { USAGE_KEPT_MS, type UsageReport } from '../../../src/usage/sql.ts';
import { type Charge, UsageMeter } from '../../../src/usage/usage-meter.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { accountAt, atOnce, DAY, T } from '../builders.ts';
import type { Given, Opened } from './suite.ts';

/** The month and the day of T. */
const MONTH = '2027-01';
const TODAY = '2027-01-15';
const NONE = { 80: null, 100: null };

const reportOf = (accountId: string, changes: Partial<UsageReport>): UsageReport => ({
  ...{ accountId, month: MONTH, returned: 0, days: [], ...changes },
});

/** Usage as it is stored. */
export function describeUsage(given: Given): void {
  const lease = (owner: string, want: number, now = T) =>
    given.store.usage.lease(owner, MONTH, { want, limit: 100 }, now);
  const report = (owner: string, changes: Partial<UsageReport>) =>
    given.store.usage.report([reportOf(owner, changes)]);
  const read = (owner: string, since = '2026-12-01') => given.store.usage.read(owner, MONTH, since);

  describe('usage', () => {
    it('of a month gets back what a node returns, and never more than was taken', async () => {
      const owner = await given.account();
      await report(owner, { returned: 50 });
      expect(await read(owner)).toEqual({ taken: 0, passed: NONE, days: [] });
      expect(await lease(owner, 500)).toMatchObject({ granted: 100, taken: 100 });
      await report(owner, { returned: 30 });
      expect(await lease(owner, 100)).toMatchObject({ granted: 30, taken: 100 });
      await report(owner, { returned: 500 });
      expect((await read(owner)).taken).toBe(0);
    });

    it('has the time at which each threshold was first passed, whatever is returned', async () => {
      const owner = await given.account();
      await lease(owner, 80);
      await lease(owner, 20, T + 1);
      await lease(owner, 1, T + 3);
      await report(owner, { returned: 90 });
      await lease(owner, 90, T + 5);
      await lease(owner, 1, T + 6);
      expect((await read(owner)).passed).toEqual({ 80: T + 1, 100: T + 3 });
    });

    it('passes each threshold once, however many nodes pass it at once', async () => {
      const { on, owner } = await given.place('server');
      const stores = [on.store, await on.openAnother()];
      await on.store.usage.lease(owner, MONTH, { want: 100, limit: 100 }, T);
      const five = { want: 5, limit: 100 };
      const leases = await atOnce(20, (n) => stores[n % 2]?.usage.lease(owner, MONTH, five, T));
      expect(leases.flatMap((one) => one?.passed ?? []).toSorted((a, b) => a - b)).toEqual([80, 100]);
    });

    it('by day adds up, of several accounts and months in one report, also with refunds before their charges', async () => {
      const [owner, other] = [await given.account(), await given.account()];
      const requests = (accountId: string, count: number, day = TODAY) =>
        reportOf(accountId, {
          month: day.slice(0, 7) as typeof MONTH,
          days: [{ day: day as typeof TODAY, requests: count }],
        });
      await given.store.usage.report([requests(owner, -2)]);
      await given.store.usage.report([
        ...[requests(owner, 5), requests(other, 2), requests(owner, 7, '2026-12-31'), requests(owner, -3)],
        requests(owner, 1),
      ]);
      expect((await read(owner)).days).toEqual([
        { day: '2026-12-31', requests: 7 },
        { day: TODAY, requests: 1 },
      ]);
      expect((await read(owner, TODAY)).days).toEqual([{ day: TODAY, requests: 1 }]);
      expect((await read(other)).days).toEqual([{ day: TODAY, requests: 2 }]);
    });

    it('does not change by a report that cannot be written as a whole', async () => {
      const owner = await given.account();
      await lease(owner, 90);
      const days = [{ day: TODAY, requests: 3 }];
      const broken = reportOf(owner, { days: [{ day: undefined as unknown as typeof TODAY, requests: 1 }] });
      const all = [reportOf(owner, { days, returned: 5 }), broken];
      await expect(given.store.usage.report(all)).rejects.toThrow();
      expect(await read(owner)).toEqual({ taken: 90, passed: NONE, days: [] });
    });

    it('is swept by days that are older than 400 days, and by months that are over as long', async () => {
      const on = await given.fresh();
      const { usage, upkeep } = on.store;
      const owner = await given.account(on);
      const days = [TODAY, '2027-01-16', '2027-01-17'].map((day) => ({ day, requests: 1 }));
      await usage.lease(owner, MONTH, { want: 9, limit: null }, T);
      await usage.report([reportOf(owner, { days })]);
      const left = async () => {
        const { taken, days: kept } = await usage.read(owner, MONTH, '2026-01-01');
        return { taken, days: kept.map(({ day }) => day) };
      };
      const sweep = (daysLater: number, limit = 10) =>
        upkeep.sweep(T + USAGE_KEPT_MS + daysLater * DAY, limit);
      expect(await sweep(0)).toBe(0);
      expect([await sweep(2, 1), await sweep(2)]).toEqual([1, 1]);
      expect(await left()).toEqual({ taken: 9, days: ['2027-01-17'] });
      expect(await sweep(16)).toBe(1);
      expect(await left()).toEqual({ taken: 9, days: [] });
      expect(await sweep(17)).toBe(1);
      expect(await left()).toEqual({ taken: 0, days: [] });
    });

    it('of rates is divided by the nodes that are alive: those that were seen and did not leave', async () => {
      const { nodes } = (await given.fresh()).store;
      expect([await nodes.beat('one', T), await nodes.beat('two', T), await nodes.beat('one', T)]).toEqual([
        1, 2, 2,
      ]);
      await nodes.leave('two', T);
      expect(await nodes.beat('one', T)).toBe(1);
    });
  });
}

const QUOTA = 1_000;
/** A hundredth of it. */
const BLOCK = 10;
const [MARCH, APRIL] = ['2026-03', '2026-04'];
const IDLE_MS = 60_000;

/** For each case: an account with a quota, and meters of nodes that share a storage. */
function useMeters(given: Given) {
  let on: Opened;
  let owner: string;
  const use = {
    clock: new FakeClock(),
    logged: [] as { msg: string }[],
    isDown: false,
    writes: 0,
    /** @param report replaces that of the store */
    meterOn(store: Store = on.store, report = store.usage.report): UsageMeter {
      const log = pino({ level: 'trace' }, { write: (line: string) => use.logged.push(JSON.parse(line)) });
      const write = <T>(run: () => Promise<T>): Promise<T> => {
        use.writes++;
        return use.isDown ? Promise.reject(new AppError('unavailable', 'The storage is down.')) : run();
      };
      const usage: Store['usage'] = {
        ...store.usage,
        lease: (...args) => write(() => store.usage.lease(...args)),
        report: (...args) => write(() => report(...args)),
      };
      return new UsageMeter({ store: { keys: store.keys, usage }, clock: use.clock, log });
    },
    meterOfAnotherProcess: async () => use.meterOn(await on.openAnother()),
    untilApril: (ms = 0) => use.clock.advance(Date.UTC(2026, 3) + ms - use.clock.now()),
    /** The methods of the real store. */
    stored: () => on.store.usage,
    charge: async (meter: UsageMeter, times: number, limit = QUOTA): Promise<Charge[]> =>
      Promise.all(Array.from({ length: times }, async () => meter.charge(owner, limit))),
    /** The code with which a request is rejected, or 'charged'. */
    outcome: async (meter: UsageMeter, limit = QUOTA): Promise<string> =>
      meter.charge(owner, limit).then(
        () => 'charged',
        (error) => (error instanceof AppError ? error.code : String(error)),
      ),
    /** Fifty clients ask on all these meters until each is rejected. @returns how many requests were charged */
    async exhaust(meters: UsageMeter[], limit = QUOTA): Promise<number> {
      let charged = 0;
      // These stores wait for a lock so shortly that even the other node's commit may be too long.
      const client = async (_: unknown, n: number) => {
        for (let patience = 100; ; ) {
          const answer = await use.outcome(meters[n % meters.length] as UsageMeter, limit);
          if (answer === 'charged') charged++;
          else if (answer !== 'unavailable' || patience-- === 0) return expect(answer).toBe('quota_exceeded');
        }
      };
      await Promise.all(Array.from({ length: 50 }, client));
      return charged;
    },
    standing: (meter: UsageMeter, limit = QUOTA) => meter.standing(owner, limit),
    month: (name = MARCH) => on.store.usage.read(owner, name, '2026-01-01'),
    dayCounts: async () => Object.fromEntries((await use.month()).days.map((one) => [one.day, one.requests])),
  };
  beforeAll(async () => {
    on = await given.freshServer('forAll');
  });
  beforeEach(async () => {
    Object.assign(use, { clock: new FakeClock(), logged: [], isDown: false, writes: 0 });
    const account = accountAt(use.clock.now());
    owner = account.id;
    await on.store.accounts.create(account, null);
  });
  return use;
}

/** What several nodes promise about the quota of an account. */
export function describeQuota(given: Given): void {
  describe('a quota', () => {
    const use = useMeters(given);

    it('can be used in full and is never exceeded, by one node or by two on one database', async () => {
      const { meterOn, exhaust, month } = use;
      expect(await exhaust([meterOn()])).toBe(QUOTA);
      await use.untilApril();
      expect(await exhaust([meterOn(), await use.meterOfAnotherProcess()])).toBe(QUOTA);
      expect((await month(APRIL)).taken).toBe(QUOTA);
    });

    it('is not lost in leases that another node does not use: they are returned', async () => {
      const { meterOn, charge, exhaust } = use;
      const [quiet, busy] = [meterOn(), await use.meterOfAnotherProcess()];
      await charge(quiet, 1);
      expect(await exhaust([busy])).toBe(QUOTA - BLOCK);
      await use.clock.advance(IDLE_MS);
      await quiet.report();
      expect(await exhaust([busy])).toBe(BLOCK - 1);
    });
  });
}

/** How a node spends its leases, which does not depend on the engine. */
export function describeUsageMeter(given: Given): void {
  describe('a usage meter', () => {
    const use = useMeters(given);
    const { meterOn, charge, exhaust, outcome, month, dayCounts, standing } = use;

    it('needs no write for a single request', async () => {
      const node = meterOn();
      await charge(node, 4_990, 100_000);
      await node.report();
      expect(use.writes).toBeLessThanOrEqual(7);
      // Responses that cost nothing leave nothing to report.
      use.writes = 0;
      for (let i = 0; i < 100; i++) for (const free of await charge(node, 1, 100_000)) node.refund(free);
      await node.report();
      expect(use.writes).toBe(0);
    });

    it('returns the unused request of the old month to the old month', async () => {
      await use.untilApril(-1);
      const node = meterOn();
      const [, free] = await charge(node, 2);
      await use.clock.advance(1);
      await charge(node, 1);
      if (free) node.refund(free);
      await node.report();
      expect(await month()).toMatchObject({ taken: 1 });
      expect(await dayCounts()).toEqual({ '2026-03-31': 1, '2026-04-01': 1 });
      expect(standing(node)).toEqual({ remaining: QUOTA - 1, resetAt: Date.UTC(2026, 4) });
    });

    it('counts a request whose lease was pending at midnight in the new month, and neither month loses any', async () => {
      await use.untilApril(-1);
      const node = meterOn();
      const asked = charge(node, 3);
      await use.clock.advance(1);
      expect((await asked).map((one) => one.account.month)).toEqual([APRIL, APRIL, APRIL]);
      await node.stop();
      expect([(await month()).taken, (await month(APRIL)).taken]).toEqual([0, 3]);
    });

    it('allows the difference at once after a change to a larger plan', async () => {
      const node = meterOn();
      expect(await exhaust([node])).toBe(QUOTA);
      expect(await exhaust([node], 1_500)).toBe(500);
      expect(await outcome(node, Number.POSITIVE_INFINITY)).toBe('charged');
    });

    it.each([
      // A block of the large plan is larger than all of the small one.
      ['a smaller plan', 30, 100_000, 50, 20],
      ['a quota from none', 1_200, Number.POSITIVE_INFINITY, 1_300, 100],
    ])('leaves exactly what %s has left after earlier leases', async (_, used, before, limit, left) => {
      const node = meterOn();
      await charge(node, used, before);
      expect(await exhaust([node], limit)).toBe(left);
      expect(standing(node, limit).remaining).toBe(0);
      expect(await outcome(node, 10)).toBe('quota_exceeded');
    });

    it('does not let a smaller plan use what is returned to the larger one', async () => {
      const node = meterOn();
      const [free] = await charge(node, 60, 100);
      expect(await outcome(node, 50)).toBe('quota_exceeded');
      if (free) node.refund(free);
      expect(await outcome(node, 50)).toBe('quota_exceeded');
      expect(await exhaust([node], 100)).toBe(41);
    });

    it('rejects requests with 503 when the store is down and what was leased is used up', async () => {
      const node = meterOn();
      await charge(node, 2);
      use.isDown = true;
      const outcomes: string[] = [];
      for (let i = 0; i < 50; i++) outcomes.push(await outcome(node));
      use.isDown = false;
      const charged = outcomes.filter((one) => one === 'charged').length;
      expect([charged, new Set(outcomes)]).toEqual([BLOCK - 2, new Set(['charged', 'unavailable'])]);
      expect(BLOCK + (await exhaust([node]))).toBe(QUOTA);
    });

    it('writes the counts of days later when the store is down, and counts no request twice', async () => {
      const node = meterOn();
      await charge(node, 25);
      use.isDown = true;
      await node.report();
      use.isDown = false;
      const msg = 'Usage could not be written and will be written later';
      expect(use.logged).toContainEqual(expect.objectContaining({ msg }));
      expect(await dayCounts()).toEqual({});
      await charge(node, 5);
      await node.report();
      await node.report();
      expect(await dayCounts()).toEqual({ '2026-03-04': 30 });
      expect(30 + (await exhaust([node]))).toBe(QUOTA);
    });

    it.each([
      ['is returned once when the writer died after the commit', true, 0],
      ['is lost when the writer died before the commit', false, BLOCK - 5],
    ])('never returns a lease twice; one whose outcome is unknown %s', async (_, isStored, lost) => {
      let isUnknown = true;
      const { report } = use.stored();
      const node = meterOn(undefined, async (...args) => {
        if (isStored || !isUnknown) await report(...args);
        if (isUnknown) throw new AppError('outcome_unknown', 'The writer thread died.');
      });
      await charge(node, 5);
      await use.clock.advance(IDLE_MS);
      await node.report();
      isUnknown = false;
      await node.report();
      if (!isStored) expect(await dayCounts()).toEqual({ '2026-03-04': 5 });
      else expect((await month()).taken).toBe(5);
      expect(5 + (await exhaust([node]))).toBe(QUOTA - lost);
    });
  });
}
