import { describe, expect, it } from 'vitest';
import { T } from '../builders.ts';
import type { Given } from './suite.ts';

/** Limits that all nodes keep together. */
export function describeLimits(given: Given): void {
  describe('limits of several nodes', () => {
    it('divide by the nodes that are alive: those that were seen and did not leave', async () => {
      const { store } = await given.fresh();
      const { nodes } = store;
      expect(await nodes.beat('one', T)).toBe(1);
      expect(await nodes.beat('two', T)).toBe(2);
      expect(await nodes.beat('one', T)).toBe(2);
      await nodes.leave('two', T);
      expect(await nodes.beat('one', T)).toBe(1);
    });
  });
}
