import { pino } from 'pino';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/errors.ts';
import { newId } from '../../../src/ids.ts';
import type { Store } from '../../../src/store.ts';
import { type Charge, UsageMeter } from '../../../src/usage/usage-meter.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { accountAt } from '../builders.ts';
import type { Given, Opened } from './suite.ts';

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
    /** @param changed what replaces methods of the real store */
    meterOn(store: Store = on.store, changed: Partial<Store['usage']> = {}): UsageMeter {
      const log = pino({ level: 'trace' }, { write: (line: string) => use.logged.push(JSON.parse(line)) });
      const all = { ...store.usage, ...changed };
      const unlessDown =
        <A extends unknown[], R>(method: (...args: A) => Promise<R>) =>
        async (...args: A): Promise<R> => {
          if (use.isDown) throw new AppError('unavailable', 'The storage is down.');
          return method(...args);
        };
      const usage = { ...all, lease: unlessDown(all.lease), report: unlessDown(all.report) };
      return new UsageMeter({ store: { keys: store.keys, usage }, clock: use.clock, log });
    },
    meterOfAnotherProcess: async () => use.meterOn(await on.openAnother()),
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
    Object.assign(use, { clock: new FakeClock(), logged: [], isDown: false });
    const createdAt = use.clock.now();
    owner = newId('acc', createdAt);
    await on.store.accounts.create({ ...accountAt(createdAt), id: owner }, null);
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
      await use.clock.advance(Date.UTC(2026, 3) - use.clock.now());
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
      let writes = 0;
      const { lease, report } = use.stored();
      const counted =
        <A extends unknown[], R>(method: (...args: A) => R) =>
        (...args: A): R => {
          writes++;
          return method(...args);
        };
      const node = meterOn(undefined, { lease: counted(lease), report: counted(report) });
      await charge(node, 4_990, 100_000);
      await node.report();
      expect(writes).toBeLessThanOrEqual(7);
      // Responses that cost nothing leave nothing to report.
      writes = 0;
      for (let i = 0; i < 100; i++) for (const free of await charge(node, 1, 100_000)) node.refund(free);
      await node.report();
      expect(writes).toBe(0);
    });

    it('returns the unused request of the old month to the old month', async () => {
      await use.clock.advance(Date.UTC(2026, 3) - 1 - use.clock.now());
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
      await use.clock.advance(Date.UTC(2026, 3) - 1 - use.clock.now());
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
      expect(use.logged.map(({ msg }) => msg)).toContain(
        'Usage could not be written and will be written later',
      );
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
      const node = meterOn(undefined, {
        report: async (...args) => {
          if (isStored || !isUnknown) await report(...args);
          if (isUnknown) throw new AppError('outcome_unknown', 'The writer thread died.');
        },
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
