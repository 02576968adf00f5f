import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openSqlite, type SqliteOptions } from '../../src/store/sqlite.ts';
import type { Opened } from './suite.ts';

const TABLES = [
  'addresses',
  'attempts',
  'deliveries',
  'idempotency',
  'inbox_labels',
  'inboxes',
  'messages',
  'parked_sources',
  'refusals',
  'shared_sources',
  'source_pieces',
  'sources',
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

/** A store on SQLite in a new directory, which goes when it is closed. */
export async function openTemporary(
  options: Partial<SqliteOptions> = {},
): Promise<Opened & { path: string }> {
  const { path, remove } = temporaryPath();
  const store = await openSqlite({ path, ...options });
  const beside = new DatabaseSync(path, { timeout: 5000 });
  return {
    path,
    store,
    async addAccount({ id, name, plan, createdAt }) {
      beside
        .prepare('insert into accounts (id, name, plan, created_at) values (?, ?, ?, ?)')
        .run(id, JSON.stringify(name), plan, createdAt);
    },
    async counts() {
      const count = (table: string) => Number(beside.prepare(`select count(*) as n from ${table}`).get()?.n);
      return Object.fromEntries(TABLES.map((table) => [table, count(table)]));
    },
    async close() {
      beside.close();
      await store.close();
      remove();
    },
  };
}
