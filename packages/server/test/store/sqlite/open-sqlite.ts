import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Store } from '../../../src/store/contract/index.ts';
import type { Db, Tx } from '../../../src/store/sql/dialect.ts';
import { migrate } from '../../../src/store/sql/migrations/migrate.ts';
import { createSqlStore } from '../../../src/store/sql/sql-store.ts';
import { kyselyOn, openWriter, sqliteDialect } from '../../../src/store/sqlite/connection.ts';
import { openSqlite, type SqliteOptions } from '../../../src/store/sqlite/open.ts';
import type { Opened } from '../contract/suite.ts';

const TABLES = [
  'addresses',
  'attempts',
  'deliveries',
  'domains',
  'idempotency',
  'inbox_labels',
  'inboxes',
  'messages',
  'parked_sources',
  'refusals',
  'shared_sources',
  'source_pieces',
  'sources',
  'usage_days',
  'usage_months',
  'webhooks',
];

/** A database file in a new temporary directory. */
export function temporaryPath(): { path: string; remove(): void } {
  const directory = mkdtempSync(join(tmpdir(), 'mayfly-store-'));
  return {
    path: join(directory, 'mayfly.db'),
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}

/** The engine's store alone, without the threads between it and its callers: it opens in a fifth of the time. */
async function openHere(path: string): Promise<Store> {
  const db = kyselyOn(openWriter({ path, busyTimeoutMs: 5000 }));
  await migrate(db, sqliteDialect);
  return createSqlStore(db, sqliteDialect);
}

/** The engine as {@link openTemporary} opens it, but on this thread. */
export const openTemporaryHere = (): Promise<Opened> => opened(openHere);

/** A store on SQLite in a new directory, which goes when it is closed. */
export function openTemporary(options: Partial<SqliteOptions> = {}): Promise<Opened & { path: string }> {
  return opened((path) => openSqlite({ path, ...options }));
}

/** A database whose transactions each wait for `before`. */
function gateTransactions(db: Db, before: () => Promise<void>): Db {
  const transaction = () => ({
    execute: async <Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> => {
      await before();
      return db.transaction().execute(work);
    },
  });
  return new Proxy(db, {
    get(target, name) {
      if (name === 'transaction') return transaction;
      const member = Reflect.get(target, name, target);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}

async function opened(open: (path: string) => Promise<Store>): Promise<Opened & { path: string }> {
  const { path, remove } = temporaryPath();
  const store = await open(path);
  const rows = new DatabaseSync(path, { timeout: 5000 });
  const others: Store[] = [];
  return {
    path,
    store,
    async openAnother() {
      const another = await openSqlite({ path, exclusive: false });
      others.push(another);
      return another;
    },
    async gated(beforeTransaction) {
      const db = kyselyOn(openWriter({ path, busyTimeoutMs: 5000 }));
      const another = createSqlStore(gateTransactions(db, beforeTransaction), sqliteDialect);
      others.push(another);
      return another;
    },
    async counts() {
      const count = (table: string) => Number(rows.prepare(`select count(*) as n from ${table}`).get()?.n);
      return Object.fromEntries(TABLES.map((table) => [table, count(table)]));
    },
    async close() {
      rows.close();
      for (const other of others) await other.close();
      await store.close();
      remove();
    },
  };
}
