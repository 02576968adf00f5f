import { describe, expect, it } from 'vitest';
import { USAGE_KEPT_MS, type UsageReport } from '../../../src/usage/sql.ts';
import { T } from '../builders.ts';
import type { Given } from './suite.ts';

/** The month and the day of T. */
const MONTH = '2027-01';
const DAY = '2027-01-15';
const DAY_MS = 24 * 3_600_000;

const reportOf = (accountId: string, changes: Partial<UsageReport> = {}): UsageReport => ({
  ...{ accountId, month: MONTH, returned: 0, days: [] },
  ...changes,
});

/** What the contract promises about stored usage, beside what suite-usage-meter.ts does with it. */
export function describeUsage(given: Given): void {
  const lease = (owner: string, want: number, limit: number | null = 100, now = T) =>
    given.store.usage.lease(owner, MONTH, { want, limit }, now);
  const report = (owner: string, changes: Partial<UsageReport>) =>
    given.store.usage.report([reportOf(owner, changes)]);
  const read = (owner: string, since = '2027-01-01') => given.store.usage.read(owner, MONTH, since);

  describe('the quota of a month', () => {
    it('gets back what a node returns, and never more than was taken', async () => {
      const owner = await given.account();
      await lease(owner, 100);
      await report(owner, { returned: 30 });
      expect(await lease(owner, 100)).toMatchObject({ granted: 30, taken: 100 });
      await report(owner, { returned: 500 });
      expect((await read(owner)).taken).toBe(0);
      expect(await lease(owner, 500)).toMatchObject({ granted: 100, taken: 100 });
    });

    it('gets nothing from a return to a month that was never leased', async () => {
      const owner = await given.account();
      await report(owner, { returned: 50 });
      expect(await read(owner)).toEqual({ taken: 0, passed: { 80: null, 100: null }, days: [] });
      expect(await lease(owner, 500)).toMatchObject({ granted: 100 });
    });
  });

  describe('the thresholds of a month', () => {
    it('are remembered with the time at which they were first passed, whatever goes back', async () => {
      const owner = await given.account();
      await lease(owner, 80);
      await lease(owner, 20, 100, T + 1);
      await lease(owner, 1, 100, T + 3);
      await report(owner, { returned: 90 });
      await lease(owner, 90, 100, T + 5);
      await lease(owner, 1, 100, T + 6);
      expect((await read(owner)).passed).toEqual({ 80: T + 1, 100: T + 3 });
    });

    it('are told once, however many nodes pass them at once', async () => {
      const on = await given.freshServer();
      const stores = [on.store, await on.openAnother()];
      const owner = await given.account(on);
      await on.store.usage.lease(owner, MONTH, { want: 100, limit: 100 }, T);
      const told = await Promise.all(
        Array.from({ length: 20 }, async (_, n) => {
          const { usage } = stores[n % 2] ?? on.store;
          return (await usage.lease(owner, MONTH, { want: 5, limit: 100 }, T)).passed;
        }),
      );
      expect(told.flat().toSorted((a, b) => a - b)).toEqual([80, 100]);
    });
  });

  describe('the days', () => {
    it('go down by refunds, also by those that are written before their charges', async () => {
      const owner = await given.account();
      for (const requests of [-2, 5]) await report(owner, { days: [{ day: DAY, requests }] });
      expect((await read(owner)).days).toEqual([{ day: DAY, requests: 3 }]);
      await given.store.usage.report(
        [-3, 1].map((requests) => reportOf(owner, { days: [{ day: DAY, requests }] })),
      );
      expect((await read(owner)).days).toEqual([{ day: DAY, requests: 1 }]);
    });

    it('of several accounts and months come in one report', async () => {
      const [owner, other] = [await given.account(), await given.account()];
      const december = { month: '2026-12', days: [{ day: '2026-12-31', requests: 5 }] };
      await given.store.usage.report([
        reportOf(owner, { days: [{ day: '2027-01-01', requests: 1 }] }),
        reportOf(other, { days: [{ day: '2027-01-01', requests: 2 }] }),
        reportOf(owner, december),
        reportOf(owner, { days: [{ day: '2027-01-01', requests: 3 }] }),
      ]);
      expect((await read(owner, '2026-12-31')).days).toEqual([
        { day: '2026-12-31', requests: 5 },
        { day: '2027-01-01', requests: 4 },
      ]);
      expect((await read(other, '2026-12-31')).days).toEqual([{ day: '2027-01-01', requests: 2 }]);
    });

    it('a report that cannot be written as a whole changes nothing', async () => {
      const owner = await given.account();
      await lease(owner, 90);
      const days = [{ day: DAY, requests: 3 }];
      const broken = reportOf(owner, { days: [{ day: undefined as unknown as string, requests: 1 }] });
      const all = [reportOf(owner, { days, returned: 5 }), broken];
      await expect(given.store.usage.report(all)).rejects.toThrow();
      expect(await read(owner)).toEqual({ taken: 90, passed: { 80: null, 100: null }, days: [] });
    });

    it('are swept when they are older than 400 days, and their month when it is over as long', async () => {
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
      expect(await upkeep.sweep(T + USAGE_KEPT_MS, 10)).toBe(0);
      expect(await upkeep.sweep(T + USAGE_KEPT_MS + 2 * DAY_MS, 1)).toBe(1);
      expect(await upkeep.sweep(T + USAGE_KEPT_MS + 2 * DAY_MS, 10)).toBe(1);
      expect(await left()).toEqual({ taken: 9, days: ['2027-01-17'] });
      expect(await upkeep.sweep(T + USAGE_KEPT_MS + 16 * DAY_MS, 10)).toBe(1);
      expect(await left()).toEqual({ taken: 9, days: [] });
      expect(await upkeep.sweep(T + USAGE_KEPT_MS + 17 * DAY_MS, 10)).toBe(1);
      expect(await left()).toEqual({ taken: 0, days: [] });
    });
  });
}
