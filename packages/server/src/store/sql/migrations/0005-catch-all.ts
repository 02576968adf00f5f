import type { Kysely } from 'kysely';
import type { Dialect } from '../engine.ts';

/** Adds inboxes that take mail for more than their own address; refusals are found by domain, too. */
export async function up(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  await db.schema
    .alterTable('inboxes')
    .addColumn('kind', dialect.id, (c) => c.notNull().defaultTo('address'))
    .execute();
  await db.schema.createIndex('refusals_of_domain').on('refusals').columns(['domain', 'at']).execute();
}
