import { type Kysely, sql } from 'kysely';
import type { Dialect } from '../engine.ts';

/** Adds what reports of test runs are made from. */
export async function up(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  for (const column of ['received_messages', 'first_received_at']) {
    await db.schema
      .alterTable('inboxes')
      .addColumn(column, dialect.integer, (c) => c.notNull().defaultTo(0))
      .execute();
  }
  // Of messages that were deleted before, nothing is known.
  await sql`update inboxes set received_messages = message_count, first_received_at =
    coalesce((select min(received_at) from messages where messages.inbox_seq = inboxes.seq), 0)
    where message_count > 0`.execute(db);
  await dialect
    .keyed(
      db.schema
        .createTable('inbox_waits')
        .addColumn('inbox_seq', dialect.integer, (c) =>
          c.primaryKey().references('inboxes.seq').onDelete('cascade'),
        )
        .addColumn('waits', 'text', (c) => c.notNull()),
    )
    .execute();
  await dialect
    .keyed(
      db.schema
        .createTable('deleted_inboxes')
        .addColumn('id', dialect.id, (c) => c.primaryKey())
        .addColumn('account_id', dialect.id, (c) => c.notNull())
        .addColumn('address', 'text', (c) => c.notNull())
        .addColumn('labels', 'text', (c) => c.notNull())
        .addColumn('created_at', dialect.integer, (c) => c.notNull())
        .addColumn('deleted_at', dialect.integer, (c) => c.notNull())
        .addColumn('received_messages', dialect.integer, (c) => c.notNull())
        .addColumn('first_received_at', dialect.integer, (c) => c.notNull())
        .addColumn('waits', 'text'),
    )
    .execute();
  const index = (name: string, columns: string[]) =>
    db.schema.createIndex(name).on('deleted_inboxes').columns(columns).execute();
  await index('deleted_inboxes_of_account', ['account_id', 'id']);
  await index('deleted_inboxes_by_end', ['deleted_at']);
}
