import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runs } from '../../support/form.ts';
import { everything, mailTo, onlyPlaced, placedIn, T } from '../builders.ts';
import type { Given } from './suite.ts';

const idsOf = (messages: readonly { id: string }[]): string[] => messages.map(({ id }) => id);

/** The order of the messages of an inbox, and that of an account over all its inboxes. */
export function describeOrder(given: Given): void {
  it('an inbox lists what came after a time oldest first, page by page', async () => {
    const { store, inbox } = await given.place();
    await store.messages.addBatch(
      Array.from({ length: 7 }, () => mailTo([inbox])),
      T,
    );
    const list = (after: number) => store.messages.listAfter(inbox.id, { after, limit: 3 }, T);
    const pages = [await list(0), await list(T + 2), await list(T + 5), await list(T + 6)];
    const times = pages.map((page) => page.map(({ receivedAt }) => receivedAt - T));
    expect(times).toEqual([[0, 1, 2], [3, 4, 5], [6], []]);
    const newestFirst = await store.messages.listRows(inbox.id, everything, T);
    expect(idsOf(await store.messages.listAfter(inbox.id, everything, T))).toEqual(
      idsOf(newestFirst).toReversed(),
    );
  });

  describe('the order of an account', () => {
    it('is that of the commits, across inboxes and batches, for every list', async () => {
      const { store, owner, inbox: a } = await given.place();
      const { messages } = store;
      const b = await given.inbox(owner);
      const stranger = await given.inbox(await given.account());
      const subjects = ['1', '2', '3', '4', '5', '6'];
      const to = (subject: string) => mailTo([Number(subject) % 2 ? a : b], { subject });
      await messages.addBatch([...subjects.slice(0, 4).map(to), mailTo([stranger])], T);
      // The clock may go back; the order does not.
      await messages.addBatch(subjects.slice(4).map(to), T - 5000);

      const oldestFirst = await messages.listByAccount(owner, everything, T);
      expect(oldestFirst.map(({ summary }) => summary.subject)).toEqual(subjects);
      expect(oldestFirst.map(({ inboxId }) => inboxId)).toEqual([a, b, a, b, a, b].map(({ id }) => id));
      const orders = oldestFirst.map(({ accountOrder }) => accountOrder);
      expect(orders).toEqual([...new Set(orders)].toSorted((x, y) => x - y));
      const [first = 0, second = 0, , fourth = 0] = orders;
      expect(await messages.listByAccount(owner, { after: second, limit: 2 }, T)).toEqual(
        oldestFirst.slice(2, 4),
      );

      const newestFirst = await messages.listNewest(owner, everything, T);
      expect(idsOf(newestFirst.messages)).toEqual(idsOf(oldestFirst).toReversed());
      expect(newestFirst).toMatchObject({ isComplete: true, time: newestFirst.messages.at(-1)?.receivedAt });
      expect(newestFirst.messages.map(({ summary }) => JSON.parse(summary).subject)).toEqual(
        subjects.toReversed(),
      );
      expect(await messages.newestInAccount(owner)).toBe(orders.at(-1));
      const between = { after: first, before: fourth, limit: 9 };
      for (const page of [
        await messages.listNewest(owner, between, T),
        await messages.search({ accountId: owner }, [], between, T),
      ])
        expect(idsOf(page.messages)).toEqual(idsOf(oldestFirst.slice(1, 3)).toReversed());
    });

    it('gives one mail to several inboxes a place in each, and one to each account', async () => {
      const { store, owner, inbox } = await given.place();
      const other = await given.place();
      const second = await given.inbox(owner);
      await onlyPlaced(store, mailTo([inbox, other.inbox, second]), T);
      const listed = await store.messages.listByAccount(owner, everything, T);
      expect(new Set(listed.map(({ inboxId }) => inboxId))).toEqual(new Set([inbox.id, second.id]));
      expect(new Set(listed.map(({ accountOrder }) => accountOrder)).size).toBe(2);
      expect(await store.messages.listByAccount(other.owner, everything, T)).toMatchObject([
        { inboxId: other.inbox.id },
      ]);
    });

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

    it('has messages of ended and emptied inboxes, which count against the limit of a page and are not shown', async () => {
      const { store, owner, inbox } = await given.place();
      const { messages } = store;
      const expired = await given.inbox(owner, { expiresAt: T + 5 });
      const [deleted, emptied] = [await given.inbox(owner), await given.inbox(owner)];
      const placed = await messages.addBatch(
        [inbox, expired, expired, deleted, emptied].map((to) => mailTo([to])),
        T,
      );
      const oldest = placedIn(placed[0]?.[0]).messageId;
      await store.inboxes.delete(owner, deleted.id, T);
      await messages.deleteAll(emptied.id, T);
      let page = await messages.listNewest(owner, { ...everything, limit: 2 }, T + 5);
      for (const _ of ['the deleted and the emptied inbox', 'the expired one']) {
        expect(page).toMatchObject({ messages: [], isComplete: false });
        page = await messages.listNewest(owner, { ...everything, before: page.place, limit: 2 }, T + 5);
      }
      expect(page).toMatchObject({ messages: [{ id: oldest }], isComplete: true });
      const found = await messages.search({ accountId: owner }, [], everything, T + 5);
      expect(idsOf(found.messages)).toEqual([oldest]);
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
