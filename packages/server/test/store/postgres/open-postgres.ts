import { Client, Pool } from 'pg';
import { openPostgres } from '../../../src/database/postgres/open.ts';
import type { Store } from '../../../src/store.ts';
import { type PostgresOptions, startPostgres } from '../../support/postgres.ts';
import { type Databases, sharedPostgres } from '../../support/shared-postgres.ts';
import { readHere, withReadings } from '../../support/store-on.ts';
import type { Opened } from '../contract/suite.ts';
import { COUNTS } from '../sqlite/open-sqlite.ts';

/** A server that is not of this run keeps its databases. */
const PREFIX = `mayfly_test_${crypto.randomUUID().slice(0, 8)}`;
let lastDatabase = 0;

/** Creates an empty database, or a copy of one to which nothing is connected. @returns its URL */
export async function createDatabase(cluster: Databases, template = 'template1'): Promise<string> {
  const name = `${PREFIX}_${++lastDatabase}`;
  await queryPostgres(cluster.url(), `create database ${name} template ${template}`);
  return cluster.url(name);
}

let withTables: Promise<string> | undefined;

/** Creates a database with empty tables, which a server opens in a fifth of the time. @returns its URL */
export async function createDatabaseWithTables(cluster: Databases): Promise<string> {
  withTables ??= createDatabase(cluster).then(async (url) => {
    await (await openPostgres({ url })).close();
    return new URL(url).pathname.slice(1);
  });
  return createDatabase(cluster, await withTables);
}

/** @returns the URL of a new database with tables, on the server that all tests of the run share */
export const newDatabase = async (): Promise<string> => createDatabaseWithTables(await sharedPostgres());

/** Copies of the tables that have rows from the start, such as the version of the schema. */
const KEEP_FIRST_ROWS = `create schema first_rows;
do $$ declare name text; begin
  for name in select tablename from pg_tables where schemaname = 'public' loop
    execute format('create table first_rows.%1$I as table public.%1$I', name);
  end loop;
end $$`;

/** Makes a database as it was from the start. Another one, with new connections, takes several times as long. */
const EMPTY = `set session_replication_role = replica;
do $$ declare name text; begin
  for name in select tablename from pg_tables where schemaname = 'public' loop
    execute format('delete from public.%1$I; insert into public.%1$I select * from first_rows.%1$I', name);
  end loop;
  perform setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false) from pg_sequences;
end $$`;

/** Runs a statement on a connection of its own. @returns the rows */
export async function queryPostgres(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new Client(url);
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
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
  await queryPostgres(template, KEEP_FIRST_ROWS);
  const name = new URL(template).pathname.slice(1);
  const all: PostgresOpened[] = [];
  const idle: PostgresOpened[] = [];
  const open = async (): Promise<Opened> => {
    const used = idle.pop();
    await used?.empty();
    const opened = used ?? (await openOn(await createDatabase(cluster, name)));
    if (!used) all.push(opened);
    return { ...opened, close: () => opened.closeOthers().then(() => void idle.push(opened)) };
  };
  const close = async () => {
    for (const opened of all) await opened.close();
    await started?.remove();
  };
  return { open, close };
}

interface PostgresOpened extends Opened {
  empty(): Promise<unknown>;
  closeOthers(): Promise<void>;
}

async function openOn(url: string): Promise<PostgresOpened> {
  const store = withReadings(await openPostgres({ url, read: readHere }));
  const rows = new Pool({ connectionString: url, max: 1 });
  const others: Store[] = [];
  const closeOthers = async () => {
    for (const other of others.splice(0)) await other.close();
  };
  return {
    store,
    empty: () => rows.query(EMPTY),
    closeOthers,
    async openAnother() {
      const another = withReadings(await openPostgres({ url, read: readHere }));
      others.push(another);
      return another;
    },
    sql: async (text) => (await rows.query(text)).rows,
    async counts() {
      const { rows: counts } = await rows.query(COUNTS);
      return Object.fromEntries(counts.map(({ name, n }) => [name, Number(n)]));
    },
    async close() {
      await rows.end();
      await closeOthers();
      await store.close();
    },
  };
}
