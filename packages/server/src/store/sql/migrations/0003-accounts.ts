import { type Kysely, sql } from 'kysely';
import type { Dialect } from '../engine.ts';

/** Adds what accounts use and own: the use of keys, usage by month and day, domains. */
export async function up(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  await db.schema.alterTable('keys').addColumn('last_used_at', dialect.integer).execute();
  await db.schema.createIndex('keys_of_account').on('keys').columns(['account_id', 'id']).execute();
  await usage(db, dialect);
  await domains(db, dialect);
  await refusals(db, dialect);
}

async function usage(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  // No foreign keys to accounts: a report for a deleted account must not fail the report of the others.
  await dialect
    .keyed(
      db.schema
        .createTable('usage_months')
        .addColumn('account_id', dialect.id, (c) => c.notNull())
        .addColumn('month', dialect.id, (c) => c.notNull())
        .addColumn('taken', dialect.integer, (c) => c.notNull())
        .addColumn('last_grant', dialect.integer, (c) => c.notNull())
        .addColumn('passed_80_at', dialect.integer)
        .addColumn('passed_100_at', dialect.integer)
        .addPrimaryKeyConstraint('usage_months_key', ['account_id', 'month']),
    )
    .execute();
  await db.schema.createIndex('usage_months_by_age').on('usage_months').column('month').execute();
  await dialect
    .keyed(
      db.schema
        .createTable('usage_days')
        .addColumn('account_id', dialect.id, (c) => c.notNull())
        .addColumn('day', dialect.id, (c) => c.notNull())
        .addColumn('requests', dialect.integer, (c) => c.notNull())
        .addPrimaryKeyConstraint('usage_days_key', ['account_id', 'day']),
    )
    .execute();
  await db.schema.createIndex('usage_days_by_age').on('usage_days').column('day').execute();
}

async function domains(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  await dialect
    .keyed(
      db.schema
        .createTable('domains')
        .addColumn('domain', dialect.id, (c) => c.primaryKey())
        .addColumn('account_id', dialect.id, (c) => c.notNull().references('accounts.id'))
        .addColumn('created_at', dialect.integer, (c) => c.notNull()),
    )
    .execute();
  await db.schema.createIndex('domains_of_account').on('domains').columns(['account_id', 'domain']).execute();
}

async function refusals(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  await db.schema
    .alterTable('refusals')
    .addColumn('domain', dialect.id, (c) => c.notNull().defaultTo(''))
    .execute();
  // To trim all letters that are no @ from the right is to end at the last one. The address is JSON text.
  const unquoted = sql`substr(address, 2, length(address) - 2)`;
  const toLastAt = sql`rtrim(${unquoted}, replace(${unquoted}, '@', ''))`;
  await sql`update refusals set domain = substr(${unquoted}, length(${toLastAt}) + 1)`.execute(db);
}
