import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import type { NewMail } from '../../../src/messages/records.ts';
import { atOnce, inboxAt, mailTo, onlyPlaced, placedIn, rawOf, sweepAll, T } from '../builders.ts';
import { openWithInbox } from './open-sqlite.ts';

/**
 * Transactions in the write-ahead log, read from its bytes (sqlite.org/fileformat2.html section 4.1): the
 * last frame of each carries the size of the database, all others 0.
 */
function commitsIn(path: string): number {
  const log = readFileSync(`${path}-wal`);
  const frame = 24 + log.readUInt32BE(8);
  let commits = 0;
  for (let at = 32; at + frame <= log.length; at += frame) if (log.readUInt32BE(at + 4) > 0) commits++;
  return commits;
}

/** A mail whose parsed content is not stored, which would be a transaction of its own. */
function unreadTo(...of: Parameters<typeof mailTo>): NewMail {
  const { reading: _, ...mail } = mailTo(...of);
  return mail;
}

const MIB = 1024 * 1024;

describe('mails that wait at the same time', () => {
  it('share one transaction and its sync, and each sender gets the answer for its own', async () => {
    const { store, path, inbox } = await openWithInbox();
    const before = commitsIn(path);
    const raws = Array.from({ length: 100 }, (_, n) => new TextEncoder().encode(`mail ${n}`));
    const answers = await Promise.all(
      raws.map((raw) => store.messages.addBatch([unreadTo([inbox], { raw: raw.slice() })], T)),
    );
    expect(commitsIn(path) - before).toBe(1);
    for (const [n, [[placed] = []]] of answers.entries())
      expect(await rawOf(store, inbox.id, placedIn(placed).messageId, T)).toEqual(raws[n]);
  });

  it('are at most 128 mails or 2 MiB a transaction', async () => {
    const { store, path, inbox } = await openWithInbox();
    // Someone who still reads the old state keeps the log from being begun anew.
    const reader = new DatabaseSync(path, { readOnly: true });
    reader.exec('begin; select * from inboxes');
    const commitsFor = async (count: number, bytes: number) => {
      const before = commitsIn(path);
      const mails = Array.from({ length: count }, () => unreadTo([inbox], { raw: new Uint8Array(bytes) }));
      await Promise.all(mails.map((mail) => store.messages.addBatch([mail], T)));
      return commitsIn(path) - before;
    };
    expect(await commitsFor(256, 10)).toBe(2);
    expect(await commitsFor(257, 10)).toBe(3);
    expect(await commitsFor(6, 0.6 * MIB)).toBe(2);
    expect(await commitsFor(2, 1.9 * MIB)).toBe(2);
    reader.close();
  });

  it('do not wait for more than one transaction of large ones', async () => {
    const { store, inbox } = await openWithInbox();
    const order: string[] = [];
    const add = async (name: string, bytes: number) => {
      await store.messages.addBatch([mailTo([inbox], { raw: new Uint8Array(bytes) })], T);
      order.push(name);
    };
    const large = Array.from({ length: 10 }, () => add('large', 3 * MIB));
    await Promise.all([...large, add('small', 1_000), add('small', 1_000)]);
    expect(order.lastIndexOf('small')).toBeLessThanOrEqual(3);
    expect(order).toHaveLength(12);
  });

  it('do not fail with one of the same transaction that the disk has no room for', async () => {
    const { store, inbox } = await openWithInbox({ maxPages: 400 });
    const add = (bytes: number) =>
      store.messages.addBatch([mailTo([inbox], { raw: new Uint8Array(bytes) })], T);
    const statuses = async (...sizes: number[]) =>
      (await Promise.allSettled(sizes.map(add))).map(({ status }) => status);
    while ((await statuses(30_000))[0] === 'fulfilled');
    const [{ id = '' } = {}] = await store.messages.listAfter(inbox.id, { after: 0, limit: 1 }, T);
    await store.messages.delete(inbox.id, id, T);
    await sweepAll(store, T);
    expect(await statuses(100, 60_000, 100)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });
});

describe('inboxes that are created and deleted at the same time', () => {
  const INBOXES = 50;

  it('share transactions and their syncs, also with mail', async () => {
    const { store, path, inbox } = await openWithInbox();
    const { accountId } = inbox;
    let before = commitsIn(path);
    const creating = atOnce(INBOXES, () => store.inboxes.create(accountId, inboxAt(), 1000, null));
    const [created] = await Promise.all([creating, onlyPlaced(store, mailTo([inbox]), T)]);
    expect(commitsIn(path) - before).toBeLessThanOrEqual(INBOXES / 10);
    before = commitsIn(path);
    const deleting = created.map(({ inbox: { id } }) => store.inboxes.delete(accountId, id, T));
    expect(await Promise.all(deleting)).toEqual(created.map(() => true));
    expect(commitsIn(path) - before).toBeLessThanOrEqual(INBOXES / 10);
  });

  it('do not fail with one that is refused, in whatever order they came', async () => {
    const { store, inbox } = await openWithInbox();
    const { accountId } = inbox;
    for (const at of [0, 1, 4]) {
      const wishes = Array.from({ length: 5 }, () => inboxAt());
      wishes[at] = inboxAt({ address: inbox.address });
      const results = await Promise.allSettled(
        wishes.map((wish) => store.inboxes.create(accountId, wish, 1000, null)),
      );
      const codes = results.map((result) => (result.status === 'rejected' ? result.reason.code : 'created'));
      expect(codes).toEqual(wishes.map((_, index) => (index === at ? 'address_taken' : 'created')));
      for (const [index, { id }] of wishes.entries())
        expect((await store.inboxes.find(accountId, id, T)) !== undefined).toBe(index !== at);
    }
  });
});

describe('inboxes that are deleted by their label', () => {
  const INBOXES = 400;
  /** A step ends 20; on a busy machine several may end between two queries of the test. */
  const AT_ONCE = 200;

  it('end and go in small steps, between which others commit, and many share a transaction', async () => {
    const { store, path, inbox } = await openWithInbox();
    const { accountId } = inbox;
    const labels = { run: 'x' };
    const create = () => store.inboxes.create(accountId, inboxAt({ labels }), 1000, null);
    const toEach = (await atOnce(INBOXES, create)).map((created) => mailTo([created.inbox]));
    await store.messages.addBatch(toEach, T);
    const live = async () =>
      (await store.inboxes.list(accountId, { labels, limit: 1000, before: null }, T)).inboxes.length;
    const before = commitsIn(path);
    let isDone = false;
    const deleting = store.inboxes.deleteByLabels(accountId, labels, T).finally(() => {
      isDone = true;
    });
    const counts = [await live()];
    let mails = 0;
    for (; !isDone; mails++) {
      await onlyPlaced(store, mailTo([inbox]), T);
      counts.push(await live());
    }
    expect(await deleting).toHaveLength(INBOXES);
    const ended = counts.slice(1).map((count, at) => (counts[at] ?? 0) - count);
    expect(Math.max(...ended)).toBeLessThanOrEqual(AT_ONCE);
    expect(commitsIn(path) - before - mails).toBeLessThanOrEqual(INBOXES / 4);
  });
});
