import type { Kysely } from 'kysely';
import type { Dialect } from '../engine.ts';

/** Lets an account be marked as being deleted. */
export async function up(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  await db.schema.alterTable('accounts').addColumn('deleted_at', dialect.integer).execute();
}
