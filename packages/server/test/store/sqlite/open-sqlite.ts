import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { onTestFinished } from 'vitest';
import { openSqlite, type SqliteOptions } from '../../../src/database/sqlite/open.ts';
import type { Store } from '../../../src/store.ts';
import { readHere, withReadings } from '../../support/store-on.ts';
import { accountOn, inboxAt } from '../builders.ts';
import type { Opened } from '../contract/suite.ts';

export const TABLES = [
  ...['addresses', 'deleted_inboxes', 'deliveries', 'domains', 'failed_waits', 'idempotency'],
  ...['inbox_labels', 'inbox_waits', 'inboxes', 'messages', 'outgoing', 'parked_sources', 'provider_items'],
  ...['readings', 'refusals', 'shared_sources', 'source_pieces', 'sources', 'unread', 'usage_days'],
  ...['usage_months', 'webhooks'],
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

/** A store on SQLite in a new directory, which goes when it is closed. With `isDurable: false` it needs no thread. */
export async function openTemporary(
  options: Partial<SqliteOptions> = {},
): Promise<Opened & { path: string }> {
  const { path, remove } = temporaryPath();
  const store = withReadings(await openSqlite({ path, read: readHere, ...options }));
  const rows = new DatabaseSync(path, { timeout: 5000 });
  const counting = rows.prepare(COUNTS);
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
    counts: async () => Object.fromEntries(counting.all().map(({ name, n }) => [name, Number(n)])),
    async close() {
      rows.close();
      for (const other of others) await other.close();
      await store.close();
      remove();
    },
  };
}

/** A store of the test, with an account and an inbox in it. */
export async function openWithInbox(options?: Partial<SqliteOptions>) {
  const opened = await openTemporary(options);
  onTestFinished(opened.close);
  const accountId = await accountOn(opened.store);
  const { inbox } = await opened.store.inboxes.create(accountId, inboxAt(), 10, null);
  return { ...opened, accountId, inbox };
}
