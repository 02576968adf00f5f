import type { Kysely } from 'kysely';
import type { Dialect } from '../engine.ts';

/** Adds webhooks, their deliveries and the attempts. */
export async function up(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  await db.schema
    .alterTable('inboxes')
    .addColumn('has_webhook', dialect.integer, (c) => c.notNull().defaultTo(0))
    .execute();
  await db.schema.alterTable('idempotency').addColumn('webhook', 'text').execute();
  await webhooks(db, dialect);
  await deliveries(db, dialect);
}

async function webhooks(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  await db.schema
    .createTable('webhooks')
    .addColumn('id', dialect.id, (c) => c.primaryKey())
    .addColumn('account_id', dialect.id, (c) => c.notNull().references('accounts.id'))
    .addColumn('inbox_id', dialect.id)
    .addColumn('url', 'text', (c) => c.notNull())
    .addColumn('description', 'text', (c) => c.notNull())
    .addColumn('secrets', 'text', (c) => c.notNull())
    .addColumn('enabled', dialect.integer, (c) => c.notNull())
    .addColumn('disabled_reason', 'text')
    .addColumn('created_at', dialect.integer, (c) => c.notNull())
    .addColumn('ends_at', dialect.integer, (c) => c.notNull())
    .addColumn('prompt', dialect.integer, (c) => c.notNull())
    .addColumn('failing_since', dialect.integer)
    .addColumn('failed_attempts', dialect.integer, (c) => c.notNull())
    .addColumn('next_at', dialect.integer)
    .addColumn('blocked_until', dialect.integer, (c) => c.notNull().defaultTo(0))
    .addColumn('kept', dialect.integer, (c) => c.notNull())
    .execute();
  const index = (name: string, columns: string[]) =>
    db.schema.createIndex(name).on('webhooks').columns(columns).execute();
  await index('webhooks_of_account', ['account_id', 'id']);
  await index('webhooks_of_inbox', ['account_id', 'inbox_id']);
  await index('webhooks_by_end', ['ends_at']);
  await db.schema
    .createIndex('webhooks_due')
    .on('webhooks')
    .columns(['prompt', 'next_at'])
    .where('next_at', 'is not', null)
    .execute();
}

async function deliveries(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  await dialect
    .keyed(
      db.schema
        .createTable('deliveries')
        .addColumn('id', dialect.id, (c) => c.primaryKey())
        .addColumn('webhook_id', dialect.id, (c) => c.notNull().references('webhooks.id'))
        .addColumn('event_id', dialect.id, (c) => c.notNull())
        .addColumn('inbox_id', dialect.id)
        .addColumn('message_id', dialect.id)
        .addColumn('state', 'text', (c) => c.notNull())
        .addColumn('reason', 'text')
        .addColumn('created_at', dialect.integer, (c) => c.notNull())
        .addColumn('due_at', dialect.integer)
        .addColumn('leased_until', dialect.integer)
        .addColumn('ended_at', dialect.integer)
        .addColumn('round', dialect.integer, (c) => c.notNull())
        .addColumn('attempts', dialect.integer, (c) => c.notNull()),
    )
    .execute();
  const index = (name: string, columns: string[]) =>
    db.schema.createIndex(name).on('deliveries').columns(columns);
  await index('deliveries_of_webhook', ['webhook_id', 'id']).execute();
  await index('deliveries_due', ['webhook_id', 'due_at']).where('due_at', 'is not', null).execute();
  await index('deliveries_leased', ['webhook_id', 'leased_until'])
    .where('leased_until', 'is not', null)
    .execute();
  await index('deliveries_of_inbox', ['inbox_id']).where('ended_at', 'is', null).execute();
  await index('deliveries_by_end', ['ended_at']).where('ended_at', 'is not', null).execute();
  // No foreign key to deliveries: only delivery-queue.ts ever removes them, attempts first.
  await dialect
    .keyed(
      db.schema
        .createTable('attempts')
        .addColumn('delivery_id', dialect.id, (c) => c.notNull())
        .addColumn('number', dialect.integer, (c) => c.notNull())
        .addColumn('at', dialect.integer, (c) => c.notNull())
        .addColumn('status', dialect.integer)
        .addColumn('duration_ms', dialect.integer, (c) => c.notNull())
        .addColumn('error', 'text')
        .addColumn('response_start', 'text', (c) => c.notNull())
        .addPrimaryKeyConstraint('attempts_key', ['delivery_id', 'number']),
    )
    .execute();
}
