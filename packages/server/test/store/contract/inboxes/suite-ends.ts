import { describe, expect, it } from 'vitest';
import { TOMBSTONE_MS } from '../../../../src/inboxes/records.ts';
import { REFUSAL_KEPT_MS, type Refusal } from '../../../../src/refusals/sql.ts';
import { USAGE_KEPT_MS } from '../../../../src/usage/sql.ts';
import { everything, inboxAt, mailTo, onlyPlaced, sweepAll, T } from '../../builders.ts';
import { TABLES } from '../../sqlite/open-sqlite.ts';
import { SHOWING, showingMethods } from '../reading-methods.ts';
import type { Given, Opened } from '../suite.ts';

const EMPTY = Object.fromEntries(TABLES.map((table) => [table, 0]));

function refusalOf(address: string, changes: Partial<Refusal> = {}): Refusal {
  const rest = { mailFrom: 'a@b.c', helo: 'NUL \0', remoteAddress: '127.0.0.1' };
  return { at: T, address, reply: '550 5.1.1 no', ...rest, ...changes };
}

/** What the contract promises about the end of things. */
export function describeEnds(given: Given): void {
  describe('after its lifetime', () => {
    it('no reading method shows anything of an inbox, though nobody ever swept', async () => {
      const owner = await given.account();
      const wish = inboxAt({ expiresAt: T + 10, labels: { run: 'expiry' } });
      const { inbox } = await given.store.inboxes.create(owner, wish, 10, null);
      const { messageId } = await onlyPlaced(given.store, mailTo([inbox]), T);
      const { store } = given;
      const shows = showingMethods(store, { owner, inbox, tokenHash: wish.tokenHash, messageId });
      expect(Object.keys(shows).toSorted()).toEqual(SHOWING);
      for (const [method, alive] of Object.entries(shows)) {
        expect([method, await alive(T + 9), await alive(T + 10)]).toEqual([method, true, false]);
      }
      expect(await store.inboxes.deleteByLabels(owner, { run: 'expiry' }, T + 10)).toHaveLength(0);
      expect(await store.inboxes.delete(owner, inbox.id, T + 10)).toBe(false);
    });

    it('its owner finds a tombstone for 24 hours, swept or not, and then nothing', async () => {
      for (const swept of [false, true]) {
        const on = await given.fresh();
        const owner = await given.account(on);
        const wish = inboxAt({ expiresAt: T + 10, labels: { a: 'b' } });
        const { inbox } = await on.store.inboxes.create(owner, wish, 10, null);
        await onlyPlaced(on.store, mailTo([inbox]), T);
        const last = T + 10 + TOMBSTONE_MS - 1;
        if (swept) await sweepAll(on.store, last, 100);
        const { id, address, labels, expiresAt } = inbox;
        const tombstone = { id, address, labels, expiresAt };
        expect(await on.store.inboxes.find(owner, id, last)).toMatchObject(tombstone);
        expect(await on.store.inboxes.findByToken(wish.tokenHash, last)).toMatchObject(tombstone);
        expect(await on.store.inboxes.find(owner, id, last + 1)).toBeUndefined();
        expect(await on.store.inboxes.findByToken(wish.tokenHash, last + 1)).toBeUndefined();
      }
    });
  });

  describe('a delete', () => {
    it('of an inbox leaves no tombstone, token, message or source, and spares the neighbours', async () => {
      const on = await given.fresh();
      const owner = await given.account(on);
      const neighbour = await given.inbox(owner, { labels: { run: '2' } }, on);
      await onlyPlaced(on.store, mailTo([neighbour]), T);
      const before = await on.counts();
      const wish = inboxAt({ labels: { run: '1' } });
      const { inbox } = await on.store.inboxes.create(owner, wish, 10, null);
      const mails = Array.from({ length: 150 }, () => mailTo([inbox], { raw: new Uint8Array(9000) }));
      await on.store.messages.addBatch([...mails, mailTo([inbox, neighbour])], T);
      await onlyPlaced(on.store, mailTo([inbox], { raw: new Uint8Array(3_000_000) }), T);
      expect(await on.store.inboxes.delete(owner, inbox.id, T)).toBe(true);
      expect(await on.store.inboxes.find(owner, inbox.id, T)).toBeUndefined();
      expect(await on.store.inboxes.findByToken(wish.tokenHash, T)).toBeUndefined();
      await sweepAll(on.store, T);
      const { addresses = 0, messages = 0, sources = 0, readings = 0 } = before;
      // The shared mail stays with the neighbour, the address stays in quarantine.
      expect(await on.counts()).toEqual({
        ...before,
        addresses: addresses + 1,
        messages: messages + 1,
        sources: sources + 1,
        readings: readings + 1,
        shared_sources: 1,
        // What reports show: its address, labels and figures.
        deleted_inboxes: 1,
      });
      expect(await on.store.inboxes.delete(owner, inbox.id, T)).toBe(false);
      expect(await on.store.messages.listRows(neighbour.id, everything, T)).toHaveLength(2);
    });

    it('by labels ends those that carry all of them, and says which', async () => {
      const owner = await given.account();
      for (let i = 0; i < 120; i++) await given.inbox(owner, { labels: { run: '1', n: `${i % 2}` } });
      const other = await given.inbox(owner, { labels: { run: '2', n: '0' } });
      expect(await given.store.inboxes.deleteByLabels(owner, { run: '1', n: '0' }, T)).toHaveLength(60);
      expect(await given.store.inboxes.deleteByLabels(owner, { run: '1' }, T)).toHaveLength(60);
      expect(await given.store.inboxes.deleteByLabels(owner, { run: '1' }, T)).toHaveLength(0);
      const left = await given.store.inboxes.list(owner, { labels: {}, limit: 9, before: null }, T);
      expect(left.inboxes.map(({ id }) => id)).toEqual([other.id]);
    });

    it('of a large account lets other calls in between', async () => {
      const on = await given.fresh();
      const [owner, stranger] = [await given.account(on), await given.account(on)];
      const [large, other] = [await given.inbox(owner, {}, on), await given.inbox(stranger, {}, on)];
      await on.store.messages.addBatch(
        Array.from({ length: 2000 }, () => mailTo([large], { maxMessages: 9999 })),
        T,
      );
      // So that no call has to open a connection first.
      await Promise.all([1, 2, 3].map(() => on.store.accounts.find(owner)));
      const order: string[] = [];
      await Promise.all([
        on.store.accounts.delete(owner, T).then(() => order.push('deleted')),
        onlyPlaced(on.store, mailTo([other]), T).then(() => order.push('received')),
      ]);
      expect(order).toEqual(['received', 'deleted']);
    });
  });

  describe('the sweeper', () => {
    /** One of everything that ends. */
    async function fill(on: Opened): Promise<void> {
      const owner = await given.account(on);
      const request = { keyHash: 'k', bodyHash: 'b', nonce: 'n' };
      await on.store.inboxes.create(owner, inboxAt({ labels: { a: 'b' } }), 10, request);
      const [a, b] = [await given.inbox(owner, {}, on), await given.inbox(owner, {}, on)];
      await on.store.messages.addBatch(
        Array.from({ length: 30 }, () => mailTo([a])),
        T,
      );
      await onlyPlaced(on.store, mailTo([a, b], { raw: new Uint8Array(3_000_000) }), T);
      await on.store.addresses.hold(owner, 'held@mayfly.test', T + 5, T);
      await on.store.refusals.add([refusalOf('x@mayfly.test')]);
      const wait = { id: 'wai_1', accountId: owner, inboxId: a.id, endedAt: T, plain: '{}', content: '{}' };
      await on.store.waits.addExplained([wait]);
      await on.store.usage.lease(owner, '2027-01', { want: 9, limit: null }, T);
      const days = Array.from({ length: 15 }, (_, n) => ({ day: `2027-01-${n + 10}`, requests: 1 }));
      const report = { accountId: owner, month: '2027-01', returned: 0, days };
      await on.store.usage.report([report]);
    }
    // No other end is later, but that a month is kept until its last day is old.
    const LONG_AFTER = T + USAGE_KEPT_MS + 31 * 24 * 3_600_000;

    it('frees everything that is past its time, in small steps, and then reports nothing left', async () => {
      const on = await given.fresh();
      await fill(on);
      const freed = await sweepAll(on.store, LONG_AFTER, 10);
      expect(freed.length).toBeGreaterThan(5);
      // A step may go beyond its limit by one large piece, not by a whole mail.
      expect(Math.max(...freed)).toBeLessThan(40);
      expect(await on.counts()).toEqual(EMPTY);
      expect(await on.store.upkeep.sweep(LONG_AFTER, 10)).toBe(0);
    });

    it('touches nothing that is not past its time', async () => {
      const on = await given.fresh();
      await fill(on);
      const before = await on.counts();
      expect(await on.store.upkeep.sweep(T, 1000)).toBe(0);
      expect(await on.counts()).toEqual(before);
    });

    it('may run twice at the same time: both finish and nothing is left', async () => {
      const on = await given.fresh();
      const owner = await given.account(on);
      const inbox = await given.inbox(owner, {}, on);
      const raw = new Uint8Array(400_000);
      for (let i = 0; i < 6; i++) await onlyPlaced(on.store, mailTo([inbox], { raw }), T);
      await on.store.inboxes.delete(owner, inbox.id, T);
      await Promise.all([1, 2].map(() => sweepAll(on.store, LONG_AFTER, 5)));
      await sweepAll(on.store, LONG_AFTER, 50);
      expect(await on.counts()).toEqual(EMPTY);
    });
  });

  describe('refusals', () => {
    it('come back newest first, of their own address, for 24 hours', async () => {
      const address = 'NUL \0@mayfly.test';
      const [old, young] = [refusalOf(address), refusalOf(address, { at: T + 5, reply: '452 full' })];
      await given.store.refusals.add([old, refusalOf('another@mayfly.test'), young]);
      expect(await given.store.refusals.listConcerning(address, 0, T)).toEqual([young, old]);
      expect(await given.store.refusals.listConcerning(address, T, T)).toEqual([young]);
      expect(await given.store.refusals.listConcerning(address, 0, T + REFUSAL_KEPT_MS)).toEqual([young]);
      expect(await given.store.refusals.listConcerning('nobody@mayfly.test', 0, T)).toEqual([]);
    });

    it('are bounded per address and in all; the oldest go first', async () => {
      const on = await given.fresh();
      const one = Array.from({ length: 130 }, (_, n) => refusalOf('one@mayfly.test', { at: T + n }));
      await on.store.refusals.add(one.slice(0, 60));
      await on.store.refusals.add(one.slice(60));
      const kept = await on.store.refusals.listConcerning('one@mayfly.test', 0, T + 130);
      expect(kept).toEqual(one.slice(-50).toReversed());
      const many = Array.from({ length: 10_020 }, (_, n) =>
        refusalOf(`${n}@mayfly.test`, { at: T + 200 + n }),
      );
      await on.store.refusals.add(many);
      expect(await on.counts()).toMatchObject({ refusals: 10_000 });
      expect(await on.store.refusals.listConcerning('19@mayfly.test', 0, T)).toEqual([]);
      expect(await on.store.refusals.listConcerning('20@mayfly.test', 0, T)).toHaveLength(1);
    });
  });
}
