import { Client, Pool } from 'pg';
import { createPool, postgresEngine } from '../../../src/database/postgres/connection.ts';
import { openPostgres } from '../../../src/database/postgres/open.ts';
import { createStore, type Store } from '../../../src/store.ts';
import { type PostgresCluster, type PostgresOptions, startPostgres } from '../../support/postgres.ts';
import type { Opened } from '../contract/suite.ts';
import { TABLES } from '../sqlite/open-sqlite.ts';

let lastDatabase = 0;

/** Creates an empty database, or a copy of one to which nothing is connected. @returns its URL */
export async function createDatabase(cluster: PostgresCluster, template = 'template1'): Promise<string> {
  const name = `mayfly_${++lastDatabase}`;
  const client = new Client(cluster.url());
  await client.connect();
  await client.query(`create database ${name} template ${template}`);
  await client.end();
  return cluster.url(name);
}

/** A cluster for the tests of a file, and stores in databases of their own: copies of one that has the tables. */
export async function startCluster(options: PostgresOptions = {}) {
  const cluster = await startPostgres(options);
  const template = await createDatabase(cluster);
  await (await openPostgres({ url: template })).close();
  const name = new URL(template).pathname.slice(1);
  return { cluster, open: async () => openOn(await createDatabase(cluster, name)) };
}

async function openOn(url: string): Promise<Opened> {
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
      const another = createStore({
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
    },
  };
}
