import { Client, Pool } from 'pg';
import { createPool, postgresEngine } from '../../../src/database/postgres/connection.ts';
import { openPostgres } from '../../../src/database/postgres/open.ts';
import type { Store } from '../../../src/store.ts';
import { type PostgresOptions, startPostgres } from '../../support/postgres.ts';
import { type Databases, sharedPostgres } from '../../support/shared-postgres.ts';
import { storeOn } from '../../support/store-on.ts';
import type { Opened } from '../contract/suite.ts';
import { TABLES } from '../sqlite/open-sqlite.ts';

/** A server that is not of this run keeps its databases. */
const PREFIX = `mayfly_test_${crypto.randomUUID().slice(0, 8)}`;
let lastDatabase = 0;

/** Creates an empty database, or a copy of one to which nothing is connected. @returns its URL */
export async function createDatabase(cluster: Databases, template = 'template1'): Promise<string> {
  const name = `${PREFIX}_${++lastDatabase}`;
  await run(cluster.url(), `create database ${name} template ${template}`);
  return cluster.url(name);
}

/** Copies of the tables that have rows from the start, such as the version of the schema. */
const KEEP_FIRST_ROWS = `create schema first_rows;
do $$ declare name text; begin
  for name in select tablename from pg_tables where schemaname = 'public' loop
    execute format('create table first_rows.%1$I as table public.%1$I', name);
  end loop;
end $$`;

/** Makes a database as it was from the start. A new copy of one takes twenty times as long. */
const EMPTY = `set session_replication_role = replica;
do $$ declare name text; begin
  for name in select tablename from pg_tables where schemaname = 'public' loop
    execute format('delete from public.%1$I; insert into public.%1$I select * from first_rows.%1$I', name);
  end loop;
  perform setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false) from pg_sequences;
end $$`;

async function run(url: string, text: string): Promise<void> {
  const client = new Client(url);
  await client.connect();
  await client.query(text);
  await client.end();
}

/**
 * Stores in databases of their own: copies of one that has the tables.
 * @param own starts a server for the caller alone; by default they are on that of the run
 */
export async function openStores(own?: PostgresOptions) {
  const started = own && (await startPostgres(own));
  const cluster = started ?? (await sharedPostgres());
  const template = await createDatabase(cluster);
  await (await openPostgres({ url: template })).close();
  await run(template, KEEP_FIRST_ROWS);
  const name = new URL(template).pathname.slice(1);
  const free: string[] = [];
  const open = async () => {
    const used = free.pop();
    if (used) await run(used, EMPTY);
    const url = used ?? (await createDatabase(cluster, name));
    return openOn(url, () => free.push(url));
  };
  return { open, close: async () => started?.remove() };
}

async function openOn(url: string, onClosed: () => void): Promise<Opened> {
  const store = await openPostgres({ url });
  const rows = new Pool({ connectionString: url, max: 1 });
  const others: Store[] = [];
  return {
    store,
    async openAnother() {
      const another = await openPostgres({ url });
      others.push(another);
      return another;
    },
    async gated(beforeTransaction) {
      const pool = createPool(url, () => undefined);
      const engine = postgresEngine(pool);
      const another = storeOn({
        ...engine,
        async transaction(work, of) {
          await beforeTransaction();
          return engine.transaction(work, of);
        },
      });
      others.push({ ...another, close: () => pool.end() });
      return another;
    },
    async counts() {
      const counts: Record<string, number> = {};
      for (const table of TABLES) {
        const result = await rows.query(`select count(*) as n from ${table}`);
        counts[table] = Number(result.rows[0].n);
      }
      return counts;
    },
    async close() {
      await rows.end();
      for (const other of others) await other.close();
      await store.close();
      onClosed();
    },
  };
}
