import { describe, expect, it } from 'vitest';
import { ADDRESS_QUARANTINE_MS } from '../../../../src/inboxes/records.ts';
import { REFUSAL_KEPT_MS, type Refusal } from '../../../../src/refusals/sql.ts';
import type { Store } from '../../../../src/store.ts';
import { inboxAt, mailTo, onlyPlaced, T } from '../../builders.ts';
import type { Given } from '../suite.ts';

const MINUTE = 60_000;

const all = { after: 0, limit: 1000 };

function refusalOf(address: string, at: number = T): Refusal {
  return { at, address, reply: '550 5.1.1 no', mailFrom: 'a@b.c', helo: 'x', remoteAddress: '127.0.0.1' };
}

const idsOf = (messages: readonly { id: string }[]): string[] => messages.map(({ id }) => id);

/** What the contract promises to those who follow, and to those who wait in vain. */
export function describeExplain(given: Given): void {
  describe('following an inbox', () => {
    it('lists what came after a time, oldest first, page by page', async () => {
      const inbox = await given.inbox(await given.account());
      const mails = Array.from({ length: 7 }, () => mailTo([inbox]));
      await given.store.messages.addBatch(mails, T);
      const list = (after: number) => given.store.messages.listAfter(inbox.id, { after, limit: 3 }, T);
      const pages = [await list(0), await list(T + 2), await list(T + 5), await list(T + 6)];
      const times = pages.map((page) => page.map(({ receivedAt }) => receivedAt - T));
      expect(times).toEqual([[0, 1, 2], [3, 4, 5], [6], []]);
      const newestFirst = await given.store.messages.listRows(inbox.id, { ...all, before: T + 9 }, T);
      expect(idsOf(await given.store.messages.listAfter(inbox.id, all, T))).toEqual(
        idsOf(newestFirst).toReversed(),
      );
    });
  });

  describe('the order of an account', () => {
    it('is that of the commits, across inboxes and batches, strictly increasing', async () => {
      const owner = await given.account();
      const [a, b] = [await given.inbox(owner), await given.inbox(owner)];
      const subjects = ['1', '2', '3', '4', '5', '6'];
      const to = (subject: string) => mailTo([Number(subject) % 2 ? a : b], { subject });
      await given.store.messages.addBatch(subjects.slice(0, 4).map(to), T);
      // The clock may go back; the order does not.
      await given.store.messages.addBatch(subjects.slice(4).map(to), T - 5000);
      const listed = await given.store.messages.listByAccount(owner, all, T);
      expect(listed.map(({ summary }) => summary.subject)).toEqual(subjects);
      expect(listed.map(({ inboxId }) => inboxId)).toEqual([a, b, a, b, a, b].map(({ id }) => id));
      const orders = listed.map(({ accountOrder }) => accountOrder);
      expect(orders).toEqual([...new Set(orders)].toSorted((x, y) => x - y));
      const [, second] = listed;
      const page = { after: second?.accountOrder ?? 0, limit: 2 };
      expect(await given.store.messages.listByAccount(owner, page, T)).toEqual(listed.slice(2, 4));
    });

    it('gives one mail to several inboxes a place in each, and one to each account', async () => {
      const [owner, other] = [await given.account(), await given.account()];
      const inboxes = [await given.inbox(owner), await given.inbox(other), await given.inbox(owner)];
      await onlyPlaced(given.store, mailTo(inboxes), T);
      const ofOwner = await given.store.messages.listByAccount(owner, all, T);
      expect(new Set(ofOwner.map(({ inboxId }) => inboxId))).toEqual(
        new Set([inboxes[0]?.id, inboxes[2]?.id]),
      );
      expect(new Set(ofOwner.map(({ accountOrder }) => accountOrder)).size).toBe(2);
      expect(await given.store.messages.listByAccount(other, all, T)).toMatchObject([
        { inboxId: inboxes[1]?.id },
      ]);
    });

    it('goes on behind a mail that was refused, and behind deleted ones', async () => {
      const owner = await given.account();
      const inbox = await given.inbox(owner);
      const { messageId } = await onlyPlaced(given.store, mailTo([inbox]), T);
      const [first] = await given.store.messages.listByAccount(owner, all, T);
      await given.store.messages.delete(inbox.id, messageId, T);
      await given.store.messages.addBatch([mailTo([inbox], { maxMessages: 0 })], T);
      await onlyPlaced(given.store, mailTo([inbox]), T);
      const [next, ...none] = await given.store.messages.listByAccount(owner, all, T);
      expect(next?.accountOrder).toBeGreaterThan(first?.accountOrder ?? Number.POSITIVE_INFINITY);
      expect(none).toEqual([]);
    });
  });

  describe('addresses that were refused', () => {
    const listed = async (store: Store, owner: string | null, now = T, page = { after: 0, limit: 99 }) =>
      store.refusals.listAddresses(owner, page, now);

    it('are listed once each, the latest first, for 24 hours', async () => {
      const { store } = await given.fresh();
      await store.refusals.add([refusalOf('a@mayfly.test'), refusalOf('b@mayfly.test', T + 1)]);
      await store.refusals.add([
        refusalOf('a@mayfly.test', T + 2),
        refusalOf('"q\\"\\u0000"@mayfly.test', T),
      ]);
      const [a, b, q] = ['a@mayfly.test', 'b@mayfly.test', '"q\\"\\u0000"@mayfly.test'];
      expect(await listed(store, null)).toEqual([a, b, q]);
      expect(await listed(store, null, T, { after: T, limit: 99 })).toEqual([a, b]);
      expect(await listed(store, null, T, { after: 0, limit: 1 })).toEqual([a]);
      expect(await listed(store, null, T + REFUSAL_KEPT_MS + 1)).toEqual([a]);
    });

    it('are those that no inbox had, and not those that were full or had faults', async () => {
      const owner = await given.account();
      const fault = { rule: 1, at: 'rcpt' as const, delayMs: 0, disconnect: false };
      const [none, full, faulty] = ['none', 'full', 'faulty'].map(
        (name) => `${name}-${owner.slice(-8)}@k.test`,
      );
      await given.store.refusals.add([
        { ...refusalOf(none ?? ''), mailFrom: '"fault":' },
        { ...refusalOf(full ?? ''), reply: '452 4.2.2 Inbox is full', mailFrom: '"reply":"550 5.1.1 no' },
        { ...refusalOf(faulty ?? ''), fault },
      ]);
      const listed = await given.store.refusals.listAddresses(owner, { after: 0, limit: 1000 }, T);
      const found = listed.filter((address) => address.endsWith('@k.test'));
      expect(found).toEqual([none]);
    });

    it('leave out those that another account has, holds, or had lately', async () => {
      const on = await given.fresh();
      const [owner, other] = [await given.account(on), await given.account(on)];
      const addressed = (local: string) => inboxAt({ address: `${local}@mayfly.test` });
      for (const local of ['live', 'deleted']) {
        const { inbox } = await on.store.inboxes.create(other, addressed(local), 10, null);
        if (local === 'deleted') await on.store.inboxes.delete(other, inbox.id, T);
      }
      await on.store.inboxes.create(owner, addressed('own'), 10, null);
      await on.store.addresses.hold(other, 'held@mayfly.test', T + MINUTE, T);
      const locals = ['live', 'deleted', 'held', 'own', 'free'];
      await on.store.refusals.add(locals.map((local) => refusalOf(`${local}@mayfly.test`)));
      const names = async (account: string | null, now = T) =>
        (await listed(on.store, account, now)).map((address) => address.split('@')[0]).toSorted();
      expect(await names(owner)).toEqual(['free', 'own']);
      expect(await names(other)).toEqual(['deleted', 'free', 'held', 'live']);
      expect(await names(null)).toEqual(['free']);
      const later = T + ADDRESS_QUARANTINE_MS;
      await on.store.refusals.add([refusalOf('deleted@mayfly.test', later)]);
      expect(await names(owner, later)).toEqual(['deleted']);
    });
  });
}
