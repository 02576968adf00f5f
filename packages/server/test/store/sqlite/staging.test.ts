import { fork } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { newId } from '../../../src/ids.ts';
import type { Store } from '../../../src/store/contract/index.ts';
import { openSqlite, type SqliteOptions } from '../../../src/store/sqlite/open.ts';
import { everything, inboxAt, mailTo, onlyPlaced, rawOf, T } from '../builders.ts';
import { openTemporary, temporaryPath } from './open-sqlite.ts';

const MIB = 1024 * 1024;
const LARGE = 48 * MIB;

const closings: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closings.splice(0).reverse()) await close();
});

async function openWithInbox(options: Partial<SqliteOptions> = {}) {
  const opened = await openTemporary(options);
  closings.push(opened.close);
  const accountId = newId('acc', T);
  await opened.store.accounts.create({ id: accountId, name: 'a', plan: 'free', createdAt: T }, null);
  const { inbox } = await opened.store.inboxes.create(accountId, inboxAt(), 10, null);
  const beside = new DatabaseSync(opened.path, { timeout: 5000 });
  closings.push(() => beside.close());
  return { ...opened, accountId, inbox, beside };
}

const staged = (database: DatabaseSync): number =>
  Number(database.prepare('select count(*) as n from parked_sources where stage is not null').get()?.n);

/** Waits until a source is stored that has no message yet. */
async function untilStaged(database: DatabaseSync): Promise<void> {
  while (staged(database) === 0) await sleep(1);
}

async function sweepAll(store: Store): Promise<void> {
  while ((await store.upkeep.sweep(T, 200)) >= 200);
}

describe('a mail of 48 MB', () => {
  it('is written in steps, between which small mails are committed', async () => {
    const { store, inbox } = await openWithInbox();
    let done = false;
    const large = store.messages
      .addBatch([mailTo([inbox], { raw: new Uint8Array(LARGE).fill(7) })], T)
      .finally(() => {
        done = true;
      });
    let between = 0;
    while (!done) {
      await store.messages.addBatch([mailTo([inbox], { maxMessages: 1e6 })], T);
      if (!done) between++;
    }
    expect(between).toBeGreaterThan(10);
    const [[placed] = []] = await large;
    if (!placed || !('messageId' in placed)) throw new Error('The mail was refused.');
    const raw = await rawOf(store, inbox.id, placed.messageId, T);
    expect(raw.length).toBe(LARGE);
    expect(raw.every((byte) => byte === 7)).toBe(true);
  });

  it('leaves no more than a few steps in the write-ahead log, which a commit would have to copy', async () => {
    const { store, inbox, path } = await openWithInbox();
    await store.messages.addBatch([mailTo([inbox], { raw: new Uint8Array(LARGE) })], T);
    expect(statSync(`${path}-wal`).size).toBeLessThan(8 * MIB);
  });

  it('is in no list, count or event before all of it is stored', async () => {
    const { store, inbox, accountId, beside } = await openWithInbox();
    const large = store.messages.addBatch([mailTo([inbox], { raw: new Uint8Array(LARGE) })], T);
    await untilStaged(beside);
    expect(await store.messages.listRows(inbox.id, everything, T)).toEqual([]);
    expect(await store.inboxes.find(accountId, inbox.id, T)).toMatchObject({ messageCount: 0 });
    expect(await store.messages.newestInAccount(accountId)).toBe(0);
    await large;
    expect(await store.messages.listRows(inbox.id, everything, T)).toHaveLength(1);
    expect(staged(beside)).toBe(0);
  });

  it('leaves nothing behind when its inbox is deleted before its last step', async () => {
    const { store, inbox, accountId, beside, counts } = await openWithInbox();
    const large = store.messages.addBatch([mailTo([inbox], { raw: new Uint8Array(LARGE) })], T);
    await untilStaged(beside);
    await store.inboxes.delete(accountId, inbox.id, T);
    expect(await large).toMatchObject([[{ refused: 'gone' }]]);
    expect(await counts()).toMatchObject({ messages: 0, sources: 0, source_pieces: 0, parked_sources: 0 });
  });

  it('is not freed by the sweeper while it is written', async () => {
    const { store, inbox, beside } = await openWithInbox();
    const large = onlyPlaced(store, mailTo([inbox], { raw: new Uint8Array(LARGE) }), T);
    await untilStaged(beside);
    await sweepAll(store);
    const another = await openSqlite({ path: String(beside.location()), exclusive: false });
    closings.push(() => another.close());
    await sweepAll(another);
    const { messageId } = await large;
    expect((await rawOf(store, inbox.id, messageId, T)).length).toBe(LARGE);
  });

  it('answers unavailable, and leaves nothing, when another process deleted a part of it', async () => {
    const { store, inbox, beside, counts } = await openWithInbox();
    const large = store.messages.addBatch([mailTo([inbox], { raw: new Uint8Array(LARGE) })], T);
    await untilStaged(beside);
    beside.exec('delete from parked_sources');
    await expect(large).rejects.toMatchObject({ code: 'unavailable' });
    expect(await counts()).toMatchObject({ messages: 0 });
    await onlyPlaced(store, mailTo([inbox]), T);
  });

  it('leaves nothing behind when the disk has no room for it', async () => {
    const { store, inbox, counts } = await openWithInbox({ maxPages: 3_000 });
    const before = await counts();
    const large = store.messages.addBatch([mailTo([inbox], { raw: new Uint8Array(LARGE) })], T);
    await expect(large).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('full'),
    });
    expect(await counts()).toEqual(before);
    await onlyPlaced(store, mailTo([inbox], { raw: new Uint8Array(4 * MIB) }), T);
  });
});

describe('a server that is killed while it writes a mail of 48 MB', () => {
  it('loses nothing that it answered, shows nothing half, and the next start frees the rest', async () => {
    const { path, remove } = temporaryPath();
    closings.push(remove);
    for (let kill = 0; kill < 3; kill++) {
      const child = fork(join(import.meta.dirname, 'storing-server.ts'), [path, String(LARGE)]);
      closings.push(() => void child.kill('SIGKILL'));
      const [{ inboxId }] = await once(child, 'message');
      const answered: string[] = [];
      child.on('message', ({ messageId }: { messageId: string }) => answered.push(messageId));
      await once(child, 'message');
      const beside = new DatabaseSync(path, { timeout: 5000 });
      await untilStaged(beside);
      await sleep(30 * kill);
      child.kill('SIGKILL');
      await once(child, 'exit');
      beside.close();

      const store = await openSqlite({ path });
      const listed = await store.messages.listRows(inboxId, everything, T);
      // The last one may have been committed without an answer.
      expect(listed.length - answered.length).toBeOneOf([0, 1]);
      expect(listed.map(({ id }) => id)).toEqual(expect.arrayContaining(answered));
      for (const { id } of listed) expect((await rawOf(store, inboxId, id, T)).length).toBe(LARGE);
      await sweepAll(store);
      await store.close();
      const rows = new DatabaseSync(path);
      const count = (table: string) => Number(rows.prepare(`select count(*) as n from ${table}`).get()?.n);
      expect(count('parked_sources')).toBe(0);
      expect(count('sources')).toBe(count('messages'));
      expect(count('source_pieces')).toBe((LARGE / (256 * 1024) - 1) * count('messages'));
      rows.close();
    }
  });
});
