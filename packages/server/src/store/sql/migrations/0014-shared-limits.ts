import type { Kysely } from 'kysely';
import type { Dialect } from '../engine.ts';

/** Adds the limits that all nodes keep together: rates of accounts, and sign-ups. */
export async function up(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  const table = db.schema
    .createTable('shared_limits')
    .addColumn('key', dialect.id, (c) => c.primaryKey())
    .addColumn('times', 'text', (c) => c.notNull())
    .addColumn('ends_at', dialect.integer, (c) => c.notNull());
  await dialect.keyed(table).execute();
}
