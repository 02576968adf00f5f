import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { NewestPage } from '../../../../src/messages/records.ts';
import { runs } from '../../../support/form.ts';
import { everything, mailTo, onlyPlaced, T } from '../../builders.ts';
import type { Given } from '../suite.ts';

/** What the contract promises about lists over all inboxes of an account. */
export function describeAccountPages(given: Given): void {
  const idsOf = ({ messages }: NewestPage): string[] => messages.map(({ id }) => id);

  describe('the newest messages of an account', () => {
    it('come in the reverse order of their commits, over all its live inboxes, with their summaries', async () => {
      const owner = await given.account();
      const [a, b] = [await given.inbox(owner), await given.inbox(owner)];
      const stranger = await given.inbox(await given.account());
      const ids: string[] = [];
      for (const [n, inbox] of [a, b, a, b, b].entries()) {
        ids.unshift((await onlyPlaced(given.store, mailTo([inbox], { subject: `${n}` }), T)).messageId);
        await onlyPlaced(given.store, mailTo([stranger]), T);
      }
      const page = await given.store.messages.listNewest(owner, everything, T);
      expect(idsOf(page)).toEqual(ids);
      expect(page).toMatchObject({ isComplete: true, time: page.messages.at(-1)?.receivedAt });
      expect(page.messages.map(({ summary }) => JSON.parse(summary).subject)).toEqual([
        '4',
        '3',
        '2',
        '1',
        '0',
      ]);
      expect(page.messages.map(({ inboxId }) => inboxId)).toEqual([b, b, a, b, a].map(({ id }) => id));
      const orders = page.messages.map(({ accountOrder }) => accountOrder);
      expect(orders).toEqual(orders.toSorted((one, other) => other - one));
      expect(await given.store.messages.newestInAccount(owner)).toBe(orders[0]);
      const [newest = 0, , , oldest = 0] = orders;
      const between = { after: oldest, before: newest, limit: 9 };
      expect(idsOf(await given.store.messages.listNewest(owner, between, T))).toEqual(ids.slice(1, 3));
      expect(idsOf(await given.store.messages.search({ accountId: owner }, [], between, T))).toEqual(
        ids.slice(1, 3),
      );
    });

    it('are looked at up to the limit, those of ended and emptied inboxes too, which are not shown', async () => {
      const owner = await given.account();
      const live = await given.inbox(owner);
      const [expired, deleted, emptied] = [
        await given.inbox(owner, { expiresAt: T + 5 }),
        await given.inbox(owner),
        await given.inbox(owner),
      ];
      const { messageId: oldest } = await onlyPlaced(given.store, mailTo([live]), T);
      for (const inbox of [expired, expired, deleted, emptied]) {
        await onlyPlaced(given.store, mailTo([inbox]), T);
      }
      await given.store.inboxes.delete(owner, deleted.id, T);
      await given.store.messages.deleteAll(emptied.id, T);
      const { messages } = given.store;
      let page = await messages.listNewest(owner, { ...everything, limit: 2 }, T + 5);
      for (const _ of ['the deleted and the emptied inbox', 'the expired one']) {
        expect(page).toMatchObject({ messages: [], isComplete: false });
        page = await messages.listNewest(owner, { ...everything, before: page.place, limit: 2 }, T + 5);
      }
      expect([idsOf(page), page.isComplete]).toEqual([[oldest], true]);
      expect(idsOf(await messages.search({ accountId: owner }, [], everything, T + 5))).toEqual([oldest]);
    });

    it('are none of an unknown account, and none of one without mail', async () => {
      for (const accountId of ['acc_unknown', await given.account()]) {
        const none = { messages: [], isComplete: true };
        expect(await given.store.messages.listNewest(accountId, everything, T)).toMatchObject(none);
        expect(await given.store.messages.search({ accountId }, [], everything, T)).toMatchObject(none);
        expect(await given.store.messages.newestInAccount(accountId)).toBe(0);
      }
    });

    it('stay counted when they are deleted', async () => {
      const owner = await given.account();
      const inbox = await given.inbox(owner);
      await onlyPlaced(given.store, mailTo([inbox]), T);
      const newest = await given.store.messages.newestInAccount(owner);
      await given.store.messages.deleteAll(inbox.id, T);
      expect(await given.store.messages.newestInAccount(owner)).toBe(newest);
    });
  });

  describe('a place in the order of an account', () => {
    it('by its time is the last one before every newer message, whatever the times are', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.record({ step: fc.integer({ min: -20_000, max: 90_000 }), keep: fc.boolean() }), {
            maxLength: 25,
          }),
          fc.integer({ min: -100_000, max: 1_500_000 }),
          async (steps, asked) => {
            const owner = await given.account();
            const times: { order: number; receivedAt: number }[] = [];
            let now = T;
            for (const { step, keep } of steps) {
              now += step;
              // An inbox for each, so that each has the time of the clock.
              const inbox = await given.inbox(owner);
              const { messageId, receivedAt } = await onlyPlaced(given.store, mailTo([inbox]), now);
              const order = await given.store.messages.newestInAccount(owner);
              if (keep) times.push({ order, receivedAt });
              else await given.store.messages.delete(inbox.id, messageId, now);
            }
            const newest = await given.store.messages.newestInAccount(owner);
            const place = await given.store.messages.placeInAccount(owner, T + asked);
            const newer = times.filter(({ receivedAt }) => receivedAt > T + asked);
            expect(place).toBe(Math.min(newest, (newer[0]?.order ?? Number.POSITIVE_INFINITY) - 1));
          },
        ),
        runs(12, 100),
      );
    });
  });
}
