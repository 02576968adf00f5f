import type { Kysely } from 'kysely';
import type { Dialect } from '../engine.ts';

/** Makes the tables that `tables/` describes. */
export async function up(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  await accounts(db, dialect);
  await addresses(db, dialect);
  await inboxes(db, dialect);
  await labelsAndIdempotency(db, dialect);
  await messages(db, dialect);
  await refusals(db, dialect);
}

async function accounts(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  await dialect
    .keyed(db.schema.createTable('markers').addColumn('name', dialect.id, (c) => c.primaryKey()))
    .execute();
  await db.schema
    .createTable('accounts')
    .addColumn('seq', dialect.integer, (c) => dialect.rowNumber(c))
    .addColumn('id', dialect.id, (c) => c.notNull().unique())
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('plan', 'text', (c) => c.notNull())
    .addColumn('created_at', dialect.integer, (c) => c.notNull())
    .addColumn('message_order', dialect.integer, (c) => c.notNull().defaultTo(0))
    .execute();
  await db.schema
    .createTable('keys')
    .addColumn('id', dialect.id, (c) => c.primaryKey())
    .addColumn('hash', dialect.id, (c) => c.notNull().unique())
    .addColumn('account_id', dialect.id, (c) => c.notNull().references('accounts.id'))
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('scope', 'text', (c) => c.notNull())
    .addColumn('prefix', 'text', (c) => c.notNull())
    .addColumn('created_at', dialect.integer, (c) => c.notNull())
    .addColumn('expires_at', dialect.integer)
    .execute();
}

async function addresses(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  await dialect
    .keyed(
      db.schema
        .createTable('addresses')
        .addColumn('address', dialect.id, (c) => c.primaryKey())
        .addColumn('account_id', dialect.id, (c) => c.notNull())
        .addColumn('inbox_id', dialect.id)
        .addColumn('busy_until', dialect.integer, (c) => c.notNull())
        .addColumn('reserved_until', dialect.integer, (c) => c.notNull()),
    )
    .execute();
  await db.schema
    .createIndex('addresses_by_end')
    .on('addresses')
    .columns(['reserved_until', 'address'])
    .execute();
}

async function inboxes(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  await db.schema
    .createTable('inboxes')
    .addColumn('seq', dialect.integer, (c) => dialect.rowNumber(c))
    .addColumn('id', dialect.id, (c) => c.notNull().unique())
    .addColumn('account_id', dialect.id, (c) => c.notNull().references('accounts.id'))
    .addColumn('address', dialect.id, (c) => c.notNull())
    .addColumn('labels', 'text', (c) => c.notNull())
    .addColumn('token_hash', dialect.id, (c) => c.notNull().unique())
    .addColumn('ttl_minutes', dialect.integer, (c) => c.notNull())
    .addColumn('created_at', dialect.integer, (c) => c.notNull())
    .addColumn('expires_at', dialect.integer, (c) => c.notNull())
    .addColumn('max_expires_at', dialect.integer, (c) => c.notNull())
    .addColumn('message_count', dialect.integer, (c) => c.notNull())
    .addColumn('last_received_at', dialect.integer, (c) => c.notNull())
    .addColumn('version', dialect.integer, (c) => c.notNull())
    .addColumn('freed', dialect.integer, (c) => c.notNull())
    .execute();
  const index = (name: string, columns: string[]) =>
    db.schema.createIndex(name).on('inboxes').columns(columns).execute();
  await index('inboxes_of_account', ['account_id', 'id']);
  await index('inboxes_alive', ['account_id', 'expires_at']);
  await index('inboxes_by_end', ['freed', 'expires_at']);
}

