import type { Kysely } from 'kysely';
import type { Dialect } from '../engine.ts';

export const usableFrom = 14;

/** Adds whether an inbox has a replay that has not come to its end. */
export async function up(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  await db.schema.alterTable('inboxes').addColumn('replay_until', dialect.integer).execute();
  await db.schema
    .createIndex('inboxes_replayed')
    .on('inboxes')
    .column('replay_until')
    .where('replay_until', 'is not', null)
    .execute();
}
