import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openWriter, requireDurable, requireSqlite } from '../../../src/database/sqlite/connection.ts';
import { openSqlite, startThread } from '../../../src/database/sqlite/open.ts';
import { everything, inboxAt, mailTo, onlyPlaced, sweepAll, T } from '../builders.ts';
import { openWithInbox, temporaryPath } from './open-sqlite.ts';

/** A database file of the test. */
function place(): string {
  const { path, remove } = temporaryPath();
  onTestFinished(remove);
  return path;
}

describe('opening the store on SQLite', () => {
  it('refuses a connection whose commits may not be on stable storage', () => {
    const database = openWriter({ path: place(), busyTimeoutMs: 100 });
    onTestFinished(() => database.close());
    expect(() => requireDurable(database)).not.toThrow();
    for (const setting of ['normal', 'off']) {
      database.exec(`pragma synchronous = ${setting}`);
      expect(() => requireDurable(database)).toThrow(/FULL/);
    }
  });

  it('refuses an SQLite that can corrupt a database, and says what to do', () => {
    for (const version of ['3.51.2', '3.50.99', '3.9.0', '2.99.99'])
      expect(() => requireSqlite(version)).toThrow(/newer Node\.js, with SQLite 3\.51\.3 or newer/);
    for (const version of ['3.51.3', '3.51.10', '3.53.4', '4.0.0'])
      expect(() => requireSqlite(version)).not.toThrow();
  });

  it('says clearly that a data directory cannot be used', async () => {
    const path = place();
    const file = join(path, '..', 'a file');
    writeFileSync(file, '');
    const opening = openSqlite({ path: join(file, 'data', 'mayfly.db') });
    await expect(opening).rejects.toThrow(
      /data folder .* cannot be created .*Set MAYFLY_DATA_DIR to another/,
    );
  });

  it('says clearly that a file is not a database, and leaves it as it is', async () => {
    const path = place();
    writeFileSync(path, 'not a database '.repeat(500));
    const reason = /mayfly\.db cannot be opened: .*not a database\. Set MAYFLY_DATA_DIR/;
    await expect(openSqlite({ path })).rejects.toThrow(reason);
  });
});

it('a second server is refused; the command line can write to the database of a running server', async () => {
  const { path, store, accountId } = await openWithInbox();
  await expect(openSqlite({ path })).rejects.toThrow(/Another Mayfly server uses/);
  const operator = await openSqlite({ path, exclusive: false });
  const { inbox } = await operator.inboxes.create(accountId, inboxAt(), 10, null);
  await operator.close();
  expect(await store.inboxes.find(accountId, inbox.id, T)).toEqual(inbox);
  await onlyPlaced(store, mailTo([inbox]), T);
});

describe('a storage in trouble', () => {
  it('a full one answers unavailable, keeps nothing half, and works again when there is room', async () => {
    const { store, inbox, counts } = await openWithInbox({ maxPages: 400 });
    const small = mailTo([inbox]);
    const { messageId } = await onlyPlaced(store, mailTo([inbox], { raw: new Uint8Array(600_000) }), T);
    const before = await counts();
    const large = mailTo([inbox], { raw: new Uint8Array(2_000_000) });
    const full = { code: 'unavailable', message: expect.stringContaining('full') };
    await expect(store.messages.addBatch([small, large], T)).rejects.toMatchObject(full);
    expect(await counts()).toEqual(before);
    expect(await store.messages.listRows(inbox.id, everything, T)).toHaveLength(1);
    await store.messages.delete(inbox.id, messageId, T);
    await sweepAll(store, T);
    await onlyPlaced(store, mailTo([inbox], { raw: new Uint8Array(600_000) }), T);
  });

  it('one that another process holds answers unavailable to all who wait, reads on, and works again', async () => {
    const { store, inbox, path, accountId } = await openWithInbox({ busyTimeoutMs: 400 });
    // One after the other they would wait for longer than a test may take.
    const other = new DatabaseSync(path);
    onTestFinished(() => other.close());
    other.exec('begin exclusive');
    const calls = Array.from({ length: 100 }, () => store.messages.addBatch([mailTo([inbox])], T));
    const results = await Promise.allSettled([...calls, store.ping()]);
    for (const result of results) expect(result).toMatchObject({ reason: { code: 'unavailable' } });
    expect(await store.inboxes.find(accountId, inbox.id, T)).toMatchObject({ messageCount: 0 });
    other.exec('rollback');
    await store.ping();
    await onlyPlaced(store, mailTo([inbox]), T);
    expect(await store.messages.listRows(inbox.id, everything, T)).toHaveLength(1);
  });

  it('when the writer thread dies, the outcome of writes it was sent is unknown, and the next call starts it again', async () => {
    const threads: Worker[] = [];
    const crashes: Error[] = [];
    const { store, inbox, path } = await openWithInbox({
      busyTimeoutMs: 400,
      startThread: (options) => {
        const thread = startThread(options);
        threads.push(thread);
        return thread;
      },
      onCrash: (error) => crashes.push(error),
    });
    await onlyPlaced(store, mailTo([inbox]), T);
    // The lock of another process keeps the thread from finishing before it is ended.
    const other = new DatabaseSync(path);
    other.exec('begin exclusive');
    const sent = store.messages.addBatch([mailTo([inbox])], T + 1);
    for (let turn = 0; turn < 3; turn++) await nextTurn();
    const ended = threads[0]?.terminate();
    await expect(sent).rejects.toMatchObject({ code: 'outcome_unknown' });
    other.close();
    await ended;
    expect(await store.messages.listRows(inbox.id, everything, T)).toHaveLength(1);
    await onlyPlaced(store, mailTo([inbox]), T);
    expect(await store.messages.listRows(inbox.id, everything, T)).toHaveLength(2);
    expect([threads.length, crashes.length]).toEqual([2, 1]);
  });

  it('a defect in the thread reaches the caller as an error that is not for clients', async () => {
    const { store, accountId } = await openWithInbox();
    const wish = inboxAt();
    await store.inboxes.create(accountId, wish, 10, null);
    const twice = store.inboxes.create(accountId, { ...wish, address: 'other@mayfly.test' }, 10, null);
    await expect(twice).rejects.not.toMatchObject({ code: 'unavailable' });
    await expect(twice).rejects.toThrow(/UNIQUE/);
    await store.ping();
  });

  it('a closed store answers unavailable, and closing twice is one close', async () => {
    const { store, inbox } = await openWithInbox();
    const committing = store.messages.addBatch([mailTo([inbox])], T);
    await Promise.all([store.close(), store.close()]);
    expect(await committing).toMatchObject([[{ inboxId: inbox.id }]]);
    for (const late of [() => store.ping(), () => store.messages.listRows(inbox.id, everything, T)])
      await expect(late()).rejects.toMatchObject({ code: 'unavailable' });
  });
});
