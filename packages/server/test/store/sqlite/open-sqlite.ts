import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { unavailable } from '../../../src/database/failures.ts';
import { migrate } from '../../../src/database/migrate.ts';
import { type Kit, type Operation, runOn } from '../../../src/database/sql.ts';
import {
  openReader,
  openWriter,
  readingEngine,
  writingEngine,
} from '../../../src/database/sqlite/connection.ts';
import { openSqlite, type SqliteOptions, startThread } from '../../../src/database/sqlite/open.ts';
import { Transactions } from '../../../src/database/sqlite/transactions.ts';
import { databaseThread } from '../../../src/database/thread.ts';
import { type ReadSources, type Store, storeOf } from '../../../src/store.ts';
import { readHere, storeOn, withReadings } from '../../support/store-on.ts';
import type { Opened } from '../contract/suite.ts';

export const TABLES = [
  'addresses',
  'deleted_inboxes',
  'deliveries',
  'domains',
  'failed_waits',
  'idempotency',
  'inbox_labels',
  'inbox_waits',
  'inboxes',
  'messages',
  'outgoing',
  'parked_sources',
  'provider_items',
  'readings',
  'refusals',
  'shared_sources',
  'source_pieces',
  'sources',
  'unread',
  'usage_days',
  'usage_months',
  'webhooks',
];

/** The number of rows of each table. */
export const COUNTS = TABLES.map((table) => `select '${table}' as name, count(*) as n from ${table}`).join(
  ' union all ',
);

/** A database file in a new temporary directory. */
export function temporaryPath(): { path: string; remove(): void } {
  const directory = mkdtempSync(join(tmpdir(), 'mayfly-store-'));
  return {
    path: join(directory, 'mayfly.db'),
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}

async function kitHere(path: string): Promise<Kit> {
  const database = openWriter({ path, busyTimeoutMs: 5000 });
  const nothing = () => undefined;
  const hooks = { afterCommit: nothing, makeSpace: nothing, onBroken: nothing };
  const kit = writingEngine(database, new Transactions(database, hooks));
  await kit.transaction((tx) => migrate(tx, 'sqlite'));
  return kit;
}

/** The engine's store as a server has it, but written to by this thread: it opens in a fifth of the time. */
export async function openSqliteHere(path: string, read: ReadSources): Promise<Store> {
  const writer = await kitHere(path);
  const reader = readingEngine(openReader({ path, busyTimeoutMs: 5000 }));
  const searcher = databaseThread(
    () => startThread({ role: 'search', path, busyTimeoutMs: 5000 }),
    () => undefined,
  );
  const generations = { all: 0, inboxes: 0 };
  const writes = new Set<Promise<unknown>>();
  let isClosed = false;
  const write = (operation: Operation<never, unknown>, args: readonly unknown[]) => {
    const call = runOn(operation, args, writer).finally(() => {
      writes.delete(call);
      generations.all += 1;
      if (!operation.traits.keepsInboxes) generations.inboxes += 1;
    });
    writes.add(call);
    return call;
  };
  const close = async () => {
    isClosed = true;
    await Promise.allSettled([reader.close(), searcher.close(), ...writes]);
    await writer.close();
  };
  return storeOf(
    async (path, operation, args) => {
      if (isClosed) throw unavailable('closed');
      if (operation.kind === 'search') return searcher.call(path, args);
      return operation.kind === 'read' ? runOn(operation, args, reader) : write(operation, args);
    },
    { generation: (of) => generations[of ?? 'all'], pendingWrites: () => 0, close },
    read,
  );
}

/** The engine as {@link openTemporary} opens it, but on this thread. */
export const openTemporaryHere = (): Promise<Opened> =>
  opened(async (path) => storeOn(await kitHere(path), readHere));

/** A store on SQLite in a new directory, which goes when it is closed. */
export function openTemporary(options: Partial<SqliteOptions> = {}): Promise<Opened & { path: string }> {
  return opened((path) => openSqlite({ path, read: readHere, ...options }));
}

async function opened(open: (path: string) => Promise<Store>): Promise<Opened & { path: string }> {
  const { path, remove } = temporaryPath();
  const store = withReadings(await open(path));
  const rows = new DatabaseSync(path, { timeout: 5000 });
  const others: Store[] = [];
  return {
    path,
    store,
    async openAnother() {
      const another = withReadings(await openSqlite({ path, exclusive: false, read: readHere }));
      others.push(another);
      return another;
    },
    sql: async (text) => rows.prepare(text).all(),
    async counts() {
      return Object.fromEntries(
        rows
          .prepare(COUNTS)
          .all()
          .map(({ name, n }) => [name, Number(n)]),
      );
    },
    async close() {
      rows.close();
      for (const other of others) await other.close();
      await store.close();
      remove();
    },
  };
}
