import type { Kysely } from 'kysely';
import type { Dialect } from '../engine.ts';

/** Adds the fault rules of inboxes. */
export async function up(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  // One change a statement: SQLite adds one column at a time.
  await db.schema.alterTable('inboxes').addColumn('faults', 'text').execute();
  await db.schema
    .alterTable('inboxes')
    .addColumn('faults_left', dialect.integer, (c) => c.notNull().defaultTo(0))
    .execute();
}
