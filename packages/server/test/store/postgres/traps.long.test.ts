import { chownSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Client, Pool } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createPool, requireDurable } from '../../../src/database/postgres/connection.ts';
import { openPostgres } from '../../../src/database/postgres/open.ts';
import { runTransaction } from '../../../src/database/postgres/transactions.ts';
import type { InboxRecord } from '../../../src/inboxes/records.ts';
import type { Store } from '../../../src/store.ts';
import { useFolder } from '../../support/folder.ts';
import { hasPostgres, type PostgresCluster, startPostgres } from '../../support/postgres.ts';
import { sharedPostgres } from '../../support/shared-postgres.ts';
import { MAY_MOUNT, mountSmallDisk, unmount } from '../../support/small-disk.ts';
import { withReadings } from '../../support/store-on.ts';
import { accountOn, inboxAt, mailTo, onlyPlaced, T } from '../builders.ts';
import { createDatabase, queryPostgres } from './open-postgres.ts';

const IS_THERE = await hasPostgres();
const DISK_MIB = 32;
const MAIL_BYTES = 200_000;
/** Of the file that an operator keeps, to have something to delete: vacuum itself needs some space. */
const BALLAST_BYTES = 2 * 1024 * 1024;
/** Who runs PostgreSQL where the tests run as root. */
const NOBODY = 65_534;

describe.skipIf(!IS_THERE)('a transaction on PostgreSQL', () => {
  let pool: Pool;
  beforeAll(async () => {
    pool = createPool(await createDatabase(await sharedPostgres()), () => undefined);
    await pool.query('create table notes (text text)');
  });
  afterEach(() => pool.query('delete from notes'));
  afterAll(() => pool?.end());

  const notes = async () => (await pool.query('select text from notes')).rows;

  it('reports the error of a statement that fails while its COMMIT is under way, and keeps nothing', async () => {
    const committed = runTransaction(pool, async (client) => {
      await client.query("insert into notes values ('kept?')");
      const statements = ['select 1 / 0', "insert into notes values ('x')"];
      const written = Promise.all(statements.map((text) => client.query(text)));
      return { result: 'acknowledged', written };
    });
    await expect(committed).rejects.toMatchObject({ code: '22012' });
    expect(await notes()).toEqual([]);
  });

  it('is outcome_unknown if the connection ends while statements and COMMIT are under way', async () => {
    const committed = runTransaction(pool, async (client) => {
      await client.query('select 1');
      const written = client.query('select pg_sleep(0.05)');
      (client as unknown as Client).connection.stream.destroy();
      return { result: 'acknowledged', written };
    });
    await expect(committed).rejects.toMatchObject({ code: 'outcome_unknown' });
  });

  it('that says nothing for too long is ended by PostgreSQL, and is unavailable', async () => {
    const idle = runTransaction(pool, async (client) => {
      await client.query("set local idle_in_transaction_session_timeout = '50ms'");
      await client.query("insert into notes values ('idle')");
      await setTimeout(200);
      return { result: await client.query('select 1') };
    });
    await expect(idle).rejects.toMatchObject({ code: 'unavailable' });
    expect(await notes()).toEqual([]);
  });

  it('prints no warning about queued statements', async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => warnings.push(warning);
    process.on('warning', onWarning);
    await runTransaction(pool, async (client) => ({
      result: await Promise.all(Array.from({ length: 20 }, () => client.query('select 1'))),
    }));
    await setTimeout(10);
    process.off('warning', onWarning);
    expect(warnings).toEqual([]);
  });
});

it('a PostgreSQL of version 14 is refused, with the version that is needed', async () => {
  const settings = { version: 140_012, fsync: 'on', commit: 'on', standbys: '' };
  const client = { query: async () => ({ rows: [settings] }) } as unknown as Client;
  await expect(requireDurable(client)).rejects.toThrow(
    'PostgreSQL is older than version 15. Use PostgreSQL 15 or newer.',
  );
});

describe.skipIf(!IS_THERE || !MAY_MOUNT)('a PostgreSQL whose disk is full', () => {
  let cluster: PostgresCluster;
  let store: Store;
  const folder = useFolder();
  let disk: string;
  let ballast: string;
  beforeAll(async () => {
    cluster = await startPostgres();
    disk = folder();
    mountSmallDisk(disk, DISK_MIB);
    if (process.getuid?.() === 0) chownSync(disk, NOBODY, NOBODY);
    ballast = join(disk, 'ballast');
    await queryPostgres(cluster.url(), `create tablespace small location '${disk}'`);
    await queryPostgres(cluster.url(), 'create database small tablespace small');
    store = withReadings(await openPostgres({ url: cluster.url('small') }));
    writeFileSync(ballast, Buffer.alloc(BALLAST_BYTES));
  });
  afterAll(async () => {
    await store?.close();
    await cluster?.stop('SIGQUIT');
    unmount(disk);
    await cluster?.remove();
  });

  async function fillInbox(accountId: string, inbox: InboxRecord): Promise<number> {
    for (let count = 0; ; count++) {
      const raw = new Uint8Array(Buffer.alloc(MAIL_BYTES, 'x'));
      const mail = mailTo([inbox], { raw, maxMessages: 1e6 });
      const stored = await store.messages.addBatch([mail], T).then(
        () => true,
        (error) => {
          expect(error).toMatchObject({ code: 'unavailable', message: expect.stringContaining('full') });
          return false;
        },
      );
      if (stored) continue;
      expect(await store.inboxes.find(accountId, inbox.id, T)).toMatchObject({ messageCount: count });
      return count;
    }
  }

  it('answers unavailable, keeps what was acknowledged, and lets inboxes be deleted; takes mail again when there is space', async () => {
    const accountId = await accountOn(store);
    const { inbox } = await store.inboxes.create(accountId, inboxAt(), 10, null);
    const count = await fillInbox(accountId, inbox);
    expect(count).toBeGreaterThan(20);
    expect(await store.messages.listAfter(inbox.id, { after: 0, limit: 1e6 }, T)).toHaveLength(count);
    expect(await store.inboxes.delete(accountId, inbox.id, T)).toBe(true);
    rmSync(ballast);
    // As autovacuum does within a minute.
    await queryPostgres(cluster.url('small'), 'vacuum');
    const { inbox: next } = await store.inboxes.create(accountId, inboxAt(), 10, null);
    await onlyPlaced(store, mailTo([next]), T);
  });
});
