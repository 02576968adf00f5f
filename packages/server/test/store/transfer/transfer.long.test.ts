import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client, types } from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { databasePath } from '../../../src/config/config.ts';
import { openSqlite } from '../../../src/database/sqlite/open.ts';
import { transfer } from '../../../src/operations/transfer.ts';
import { inDatabase } from '../../support/damage.ts';
import { useFolder } from '../../support/folder.ts';
import { inForm } from '../../support/form.ts';
import { hasPostgres } from '../../support/postgres.ts';
import { type Databases, sharedPostgres } from '../../support/shared-postgres.ts';
import { appOfTest, startApp, type TestApp } from '../../support/start-app.ts';
import { type HttpReceiver, startHttp } from '../../webhooks/receivers.ts';
import { createDatabase } from '../postgres/open-postgres.ts';
import { type Filled, fill, readEverything } from './filled-server.ts';

const IS_THERE = await hasPostgres();

/** `pg` returns 64-bit integers as text. */
const INT8 = 20;
const numbers = {
  getTypeParser: (id: number, format?: 'text' | 'binary') =>
    id === INT8 ? Number : types.getTypeParser(id, format),
} as typeof types;

type Row = Record<string, unknown>;
const hex = (value: unknown) => (value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value);
/** Rows in an order that does not depend on the engine. */
const sorted = (rows: Row[]): string[] =>
  rows
    .map((row) => Object.entries(row).map(([name, value]) => [name, hex(value)]))
    .map((row) => JSON.stringify(row.sort()))
    .sort();