async function labelsAndIdempotency(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  await dialect
    .keyed(
      db.schema
        .createTable('inbox_labels')
        .addColumn('account_id', dialect.id, (c) => c.notNull())
        .addColumn('pair', dialect.id, (c) => c.notNull())
        .addColumn('inbox_id', dialect.id, (c) => c.notNull())
        .addColumn('inbox_seq', dialect.integer, (c) =>
          c.notNull().references('inboxes.seq').onDelete('cascade'),
        )
        .addPrimaryKeyConstraint('inbox_labels_key', ['account_id', 'pair', 'inbox_id']),
    )
    .execute();
  await db.schema.createIndex('labels_of_inbox').on('inbox_labels').column('inbox_seq').execute();
  await dialect
    .keyed(
      db.schema
        .createTable('idempotency')
        .addColumn('key_id', dialect.id, (c) => c.notNull())
        .addColumn('key_hash', dialect.id, (c) => c.notNull())
        .addColumn('body_hash', dialect.id, (c) => c.notNull())
        .addColumn('nonce', 'text', (c) => c.notNull())
        .addColumn('inbox', 'text', (c) => c.notNull())
        .addColumn('expires_at', dialect.integer, (c) => c.notNull())
        .addPrimaryKeyConstraint('idempotency_key', ['key_id', 'key_hash']),
    )
    .execute();
  await db.schema.createIndex('idempotency_by_end').on('idempotency').column('expires_at').execute();
}

async function messages(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  await db.schema
    .createTable('sources')
    .addColumn('seq', dialect.integer, (c) => dialect.rowNumber(c))
    .addColumn('size', dialect.integer, (c) => c.notNull())
    .addColumn('parse_error', 'text')
    .addColumn('summary', dialect.blob, (c) => c.notNull())
    .addColumn('envelope', 'text', (c) => c.notNull())
    .addColumn('content', dialect.blob, (c) => c.notNull())
    .addColumn('raw', dialect.blob, (c) => c.notNull())
    .execute();
  await db.schema
    .createTable('source_pieces')
    .addColumn('source_seq', dialect.integer, (c) => c.notNull().references('sources.seq'))
    .addColumn('piece', dialect.integer, (c) => c.notNull())
    .addColumn('bytes', dialect.blob, (c) => c.notNull())
    .addPrimaryKeyConstraint('source_pieces_key', ['source_seq', 'piece'])
    .execute();
  await db.schema
    .createTable('shared_sources')
    .addColumn('source_seq', dialect.integer, (c) => c.primaryKey())
    .addColumn('messages', dialect.integer, (c) => c.notNull())
    .execute();
  await db.schema
    .createTable('parked_sources')
    .addColumn('source_seq', dialect.integer, (c) => c.primaryKey())
    .execute();
  // No foreign key to sources: it would need an index of its own on every message, and only
  // sources.ts ever removes a source.
  await dialect
    .keyed(
      db.schema
        .createTable('messages')
        .addColumn('inbox_seq', dialect.integer, (c) => c.notNull().references('inboxes.seq'))
        .addColumn('received_at', dialect.integer, (c) => c.notNull())
        .addColumn('id', dialect.id, (c) => c.notNull())
        .addColumn('source_seq', dialect.integer, (c) => c.notNull())
        .addColumn('rcpt_to', 'text', (c) => c.notNull())
        .addColumn('account_seq', dialect.integer, (c) => c.notNull())
        .addColumn('account_order', dialect.integer, (c) => c.notNull())
        .addPrimaryKeyConstraint('messages_key', ['inbox_seq', 'received_at']),
    )
    .execute();
  await db.schema
    .createIndex('messages_of_account')
    .on('messages')
    .columns(['account_seq', 'account_order'])
    .unique()
    .execute();
}

async function refusals(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  await db.schema
    .createTable('refusals')
    .addColumn('seq', dialect.integer, (c) => dialect.rowNumber(c))
    .addColumn('address', 'text', (c) => c.notNull())
    .addColumn('at', dialect.integer, (c) => c.notNull())
    .addColumn('details', 'text', (c) => c.notNull())
    .execute();
  await db.schema.createIndex('refusals_of_address').on('refusals').columns(['address', 'at']).execute();
  await db.schema.createIndex('refusals_by_time').on('refusals').columns(['at']).execute();
}
