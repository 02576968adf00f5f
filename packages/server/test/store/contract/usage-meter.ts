import { pino } from 'pino';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/errors.ts';
import { newId } from '../../../src/ids.ts';
import type { Store } from '../../../src/store.ts';
import { type Charge, UsageMeter } from '../../../src/usage/usage-meter.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import type { Given, Opened } from './suite.ts';

const QUOTA = 1_000;
/** A hundredth of it. */
const BLOCK = 10;
const [MARCH, APRIL] = ['2026-03', '2026-04'];
const IDLE_MS = 60_000;

/** What nodes promise about the quota and the counts of accounts, on a storage that they share. */
export function describeUsageMeter(given: Given): void {
  let on: Opened;
  let clock: FakeClock;
  let owner: string;
  let isDown: boolean;
  let logged: { msg: string; percent?: number }[];

  beforeAll(async () => {
    on = await given.freshServer('forAll');
  });
  beforeEach(async () => {
    clock = new FakeClock();
    logged = [];
    isDown = false;
    owner = newId('acc', clock.now());
    await on.store.accounts.create({ id: owner, name: 'a', plan: 'free', createdAt: clock.now() }, null);
  });

  /** @param changed what replaces methods of the real store */
  function meterOn(store: Store = on.store, changed: Partial<Store['usage']> = {}): UsageMeter {
    const log = pino({ level: 'trace' }, { write: (line: string) => logged.push(JSON.parse(line)) });
    const all = { ...store.usage, ...changed };
    const unlessDown =
      <A extends unknown[], R>(method: (...args: A) => Promise<R>) =>
      async (...args: A): Promise<R> => {
        if (isDown) throw new AppError('unavailable', 'The storage is down.');
        return method(...args);
      };
    const usage = { ...all, lease: unlessDown(all.lease), report: unlessDown(all.report) };
    return new UsageMeter({ store: { keys: store.keys, usage }, clock, log });
  }

  async function charge(meter: UsageMeter, times: number, limit = QUOTA): Promise<Charge[]> {
    return Promise.all(Array.from({ length: times }, async () => meter.charge(owner, limit)));
  }

  /** The code that a request is refused with; 'charged' when it is not. */
  const told = async (meter: UsageMeter, limit = QUOTA): Promise<string> => {
    try {
      await meter.charge(owner, limit);
      return 'charged';
    } catch (error) {
      return error instanceof AppError ? error.code : String(error);
    }
  };

  /** Fifty clients ask on all these meters until each is refused. @returns how many requests got through */
  async function exhaust(meters: UsageMeter[], limit = QUOTA): Promise<number> {
    const clients = Array.from({ length: 50 }, async (_, n) => {
      const meter = meters[n % meters.length] as UsageMeter;
      let through = 0;
      // These stores wait for a lock so shortly that even the other node's commit may be too long.
      let patience = 100;
      for (;;) {
        const answer = await told(meter, limit);
        if (answer === 'charged') through++;
        else if (answer === 'unavailable' && patience > 0) patience--;
        else {
          expect(answer).toBe('quota_exceeded');
          return through;
        }
      }
    });
    return (await Promise.all(clients)).reduce((sum, one) => sum + one, 0);
  }

  const month = async (name = MARCH) => on.store.usage.read(owner, name, '2026-01-01');
  const dayCounts = async () =>
    Object.fromEntries((await month()).days.map((one) => [one.day, one.requests]));

  async function whileDown(work: () => Promise<void>): Promise<void> {
    isDown = true;
    await work();
    isDown = false;
  }

  describe('a quota', () => {
    it('can be used in full and is never exceeded, by one node or by two on one database', async () => {
      expect(await exhaust([meterOn()])).toBe(QUOTA);
      await clock.advance(Date.UTC(2026, 3) - clock.now());
      const nodes = [meterOn(), meterOn(await on.openAnother())];
      expect(await exhaust(nodes)).toBe(QUOTA);
      expect((await month(APRIL)).taken).toBe(QUOTA);
    });

    it('is not lost in leases that another node does not use: they are returned', async () => {
      const [quiet, busy] = [meterOn(), meterOn(await on.openAnother())];
      await charge(quiet, 1);
      const first = await exhaust([busy]);
      expect(first).toBe(QUOTA - BLOCK);
      await clock.advance(IDLE_MS);
      await quiet.report();
      expect(await exhaust([busy])).toBe(BLOCK - 1);
    });

    it('loses at most one block when a node is killed', async () => {
      const dying = meterOn();
      let used = 0;
      for (let crash = 0; crash < 5; crash++) {
        const node = crash === 0 ? dying : meterOn();
        used += (await charge(node, 7 + crash)).length;
      }
      const rest = await exhaust([meterOn()]);
      expect(used + rest).toBeLessThanOrEqual(QUOTA);
      expect(used + rest).toBeGreaterThanOrEqual(QUOTA - 5 * BLOCK);
    });

    it('loses nothing when a node stops, whatever it was doing', async () => {
      let used = 0;
      for (let stop = 0; stop < 5; stop++) {
        const node = meterOn();
        used += (await charge(node, 8)).length;
        await node.stop();
        expect((await month()).taken).toBe(used);
      }
      expect(used + (await exhaust([meterOn()]))).toBe(QUOTA);
    });

    it('needs no write for a single request', async () => {
      let writes = 0;
      const { lease, report } = on.store.usage;
      const counted = <A extends unknown[], R>(method: (...args: A) => R) => {
        return (...args: A): R => {
          writes++;
          return method(...args);
        };
      };
      const node = meterOn(on.store, { lease: counted(lease), report: counted(report) });
      await charge(node, 4_990, 100_000);
      await node.report();
      expect(writes).toBeLessThanOrEqual(7);
      // Answers that cost nothing leave nothing to tell.
      writes = 0;
      for (let i = 0; i < 100; i++) node.refund(await node.charge(owner, 100_000));
      await node.report();
      expect(writes).toBe(0);
    });
  });

  describe('a new month', () => {
    beforeEach(() => clock.advance(Date.UTC(2026, 3) - 1 - clock.now()));

    it('returns the unused request of the old month to the old month', async () => {
      const node = meterOn();
      const [, free] = await charge(node, 2);
      await clock.advance(1);
      await charge(node, 1);
      if (free) node.refund(free);
      await node.report();
      expect(await month()).toMatchObject({ taken: 1 });
      expect(await dayCounts()).toEqual({ '2026-03-31': 1, '2026-04-01': 1 });
      expect(node.standing(owner, QUOTA)).toEqual({ remaining: QUOTA - 1, resetAt: Date.UTC(2026, 4) });
    });

    it('counts a request whose lease was pending at midnight in the new month, and neither month loses any', async () => {
      const node = meterOn();
      const asked = charge(node, 3);
      // Its lease is with the store, and is answered after midnight.
      await clock.advance(1);
      expect((await asked).map((one) => one.account.month)).toEqual([APRIL, APRIL, APRIL]);
      await node.stop();
      expect([(await month()).taken, (await month(APRIL)).taken]).toEqual([0, 3]);
    });
  });

  describe('a change of plan in mid-month', () => {
    it('to a larger one allows the difference at once', async () => {
      const node = meterOn();
      expect(await exhaust([node])).toBe(QUOTA);
      expect(await exhaust([node], 1_500)).toBe(500);
      expect(await told(node, Number.POSITIVE_INFINITY)).toBe('charged');
    });

    it('to a smaller one leaves exactly what the smaller one has left, also of earlier leases', async () => {
      const node = meterOn();
      // A block of the large plan is larger than all of the small one.
      await charge(node, 30, 100_000);
      expect(await exhaust([node], 50)).toBe(20);
      expect(node.standing(owner, 50).remaining).toBe(0);
      expect(await told(node, 10)).toBe('quota_exceeded');
    });

    it('from no quota to a quota counts what was used before', async () => {
      const node = meterOn();
      await charge(node, 1_200, Number.POSITIVE_INFINITY);
      expect(await told(node)).toBe('quota_exceeded');
      expect(await exhaust([node], 1_300)).toBe(100);
    });

    it('does not let the smaller plan use what is returned to the larger one', async () => {
      const node = meterOn();
      const [free] = await charge(node, 60, 100);
      expect(await told(node, 50)).toBe('quota_exceeded');
      if (free) node.refund(free);
      expect(await told(node, 50)).toBe('quota_exceeded');
      expect(await exhaust([node], 100)).toBe(41);
    });
  });

  describe('a store that is unavailable', () => {
    it('makes requests fail with 503, not free of charge, when no lease is possible', async () => {
      const node = meterOn();
      const used = (await charge(node, 2)).length;
      let through = used;
      await whileDown(async () => {
        for (let i = 0; i < 50; i++) {
          const answer = await told(node);
          if (answer === 'charged') through++;
          else expect(answer).toBe('unavailable');
        }
      });
      // What was leased before was used up meanwhile.
      expect(through).toBe(BLOCK);
      expect(through + (await exhaust([node]))).toBe(QUOTA);
    });

    it('delays the counts of days and counts no request twice', async () => {
      const node = meterOn();
      await charge(node, 25);
      await whileDown(() => node.report());
      expect(logged.map(({ msg }) => msg)).toContain('Usage could not be written and will be written later');
      expect(await dayCounts()).toEqual({});
      await charge(node, 5);
      await node.report();
      await node.report();
      expect(await dayCounts()).toEqual({ '2026-03-04': 30 });
      expect(25 + 5 + (await exhaust([node]))).toBe(QUOTA);
    });

    it('never returns a lease twice, even when only the answer was lost', async () => {
      let isLost = true;
      const node = meterOn(on.store, {
        report: async (...args) => {
          const answer = await on.store.usage.report(...args);
          if (isLost) throw new AppError('outcome_unknown', 'the writer thread died after its commit');
          return answer;
        },
      });
      await charge(node, 5);
      await clock.advance(IDLE_MS);
      await node.report();
      expect((await month()).taken).toBe(5);
      isLost = false;
      await node.report();
      expect((await month()).taken).toBe(5);
      expect(5 + (await exhaust([node]))).toBe(QUOTA);
    });

    it('drops the requests of a lease when it is unknown whether they were returned', async () => {
      let isLost = true;
      const node = meterOn(on.store, {
        report: (...args) =>
          isLost
            ? Promise.reject(new AppError('outcome_unknown', 'the writer thread died before its commit'))
            : on.store.usage.report(...args),
      });
      await charge(node, 5);
      await clock.advance(IDLE_MS);
      await node.report();
      isLost = false;
      await node.report();
      expect(await dayCounts()).toEqual({ '2026-03-04': 5 });
      expect(5 + (await exhaust([node]))).toBe(QUOTA - (BLOCK - 5));
    });
  });

  describe('thresholds', () => {
    it('are reported once, by the first request beyond', async () => {
      const node = meterOn();
      const percents = () => logged.flatMap(({ percent }) => percent ?? []);
      const steps: [requests: number, percents: number[]][] = [
        [800, []],
        [1, [80]],
        [199, [80]],
      ];
      for (const [times, told] of steps) {
        await charge(node, times);
        await node.report();
        expect(percents()).toEqual(told);
      }
      await exhaust([node]);
      expect(percents()).toEqual([80, 100]);
    });
  });
}
