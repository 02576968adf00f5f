import { describe, expect, it } from 'vitest';
import { newId } from '../../../src/ids.ts';
import { T } from '../builders.ts';
import type { Given } from './suite.ts';

const MINUTE = 60_000;

/** Limits that all nodes keep together. */
export function describeLimits(given: Given): void {
  describe('limits of several nodes', () => {
    const account = () => newId('acc', T);

    it('divide by the nodes that are alive: those that were seen and did not leave', async () => {
      const { store } = await given.fresh();
      const { nodes } = store;
      expect(await nodes.beat('one', T)).toBe(1);
      expect(await nodes.beat('two', T)).toBe(2);
      expect(await nodes.beat('one', T)).toBe(2);
      await nodes.leave('two', T);
      expect(await nodes.beat('one', T)).toBe(1);
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
        if (full) expect(full.waitMs).toBeGreaterThan(10 * MINUTE - 20_000);
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
