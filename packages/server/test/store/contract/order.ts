import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runs } from '../../support/form.ts';
import { everything, mailTo, onlyPlaced, T } from '../builders.ts';
import type { Given } from './suite.ts';

/** The order of the messages of an inbox, and that of an account over all its inboxes. */
export function describeOrder(given: Given): void {
  describe('the order of an account', () => {
    it('goes on behind a mail that was refused, and behind deleted ones', async () => {
      const { store, owner, inbox } = await given.place();
      const { messages } = store;
      expect(await messages.newestInAccount(owner)).toBe(0);
      await onlyPlaced(store, mailTo([inbox]), T);
      const first = await messages.newestInAccount(owner);
      await messages.deleteAll(inbox.id, T);
      expect(await messages.newestInAccount(owner)).toBe(first);
      await messages.addBatch([mailTo([inbox], { maxMessages: 0 })], T);
      await onlyPlaced(store, mailTo([inbox]), T);
      const [next, ...none] = await messages.listByAccount(owner, everything, T);
      expect(next?.accountOrder).toBeGreaterThan(first);
      expect(none).toEqual([]);
    });

    it('has as the place of a time the last one before every newer message, whatever the times are', async () => {
      const steps = fc.array(
        fc.record({ step: fc.integer({ min: -20_000, max: 90_000 }), keep: fc.boolean() }),
        {
          maxLength: 25,
        },
      );
      const { messages } = given.store;
      await fc.assert(
        fc.asyncProperty(steps, fc.integer({ min: -100_000, max: 1_500_000 }), async (steps, asked) => {
          const owner = await given.account();
          const times: { order: number; receivedAt: number }[] = [];
          let now = T;
          for (const { step, keep } of steps) {
            now += step;
            // An inbox for each, so that each has the time of the clock.
            const inbox = await given.inbox(owner);
            const { messageId, receivedAt } = await onlyPlaced(given.store, mailTo([inbox]), now);
            const order = await messages.newestInAccount(owner);
            if (keep) times.push({ order, receivedAt });
            else await messages.delete(inbox.id, messageId, now);
          }
          const newest = await messages.newestInAccount(owner);
          const place = await messages.placeInAccount(owner, T + asked);
          const newer = times.filter(({ receivedAt }) => receivedAt > T + asked);
          expect(place).toBe(Math.min(newest, (newer[0]?.order ?? Number.POSITIVE_INFINITY) - 1));
        }),
        runs(8, 100),
      );
    });
  });
}
