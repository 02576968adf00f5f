import { describe, expect, it } from 'vitest';
import { newId } from '../../../src/ids.ts';
import { T } from '../builders.ts';
import type { Given } from './suite.ts';

const MINUTE = 60_000;
/** PostgreSQL has a clock of its own, which goes on while a test runs. */
const SLACK_MS = 20_000;

/** Limits that all nodes keep together. */
export function describeLimits(given: Given): void {
  describe('limits of several nodes', () => {
    const account = () => newId('acc', T);
    const use = async (accountId: string, refillMs: number, sinceMs = 0) => {
      const [level] = await given.store.limits.use([{ accountId, refillMs, sinceMs }], T);
      return level?.fullInMs ?? -1;
    };

    it('add up the uses of all nodes, and read without using', async () => {
      const one = account();
      expect(await use(one, 0)).toBe(0);
      expect(await use(one, 100_000)).toBe(100_000);
      const both = await use(one, 200_000);
      expect(both).toBeGreaterThan(300_000 - SLACK_MS);
      expect(both).toBeLessThanOrEqual(300_000);
      const read = await use(one, 0);
      expect(read).toBeGreaterThan(both - SLACK_MS);
      expect(read).toBeLessThanOrEqual(both);
      expect(await use(account(), 0)).toBe(0);
    });

    it('let a bucket refill from the first use on that is reported', async () => {
      const one = account();
      expect(await use(one, 100_000, 40_000)).toBe(60_000);
      // It was not full then, so the time of this use does not matter.
      expect(await use(one, 100_000, 90_000)).toBeGreaterThan(160_000 - SLACK_MS);
      const other = account();
      expect(await use(other, 1_000, 40_000)).toBe(0);
    });

    it('count the uses of many accounts that nodes report at once', async () => {
      const accounts = Array.from({ length: 20 }, account);
      const report = (order: string[]) =>
        given.store.limits.use(
          order.map((accountId, n) => ({ accountId, refillMs: n % 3 === 0 ? 0 : 1_000_000, sinceMs: 0 })),
          T,
        );
      const reports = await Promise.all(
        [1, 2, 3, 4].map((n) => report(n % 2 ? accounts : accounts.toReversed())),
      );
      for (const levels of reports) {
        expect(levels.map(({ accountId }) => accountId).sort()).toEqual([...accounts].sort());
      }
      const levels = await given.store.limits.use(
        accounts.map((accountId) => ({ accountId, refillMs: 0, sinceMs: 0 })),
        T,
      );
      const total = levels.reduce((sum, { fullInMs }) => sum + fullInMs, 0);
      // In each order the same number of accounts is only read.
      const used = 4 * 13 * 1_000_000;
      expect(total).toBeLessThanOrEqual(used);
      expect(total).toBeGreaterThan(used - 20 * SLACK_MS);
    });

    it('admit exactly as many events as a window has room for, however many come at once', async () => {
      const key = `sign-ups ${account()}`;
      const another = await given.freshServer();
      const window = { key, limit: 5, windowMs: 10 * MINUTE };
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => given.store.limits.admit([window], T)),
      );
      expect(answers.filter((answer) => answer === null)).toHaveLength(5);
      for (const full of answers) {
        if (full) expect(full.key).toBe(key);
        if (full) expect(full.waitMs).toBeGreaterThan(10 * MINUTE - SLACK_MS);
        if (full) expect(full.waitMs).toBeLessThanOrEqual(10 * MINUTE);
      }
      expect(await another.store.limits.admit([window], T)).toBeNull();
    });

    it('count an event under no window when one of them is full', async () => {
      const [all, one] = [
        { key: account(), limit: 3, windowMs: MINUTE },
        { key: account(), limit: 1, windowMs: MINUTE },
      ];
      const { limits } = given.store;
      expect(await limits.admit([all, one], T)).toBeNull();
      expect(await limits.admit([all, one], T)).toMatchObject({ key: one.key });
      expect(await limits.admit([all, one], T)).toMatchObject({ key: one.key });
      const other = { ...one, key: account() };
      expect(await limits.admit([all, other], T)).toBeNull();
      expect(await limits.admit([all, { ...one, key: account() }], T)).toBeNull();
      expect(await limits.admit([all, { ...one, key: account() }], T)).toMatchObject({ key: all.key });
    });
  });
}