describe.skipIf(!IS_THERE)('mayfly migrate: from the embedded database to PostgreSQL', () => {
  const folder = useFolder();
  let cluster: Databases;
  let receiver: HttpReceiver;
  let accepting = false;
  let dataDir: string;
  let filled: Filled;
  let before: Record<string, unknown>;
  let accountCursor: string;
  const settings = { MAYFLY_WEBHOOK_ALLOW: '127.0.0.0/8', MAYFLY_SIGNUP_PLAN: 'free' };

  const source = (text: string): Row[] =>
    inDatabase(databasePath(dataDir), (database) => database.prepare(text).all());
  const sourceRows = (table: string) => source(`select * from ${table}`);
  const tables = () =>
    source("select name from sqlite_schema where type = 'table'")
      .map(({ name }) => String(name))
      .filter((name) => !/^(sqlite|schema)_/.test(name));
  const query = async (url: string, text: string): Promise<Row[]> => {
    const client = new Client({ connectionString: url, types: numbers });
    await client.connect();
    const { rows } = await client.query(text);
    await client.end();
    return rows;
  };
  const filledTables = async (url: string): Promise<string[]> => {
    const each = tables().map((table) => `select '${table}' as name where exists (select 1 from ${table})`);
    return (await query(url, each.join(' union all '))).map(({ name }) => String(name));
  };

  beforeAll(async () => {
    cluster = await sharedPostgres();
    receiver = await startHttp((response) => response.writeHead(accepting ? 200 : 503).end());
    dataDir = join(folder(), 'data');
    const app = await startApp(settings, {}, dataDir);
    filled = await fill(app, `http://127.0.0.1:${receiver.port}/`);
    await vi.waitFor(() => expect(receiver.requests.length).toBeGreaterThan(5), { timeout: 60_000 });
    before = await readEverything(app, filled);
    accountCursor = (await app.api('GET', '/v1/messages?limit=1')).body.cursor;
    await app.stop();
    const store = await openSqlite({ path: databasePath(dataDir) });
    const account = await store.accounts.findFirst();
    await store.domains.add({ domain: 'own.test', accountId: account?.id ?? '', createdAt: 1 });
    await store.close();
    // Rows that exist only for a moment: while a large mail is being deleted, until a webhook is claimed or a mail read.
    const database = new DatabaseSync(databasePath(dataDir));
    database.exec(`insert into parked_sources (source_seq) values (123456789012);
      insert into unread (source_seq, account_id, checks) values (123456789012, 'acc_1', 0);
      insert into wakes (webhook_id) values ('whk_1');
      insert into nodes (id, seen_at) values ('one', 1);
      insert into provider_items (owner, provider, kind, name, account_id, value, bytes, expires_at)
        select id, 'ses', 'template', '"a"', id, '{}', 2, 1 from accounts;
      insert into outgoing (id, account_id, kind, state, details, raw, created_at, due_at, attempts)
        select 'out_1', min(id), 'handshake', 'pending', '{}', x'00ff', 1, 2, 0 from accounts`);
    database.close();
  });
  afterAll(() => receiver?.close());

  it('copies every table: all that servers use have rows in this test, and each has the same afterwards', async () => {
    expect(tables().filter((table) => sourceRows(table).length === 0)).toEqual([]);
    const url = await createDatabase(cluster);
    const steps: string[] = [];
    const copied = await transfer(databasePath(dataDir), url, undefined, (step) => steps.push(step));
    expect(steps[0]).toBe('Checking the database');
    expect(steps).toContain('Copying and comparing the table failed_waits');
    expect(copied.map(({ name }) => name).sort()).toEqual(tables().sort());
    for (const table of tables()) {
      const rows = await query(url, `select * from ${table}`);
      expect(sorted(rows), table).toEqual(sorted(sourceRows(table)));
    }
  });

  describe('a server on the copy', () => {
    let app: TestApp;
    beforeAll(async () => {
      accepting = true;
      const url = await createDatabase(cluster);
      await transfer(databasePath(dataDir), url);
      app = await startApp({ ...settings, MAYFLY_DATABASE_URL: url });
    });
    afterAll(() => app?.stop());

    it('returns everything as before, byte for byte', async () => {
      await expect.poll(() => readEverything(app, filled)).toEqual(before);
      expect((await app.api('GET', `/v1/inboxes/${filled.expired.id}`)).status).toBe(410);
    });

    it('continues the cursors of inboxes and of the account', async () => {
      const [inbox] = filled.inboxes;
      const list = await app.api('GET', `/v1/inboxes/${inbox?.id}/messages?limit=1`);
      await app.send({ from: 'a@example.org', to: inbox?.address ?? '', subject: 'After the move' });
      for (const [path, cursor] of [
        [`/v1/inboxes/${inbox?.id}/messages`, list.body.cursor],
        ['/v1/messages', accountCursor],
      ]) {
        const { messages } = (await app.api('GET', `${path}?since=${cursor}`)).body;
        expect(messages).toMatchObject([{ subject: 'After the move' }]);
      }
    });

    it('repeats the response of an idempotent creation, and creates new inboxes', async () => {
      const again = await app.api('POST', '/v1/inboxes', filled.repeatable);
      expect(again.status).toBe(201);
      const { body } = await app.api('GET', '/v1/inboxes?label.n=1');
      expect(body.inboxes).toMatchObject([{ id: again.body.id }]);
      expect((await app.api('POST', '/v1/inboxes', { body: {} })).status).toBe(201);
    });

    it('sends the pending deliveries, under the ids that they had', async () => {
      const path = `/v1/webhooks/${filled.webhookId}/deliveries?limit=100`;
      const delivered = async () => (await app.api('GET', `${path}&state=delivered`)).body.deliveries.length;
      await expect.poll(delivered).toBeGreaterThan(5);
      // Those that failed before the move come again, when their next attempt is due.
      const repeated = () => {
        const ids = receiver.requests.map(({ headers }) => headers['webhook-id']);
        return ids.length - new Set(ids).size;
      };
      await expect.poll(repeated).toBeGreaterThan(0);
    });
  });

  it('leaves an empty database when it is cut at any table (in the long form; here at every tenth), and succeeds when it is run again', async () => {
    const small = join(folder(), 'small');
    const app = await startApp({}, {}, small);
    const { address } = await app.createInbox();
    await app.send({ from: 'a@example.org', to: address, subject: 'One' });
    await app.stop();
    const url = await createDatabase(cluster);
    for (let last = 1; last <= tables().length; last += inForm(10, 1)) {
      let count = 0;
      const cut = () => {
        count += 1;
        if (count === last) throw new Error('cut');
      };
      await expect(transfer(databasePath(small), url, cut)).rejects.toThrow('cut');
      expect(await filledTables(url)).toEqual([]);
    }
    await transfer(databasePath(small), url);
    expect(await filledTables(url)).toEqual(expect.arrayContaining(['accounts', 'inboxes', 'messages']));
  });

  it('refuses a database that has rows, and changes nothing in it', async () => {
    const url = await createDatabase(cluster);
    await (await startApp({ MAYFLY_DATABASE_URL: url })).stop();
    const accounts = await query(url, 'select id from accounts');
    await expect(transfer(databasePath(dataDir), url)).rejects.toThrow(
      /Nothing was copied\. The PostgreSQL database is not empty: its table ".*" has rows\. Give the URL/,
    );
    expect(await query(url, 'select id from accounts')).toEqual(accounts);
  });

  it('refuses an embedded database that a server uses', async () => {
    await appOfTest(settings, {}, dataDir);
    const url = await createDatabase(cluster);
    const copying = transfer(databasePath(dataDir), url);
    await expect(copying).rejects.toThrow(/Another Mayfly server uses .*Stop it/);
  });

  it('notices a row that is altered on its way', async () => {
    const url = await createDatabase(cluster);
    await transfer(databasePath(dataDir), url);
    await query(
      url,
      `truncate ${tables().join(', ')};
      create function alter_row() returns trigger language plpgsql as
        $$ begin new.rcpt_to := upper(new.rcpt_to); return new; end $$;
      create trigger altered before insert on messages for each row execute function alter_row()`,
    );
    const copying = transfer(databasePath(dataDir), url);
    await expect(copying).rejects.toThrow(/The copy of the table "messages" differs from the original/);
    expect(await filledTables(url)).toEqual([]);
  });
});
