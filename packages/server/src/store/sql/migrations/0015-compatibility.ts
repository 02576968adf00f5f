import type { Kysely } from 'kysely';
import type { Dialect } from '../engine.ts';

export const usableFrom = 14;

/** Adds the table that says, for each later migration, which older servers can use the tables after it. */
export async function up(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  const table = db.schema
    .createTable('schema_compatibility')
    .addColumn('schema', dialect.integer, (c) => c.primaryKey())
    .addColumn('usable_from', dialect.integer, (c) => c.notNull());
  await dialect.keyed(table).execute();
}
