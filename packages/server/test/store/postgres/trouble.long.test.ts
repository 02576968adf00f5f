import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createPool } from '../../../src/database/postgres/connection.ts';
import { openPostgres } from '../../../src/database/postgres/open.ts';
import { runTransaction } from '../../../src/database/postgres/transactions.ts';
import { newId } from '../../../src/ids.ts';
import type { InboxRecord } from '../../../src/inboxes/records.ts';
import { createLog, LogOutput } from '../../../src/log.ts';
import type { Store } from '../../../src/store.ts';
import { hasPostgres, type PostgresCluster, startPostgres } from '../../support/postgres.ts';
import { withReadings } from '../../support/store-on.ts';
import { accountOn, DAY, everything, inboxAt, mailTo, onlyPlaced, T, webhookAt } from '../builders.ts';
import { createDatabase } from './open-postgres.ts';

const IS_THERE = await hasPostgres();
const DAMAGED = { code: 'storage_damaged' };

let cluster: PostgresCluster;
beforeAll(async () => {
  if (IS_THERE) cluster = await startPostgres();
});
afterAll(() => cluster?.remove());

/** A connection as an operator has one. */
async function connect(to = cluster.url()): Promise<Client> {
  const client = new Client(to);
  await client.on('error', () => undefined).connect();
  return client;
}

/** Sets the synchronous standbys, or resets them. */
async function setStandbys(client: Client, names?: string): Promise<void> {
  const value =
    names === undefined ? 'reset synchronous_standby_names' : `set synchronous_standby_names = '${names}'`;
  await client.query(`alter system ${value}`);
  await client.query('select pg_reload_conf()');
}

describe.skipIf(!IS_THERE)('PostgreSQL in trouble', () => {
  let url: string;
  let admin: Client;
  let store: Store;
  let accountId: string;
  let inbox: InboxRecord;
  beforeEach(async () => {
    url = await createDatabase(cluster);
    admin = await connect(url);
    store = withReadings(await openPostgres({ url }));
    accountId = await accountOn(store);
    inbox = (await store.inboxes.create(accountId, inboxAt(), 10, null)).inbox;
    return async () => {
      await store.close();
      await admin.end();
    };
  });

  it('a damaged page costs the calls that need it, and from then on ping', async () => {
    await onlyPlaced(store, mailTo([inbox]), T);
    const { rows } = await admin.query(`select pg_relation_filepath('messages') as path`);
    const damages: Error[] = [];
    await store.close();
    await cluster.stop();
    const file = await open(join(cluster.dataDir, rows[0].path), 'r+');
    await file.write(Buffer.alloc(8192, 0xa5), 0, 8192, 0);
    await file.close();
    await cluster.start();
    store = withReadings(await openPostgres({ url, onDamage: (error) => damages.push(error) }));
    await store.ping();
    for (let n = 0; n < 2; n++)
      await expect(store.messages.listRows(inbox.id, everything, T)).rejects.toMatchObject(DAMAGED);
    expect(await store.inboxes.find(accountId, inbox.id, T)).toMatchObject({ id: inbox.id });
    await expect(store.ping()).rejects.toMatchObject(DAMAGED);
    expect(damages).toHaveLength(1);
  });

  it('acknowledges nothing when a commit answers that it was rolled back', async () => {
    const pool = createPool(url, () => undefined);
    const committed = runTransaction(pool, async (client) => {
      await client.query('delete from inboxes');
      await client.query('select 1 / 0').catch(() => undefined);
      return { result: 'committed' };
    });
    await expect(committed).rejects.toThrow(/rolled back/);
    expect(await store.inboxes.find(accountId, inbox.id, T)).toMatchObject({ id: inbox.id });
    await pool.end();
  });

  it('says outcome_unknown when a synchronous standby did not confirm the commit', async () => {
    await setStandbys(admin, 'absent');
    try {
      let outcome: Promise<string> | undefined;
      const add = (): Promise<string> =>
        store.messages.addBatch([mailTo([inbox])], T).then(
          () => {
            // PostgreSQL has not read the setting yet.
            outcome = undefined;
            return 'stored';
          },
          (error) => error.code,
        );
      const cancelled = async () => {
        outcome ??= add();
        const waiting = "wait_event = 'SyncRep' and datname = current_database()";
        return (await admin.query(`select pg_cancel_backend(pid) from pg_stat_activity where ${waiting}`))
          .rowCount;
      };
      await expect.poll(cancelled).toBeGreaterThan(0);
      expect(await outcome).toBe('outcome_unknown');
    } finally {
      await setStandbys(admin);
    }
    await onlyPlaced(store, mailTo([inbox]), T);
  });

  it('reports connections that were ended in one short line each, without the password', async () => {
    const lines: string[] = [];
    const output = new LogOutput((text, done) => {
      lines.push(...text.trimEnd().split('\n'));
      done();
    });
    const log = createLog('warn', output);
    const withPassword = new URL(url);
    withPassword.password = 'secret-of-the-database';
    const onError = (err: Error) => log.warn({ err }, 'A connection failed');
    const other = await openPostgres({ url: withPassword.href, onError });
    await other.ping();
    await admin.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'mayfly' and datname = current_database()",
    );
    await expect.poll(() => lines.length).toBeGreaterThan(0);
    await other.close();
    expect(lines.filter((line) => line.includes('secret-of-the-database'))).toEqual([]);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(2_000);
  });

  it('keeps a delivery that is replayed while the sweeper removes old ones', async () => {
    const { id: webhookId } = await store.webhooks.create(accountId, webhookAt(), 10);
    const deliveryId = newId('dlv', T);
    await store.deliveries.addTest(accountId, webhookId, { deliveryId, eventId: newId('evt', T) }, T);
    const [{ leasedUntil = 0 } = {}] = await store.deliveries.claim(
      { prompt: 5, other: 5, leaseMs: 1000 },
      T,
    );
    const attempt = { at: T, status: 200, durationMs: 1, error: null, responseStart: '' };
    const next = { state: 'delivered' as const, reason: null };
    await store.deliveries.record({ webhookId, deliveryId, leasedUntil, attempt, next }, T);
    const late = T + 8 * DAY;
    // The row is locked as by a replay that commits after the sweeper has found it.
    await admin.query('begin');
    await admin.query(
      `update deliveries set state = 'pending', due_at = ${late}, ended_at = null, round = 0`,
    );
    await store.upkeep.sweep(late, 1000);
    await admin.query('commit');
    const page = { limit: 9, before: null };
    const { deliveries } = await store.deliveries.list(accountId, webhookId, page, late);
    expect(deliveries).toMatchObject([{ id: deliveryId, state: 'pending', attempts: [{ status: 200 }] }]);
  });
});

