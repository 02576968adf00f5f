import { describe, expect, it } from 'vitest';
import { USAGE_KEPT_MS } from '../../../src/usage/sql.ts';
import {
  DAY,
  everything,
  inboxAt,
  mailsTo,
  mailTo,
  onlyPlaced,
  placedIn,
  rawOf,
  refusalOf,
  sweepAll,
  T,
  ttl,
  withMore,
} from '../builders.ts';
import { TABLES } from '../sqlite/open-sqlite.ts';
import { SHOWING, showingMethods } from './reading-methods.ts';
import type { Given, Opened } from './suite.ts';

const EMPTY = Object.fromEntries(TABLES.map((table) => [table, 0]));

/** Expiry and deletion of inboxes, and the sweeper. */
export function describeEnds(given: Given): void {
  describe('an inbox that expired', () => {
    it.each(['by itself', 'because its expiry was set to now'])(
      '%s is shown by no method, in any process, though it was not swept',
      async (how) => {
        const on = await given.fresh();
        const beside = await on.openAnother();
        const owner = await given.account(on);
        const end = T + 10;
        const expiresAt = how === 'by itself' ? end : end + 1000;
        const wish = inboxAt({ labels: { run: 'expiry' }, expiresAt });
        const { inbox } = await on.store.inboxes.create(owner, wish, 1, null);
        const { messageId } = await onlyPlaced(on.store, mailTo([inbox]), T);
        const shown = { owner, inbox, tokenHash: wish.tokenHash, messageId };
        const shows = showingMethods(on.store, shown);
        expect(Object.keys(shows).toSorted()).toEqual(SHOWING);
        for (const [method, isShown] of Object.entries(shows))
          expect([method, await isShown(end - 1)]).toEqual([method, true]);

        if (how !== 'by itself')
          await on.store.inboxes.setExpiry(owner, inbox.id, { ttlMinutes: 60, expiresAt: end }, end);
        for (const store of [on.store, beside]) {
          for (const [method, isShown] of Object.entries(showingMethods(store, shown)))
            expect([method, await isShown(end)]).toEqual([method, false]);
          expect(await store.inboxes.find(owner, inbox.id, end)).toMatchObject({ expiresAt: end });
          expect(await store.inboxes.setExpiry(owner, inbox.id, ttl(9), end)).toBeUndefined();
          expect(await store.inboxes.deleteByLabels(owner, { run: 'expiry' }, end)).toHaveLength(0);
          expect(await store.inboxes.delete(owner, inbox.id, end)).toBe(false);
          expect(await store.messages.delete(inbox.id, messageId, end)).toBe(false);
          const late = await store.messages.addBatch([mailTo([inbox])], end);
          expect(late).toMatchObject([[{ refused: 'gone' }]]);
        }
        // Its place of the plan is free.
        await on.store.inboxes.create(owner, inboxAt({ createdAt: end }), 1, null);
      },
    );
  });

  describe('a deletion', () => {
    it.each(['an inbox', 'all messages of an inbox'])(
      'of %s leaves nothing of it, and all of its neighbours, also a mail that both have',
      async (what) => {
        const { on, store, owner, inbox: neighbour } = await given.place('fresh');
        await onlyPlaced(store, mailTo([neighbour]), T);
        const empty = await on.counts();
        const wish = inboxAt({ labels: { run: '1' } });
        const { inbox } = await store.inboxes.create(owner, wish, 10, null);
        const withInbox = await on.counts();
        const mails = mailsTo(250, [inbox], { raw: new Uint8Array(9000) });
        const placed = await store.messages.addBatch([...mails, mailTo([neighbour, inbox])], T);
        await onlyPlaced(store, mailTo([inbox], { raw: new Uint8Array(3_000_000) }), T);

        const isInbox = what === 'an inbox';
        const remove = () =>
          isInbox ? store.inboxes.delete(owner, inbox.id, T) : store.messages.deleteAll(inbox.id, T);
        expect(await remove()).toBe(true);
        expect(await store.messages.listRows(inbox.id, everything, T)).toEqual([]);
        if (isInbox) {
          expect(await store.inboxes.find(owner, inbox.id, T)).toBeUndefined();
          expect(await store.inboxes.findByToken(wish.tokenHash, T)).toBeUndefined();
          expect(await remove()).toBe(false);
        }
        await sweepAll(store, T);
        // The address stays in quarantine; reports show the inbox.
        const left = isInbox ? withMore(empty, { addresses: 1, deleted_inboxes: 1 }) : withInbox;
        const shared = { messages: 1, sources: 1, readings: 1, shared_sources: 1 };
        expect(await on.counts()).toEqual(withMore(left, shared));
        expect(await store.messages.listRows(neighbour.id, everything, T)).toHaveLength(2);
        const { messageId } = placedIn(placed.at(-1)?.[0]);
        expect((await rawOf(store, neighbour.id, messageId, T)).length).toBeGreaterThan(0);
      },
    );

    it('of a large account lets other calls in between', async () => {
      const { on, store, owner, inbox: large } = await given.place('fresh');
      const other = await given.inbox(await given.account(on), {}, on);
      await store.messages.addBatch(mailsTo(2000, [large], { maxMessages: 9999 }), T);
      // So that no call has to open a connection first.
      await Promise.all([1, 2, 3].map(() => store.accounts.find(owner)));
      const order: string[] = [];
      await Promise.all([
        store.accounts.delete(owner, T).then(() => order.push('deleted')),
        onlyPlaced(store, mailTo([other]), T).then(() => order.push('received')),
      ]);
      expect(order).toEqual(['received', 'deleted']);
    });
  });

  describe('an inbox whose emptying was stopped after its first step', () => {
    const stopped = async () => {
      const { on, store, owner } = await given.place('fresh');
      const wish = inboxAt({ expiresAt: T + 1000 });
      const { inbox } = await store.inboxes.create(owner, wish, 10, null);
      await store.messages.addBatch(mailsTo(300, [inbox]), T);
      const { messageId } = await onlyPlaced(store, mailTo([inbox]), T);
      // What the first transaction of deleteAll leaves, when the process ends right after it.
      const left = 'emptied_up_to = last_received_at, message_count = 0';
      await on.sql(`update inboxes set ${left} where id = '${inbox.id}'`);
      return { on, store, owner, inbox, tokenHash: wish.tokenHash, messageId };
    };

    it('shows none of its messages by any method, though nothing was freed', async () => {
      const { on, store, inbox, messageId, ...rest } = await stopped();
      for (const [method, isShown] of Object.entries(showingMethods(store, { inbox, messageId, ...rest })))
        expect([method, await isShown(T)]).toEqual([method, method.startsWith('inboxes.')]);
      expect(await store.messages.delete(inbox.id, messageId, T)).toBe(false);
      expect(await on.counts()).toMatchObject({ messages: 301 });
    });

    it('is freed by the sweeper in steps, and keeps what arrived later', async () => {
      const { on, store, inbox } = await stopped();
      const later = await onlyPlaced(store, mailTo([inbox]), T);
      const freed = await sweepAll(store, T, 50);
      expect(freed.length).toBeGreaterThan(5);
      expect(Math.max(...freed)).toBeLessThan(60);
      expect(await on.counts()).toMatchObject({ messages: 1, sources: 1 });
      expect(await store.messages.listRows(inbox.id, everything, T)).toMatchObject([{ id: later.messageId }]);
      expect(await store.upkeep.sweep(T, 50)).toBe(0);
    });

    it.each([
      ['expire', 1000],
      ['be emptied again', 0],
    ])('may %s before it was freed, and leaves nothing', async (how, after) => {
      const { on, store, inbox } = await stopped();
      if (how !== 'expire') expect(await store.messages.deleteAll(inbox.id, T)).toBe(true);
      await sweepAll(store, T + after);
      expect(await on.counts()).toMatchObject({ messages: 0, sources: 0 });
      expect(await store.upkeep.sweep(T + after, 50)).toBe(0);
    });
  });

  describe('the sweeper', () => {
    /** One of everything that ends. */
    async function fill(on: Opened): Promise<void> {
      const { store } = on;
      const owner = await given.account(on);
      const request = { keyHash: 'k', bodyHash: 'b', nonce: 'n' };
      await store.inboxes.create(owner, inboxAt({ labels: { a: 'b' } }), 10, request);
      const catchAll = { kind: 'catch-all', address: 'inbox@sub.mayfly.test' } as const;
      const [a, b] = [await given.inbox(owner, {}, on), await given.inbox(owner, catchAll, on)];
      await store.messages.addBatch(mailsTo(30, [a]), T);
      await onlyPlaced(store, mailTo([a, b], { raw: new Uint8Array(3_000_000) }), T);
      await store.addresses.hold(owner, 'held@mayfly.test', T + 5, T);
      await store.refusals.add([refusalOf('x@mayfly.test')]);
      const wait = { id: 'wai_1', accountId: owner, inboxId: a.id, endedAt: T, plain: '{}', content: '{}' };
      await store.waits.addExplained([wait]);
      await store.usage.lease(owner, '2027-01', { want: 9, limit: null }, T);
      const days = Array.from({ length: 15 }, (_, n) => ({ day: `2027-01-${n + 10}`, requests: 1 }));
      await store.usage.report([{ accountId: owner, month: '2027-01', returned: 0, days }]);
    }
    // No other end is later, but that a month is kept until its last day is old.
    const LONG_AFTER = T + USAGE_KEPT_MS + 31 * DAY;

    it('frees nothing before its time, and then everything, in small steps', async () => {
      const on = await given.fresh();
      await fill(on);
      const before = await on.counts();
      expect(await on.store.upkeep.sweep(T, 1000)).toBe(0);
      expect(await on.counts()).toEqual(before);
      const freed = await sweepAll(on.store, LONG_AFTER, 10);
      expect(freed.length).toBeGreaterThan(5);
      // A step may go beyond its limit by one large piece, not by a whole mail.
      expect(Math.max(...freed)).toBeLessThan(40);
      expect(await on.counts()).toEqual(EMPTY);
      expect(await on.store.upkeep.sweep(LONG_AFTER, 10)).toBe(0);
    });

    it('may run twice at the same time: both finish and nothing is left', async () => {
      const { on, store, owner, inbox } = await given.place('fresh');
      const raw = new Uint8Array(400_000);
      for (let i = 0; i < 6; i++) await onlyPlaced(store, mailTo([inbox], { raw }), T);
      await store.inboxes.delete(owner, inbox.id, T);
      await Promise.all([1, 2].map(() => sweepAll(store, LONG_AFTER, 5)));
      await sweepAll(store, LONG_AFTER, 50);
      expect(await on.counts()).toEqual(EMPTY);
    });
  });
}
