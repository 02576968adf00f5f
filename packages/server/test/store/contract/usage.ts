import { describe, expect, it } from 'vitest';
import { USAGE_KEPT_MS, type UsageReport } from '../../../src/usage/sql.ts';
import { T } from '../builders.ts';
import type { Given } from './suite.ts';

/** The month and the day of T. */
const MONTH = '2027-01';
const DAY = '2027-01-15';
const DAY_MS = 24 * 3_600_000;
const NONE = { 80: null, 100: null };

const reportOf = (accountId: string, changes: Partial<UsageReport> = {}): UsageReport => ({
  ...{ accountId, month: MONTH, returned: 0, days: [] },
  ...changes,
});

/** Usage as it is stored; `usage-meter.ts` has what nodes make of it. */
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
      const leases = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          stores[n % 2]?.usage.lease(owner, MONTH, { want: 5, limit: 100 }, T),
        ),
      );
      expect(leases.flatMap((one) => one?.passed ?? []).toSorted((a, b) => a - b)).toEqual([80, 100]);
    });

    it('by day adds up, of several accounts and months in one report, also with refunds before their charges', async () => {
      const [owner, other] = [await given.account(), await given.account()];
      const requests = (accountId: string, count: number, day = DAY) =>
        reportOf(accountId, {
          month: day.slice(0, 7) as typeof MONTH,
          days: [{ day: day as typeof DAY, requests: count }],
        });
      await given.store.usage.report([requests(owner, -2)]);
      await given.store.usage.report([
        ...[requests(owner, 5), requests(other, 2), requests(owner, 7, '2026-12-31'), requests(owner, -3)],
        requests(owner, 1),
      ]);
      expect((await read(owner)).days).toEqual([
        { day: '2026-12-31', requests: 7 },
        { day: DAY, requests: 1 },
      ]);
      expect((await read(owner, DAY)).days).toEqual([{ day: DAY, requests: 1 }]);
      expect((await read(other)).days).toEqual([{ day: DAY, requests: 2 }]);
    });

    it('does not change by a report that cannot be written as a whole', async () => {
      const owner = await given.account();
      await lease(owner, 90);
      const days = [{ day: DAY, requests: 3 }];
      const broken = reportOf(owner, { days: [{ day: undefined as unknown as typeof DAY, requests: 1 }] });
      const all = [reportOf(owner, { days, returned: 5 }), broken];
      await expect(given.store.usage.report(all)).rejects.toThrow();
      expect(await read(owner)).toEqual({ taken: 90, passed: NONE, days: [] });
    });

    it('is swept by days that are older than 400 days, and by months that are over as long', async () => {
      const on = await given.fresh();
      const { usage, upkeep } = on.store;
      const owner = await given.account(on);
      const days = [DAY, '2027-01-16', '2027-01-17'].map((day) => ({ day, requests: 1 }));
      await usage.lease(owner, MONTH, { want: 9, limit: null }, T);
      await usage.report([reportOf(owner, { days })]);
      const left = async () => {
        const { taken, days: kept } = await usage.read(owner, MONTH, '2026-01-01');
        return { taken, days: kept.map(({ day }) => day) };
      };
      const sweep = (daysLater: number, limit = 10) =>
        upkeep.sweep(T + USAGE_KEPT_MS + daysLater * DAY_MS, limit);
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