describe.skipIf(!IS_THERE)('a PostgreSQL that could lose acknowledged mail', () => {
  it.each([
    ['off', ''],
    ['local', 'standby'],
  ])('is refused with synchronous_commit = %s and the standbys "%s"', async (setting, standbys) => {
    const other = await createDatabase(cluster);
    const client = await connect();
    const name = new URL(other).pathname.slice(1);
    await client.query(`alter database ${name} set synchronous_commit = ${setting}`);
    if (standbys) await setStandbys(client, standbys);
    const opening = () =>
      openPostgres({ url: other }).then(
        (store) => store.close().then(() => 'opened'),
        (error) => error.message,
      );
    try {
      await expect.poll(opening).toContain(`synchronous_commit = ${setting}`);
    } finally {
      await setStandbys(client);
      await client.end();
    }
  });

  it('is refused with fsync = off', async () => {
    const relaxed = await startPostgres({ settings: { fsync: 'off' } });
    await expect(openPostgres({ url: relaxed.url() })).rejects.toThrow(/fsync = off/);
    await relaxed.remove();
  });

  it('is refused if it is a standby', async () => {
    const primary = await startPostgres();
    const standby = await primary.startStandby();
    await expect(openPostgres({ url: standby.url() })).rejects.toThrow(
      'The PostgreSQL database cannot be used: The PostgreSQL server is a standby. Give the address of the primary in MAYFLY_DATABASE_URL.',
    );
    await standby.stop('SIGQUIT');
    await primary.remove();
  });

  it('says what is wrong when there is no such database', async () => {
    const opening = openPostgres({ url: cluster.url('absent') });
    await expect(opening).rejects.toThrow(/cannot be used: .*does not exist/);
  });
});
