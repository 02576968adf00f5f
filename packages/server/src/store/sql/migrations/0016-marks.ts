import type { Kysely } from 'kysely';
import type { Dialect } from '../engine.ts';

export const usableFrom = 14;

/** Adds what clients note about a message: that it was read, and tags. */
export async function up(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  await db.schema.alterTable('messages').addColumn('read_at', dialect.integer).execute();
  await db.schema
    .alterTable('messages')
    .addColumn('tags', 'text', (c) => c.notNull().defaultTo('[]'))
    .execute();
}
