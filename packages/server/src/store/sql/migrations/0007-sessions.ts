import type { Kysely } from 'kysely';
import type { Dialect } from '../engine.ts';

/** Adds the sessions of the console. A session names its credential by hash, so it ends with the credential. */
export async function up(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  await db.schema
    .createTable('sessions')
    .addColumn('hash', dialect.id, (c) => c.primaryKey())
    .addColumn('credential_hash', dialect.id, (c) => c.notNull())
    .addColumn('kind', dialect.id, (c) => c.notNull())
    .addColumn('created_at', dialect.integer, (c) => c.notNull())
    .addColumn('used_at', dialect.integer, (c) => c.notNull())
    .execute();
  await db.schema.createIndex('sessions_by_use').on('sessions').column('used_at').execute();
}
