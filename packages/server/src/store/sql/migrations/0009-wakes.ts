import { type Kysely, sql } from 'kysely';
import type { Dialect } from '../engine.ts';

/** Adds the wakes, which replace updates of webhooks by the intake, and what schedules need after a clock ran back. */
export async function up(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  // No foreign key: the intake would check it for each row, and a wake of a deleted webhook is harmless.
  await db.schema
    .createTable('wakes')
    .addColumn('seq', dialect.integer, (c) => dialect.rowNumber(c))
    .addColumn('webhook_id', dialect.id, (c) => c.notNull())
    .addColumn('at', dialect.integer, (c) => c.notNull())
    .addColumn('added', dialect.integer, (c) => c.notNull())
    .execute();
  // Rows live for milliseconds: dead ones are removed by number, not by share of a table that is empty.
  await dialect.onlyOnPostgres(db, [
    'alter table wakes set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000)',
  ]);
  for (const column of ['scheduled_at', 'ahead_ms']) {
    await db.schema
      .alterTable('webhooks')
      .addColumn(column, dialect.integer, (c) => c.notNull().defaultTo(0))
      .execute();
  }
  await db.schema
    .createIndex('webhooks_by_schedule')
    .on('webhooks')
    .columns(['scheduled_at'])
    .where(sql.ref('next_at'), 'is not', null)
    .execute();
}
