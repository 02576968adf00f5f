import type { Kysely } from 'kysely';
import type { Dialect } from '../engine.ts';

export const usableFrom = 14;

/** Adds what failed waits have explained. */
export async function up(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  const table = db.schema
    .createTable('failed_waits')
    .addColumn('id', dialect.id, (c) => c.primaryKey())
    .addColumn('account_id', dialect.id, (c) => c.notNull())
    .addColumn('inbox_id', dialect.id, (c) => c.notNull())
    .addColumn('ended_at', dialect.integer, (c) => c.notNull())
    .addColumn('plain', 'text', (c) => c.notNull())
    .addColumn('content', 'text');
  await table.execute();
  const index = (name: string, columns: string[]) =>
    db.schema.createIndex(name).on('failed_waits').columns(columns).execute();
  await index('failed_waits_of_inbox', ['inbox_id', 'id']);
  await index('failed_waits_of_account', ['account_id']);
  await index('failed_waits_by_end', ['ended_at']);
}
