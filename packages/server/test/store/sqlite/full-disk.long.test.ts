import { rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openSqlite } from '../../../src/database/sqlite/open.ts';
import type { InboxRecord } from '../../../src/inboxes/records.ts';
import type { Store } from '../../../src/store.ts';
import { useFolderOfTest } from '../../support/folder.ts';
import { fill, MAY_MOUNT, mountSmallDisk, unmount } from '../../support/small-disk.ts';
import { withReadings } from '../../support/store-on.ts';
import { accountOn, everything, inboxAt, mailsTo, sweepAll, T } from '../builders.ts';

const DISK_MIB = 24;
const FULL = { code: 'unavailable', message: expect.stringContaining('full') };

describe.skipIf(!MAY_MOUNT)('a store whose disk is full (skipped where none may be mounted)', () => {
  const folder = useFolderOfTest();
  let store: Store;
  let accountId: string;
  /** Another connection: it counts rows, and empties the log. */
  let beside: DatabaseSync;
  beforeEach(async () => {
    mountSmallDisk(folder(), DISK_MIB);
    const path = join(folder(), 'mayfly.db');
    store = withReadings(await openSqlite({ path }));
    beside = new DatabaseSync(path, { timeout: 5000 });
    accountId = await accountOn(store);
  });
  afterEach(async () => {
    beside.close();
    await store.close();
    unmount(folder());
  });

  const newInbox = async (): Promise<InboxRecord> =>
    (await store.inboxes.create(accountId, inboxAt(), 1000, null)).inbox;
  const messagesKept = () => Number(beside.prepare('select count(*) as n from messages').get()?.n);

  /** Others fill the disk but for so much. */
  function leaveFree(kib: number): void {
    const filler = join(folder(), 'filler');
    fill(filler);
    truncateSync(filler, statSync(filler).size - kib * 1024);
  }

  it('frees thousands of messages at once, though others have left it half a megabyte for its log', async () => {
    const inbox = await newInbox();
    for (let full = false; !full; ) {
      const mails = mailsTo(100, [inbox], { maxMessages: 1e6 });
      await store.messages.addBatch(mails, T).catch((error) => {
        expect(error).toMatchObject(FULL);
        full = true;
      });
    }
    expect(messagesKept()).toBeGreaterThan(1000);
    leaveFree(512);
    expect(await store.inboxes.delete(accountId, inbox.id, T)).toBe(true);
    await sweepAll(store, T);
    expect(messagesKept()).toBe(0);
  });

  it('deletes an inbox or says that it did not, to the last kilobyte; the sweeper frees what was left', async () => {
    let refused = 0;
    let leftOver = 0;
    for (let kib = 0; kib <= 160; kib += 8) {
      const inbox = await newInbox();
      for (let n = 0; n < 3; n++) await store.messages.addBatch(mailsTo(40, [inbox]), T);
      beside.exec('pragma wal_checkpoint(truncate)');
      leaveFree(kib);
      const outcome = await store.inboxes.delete(accountId, inbox.id, T).catch((error) => error);
      const there = await store.inboxes.find(accountId, inbox.id, T);
      if (outcome === true) {
        expect(there).toBeUndefined();
        if (messagesKept() > 0) leftOver += 1;
      } else {
        expect(outcome).toMatchObject(FULL);
        expect(there?.messageCount).toBe(120);
        expect(await store.messages.listRows(inbox.id, everything, T)).toHaveLength(120);
        refused += 1;
      }
      rmSync(join(folder(), 'filler'));
      if (outcome !== true) expect(await store.inboxes.delete(accountId, inbox.id, T)).toBe(true);
      await sweepAll(store, T);
      expect(messagesKept()).toBe(0);
    }
    // Both have happened, else this has shown nothing.
    expect(refused).toBeGreaterThan(0);
    expect(leftOver).toBeGreaterThan(0);
  });
});
