import type { Kysely } from 'kysely';
import type { Dialect } from '../engine.ts';

/** Adds the name under which a writer stores a source whose message does not exist yet; see sqlite/staging.ts. */
export async function up(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  await db.schema.alterTable('parked_sources').addColumn('stage', dialect.id).execute();
}
