import type { Kysely } from 'kysely';
import type { Dialect } from '../engine.ts';

/** Adds the mark below which an emptied inbox has no messages. */
export async function up(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  await db.schema
    .alterTable('inboxes')
    .addColumn('emptied_up_to', dialect.integer, (c) => c.notNull().defaultTo(0))
    .execute();
  // Inboxes with messages that still have to be freed; nearly always empty.
  await db.schema
    .createIndex('inboxes_emptied')
    .on('inboxes')
    .columns(['emptied_up_to'])
    .where('emptied_up_to', '>', 0)
    .execute();
}
