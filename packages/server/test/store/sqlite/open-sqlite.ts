import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { migrate } from '../../../src/database/migrate.ts';
import { openWriter, writingEngine } from '../../../src/database/sqlite/connection.ts';
import { openSqlite, type SqliteOptions } from '../../../src/database/sqlite/open.ts';
import { Transactions } from '../../../src/database/sqlite/transactions.ts';
import { createStore, type Store } from '../../../src/store.ts';
import type { Opened } from '../contract/suite.ts';

export const TABLES = [
  'addresses',
  'attempts',
  'deleted_inboxes',
  'deliveries',
  'domains',
  'failed_waits',
  'idempotency',
  'inbox_labels',
  'inbox_waits',
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
  const engine = engineHere(path);
  await engine.transaction((tx) => migrate(tx, 'sqlite'));
  return createStore(engine);
}

function engineHere(path: string) {
  const database = openWriter({ path, busyTimeoutMs: 5000 });
  const nothing = () => undefined;
  const hooks = {
    beforeTransaction: nothing,
    afterCommit: nothing,
    makeSpace: nothing,
    onBusy: nothing,
    onBroken: nothing,
  };
  return writingEngine(database, new Transactions(database, hooks));
}

/** The engine as {@link openTemporary} opens it, but on this thread. */
export const openTemporaryHere = (): Promise<Opened> => opened(openHere);

/** A store on SQLite in a new directory, which goes when it is closed. */
export function openTemporary(options: Partial<SqliteOptions> = {}): Promise<Opened & { path: string }> {
  return opened((path) => openSqlite({ path, ...options }));
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
      const engine = engineHere(path);
      const another = createStore({
        ...engine,
        async transaction(work, of) {
          await beforeTransaction();
          return engine.transaction(work, of);
        },
      });
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
