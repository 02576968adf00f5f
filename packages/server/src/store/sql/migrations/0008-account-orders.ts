import { type Kysely, sql } from 'kysely';
import type { Dialect } from '../engine.ts';

/**
 * Gives the orders of accounts a table of their own: an inbox is created under a lock on the row of its
 * account, and a mail must not wait for that. `accounts.message_order` stays for servers of the version before.
 */
export async function up(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  await db.schema
    .createTable('account_orders')
    .addColumn('account_seq', dialect.integer, (c) => c.primaryKey())
    .addColumn('last', dialect.integer, (c) => c.notNull())
    .execute();
  await sql`insert into account_orders (account_seq, last)
    select seq, message_order from accounts where message_order > 0`.execute(db);
  await dialect.onlyOnPostgres(db, [...STORAGE, ...OLDER_SERVERS]);
}

/** How the rows that each mail touches are stored; the reasons are measured in docs/benchmarks.md. */
const STORAGE = [
  // Room on each page for the next versions of rows that are updated with every mail.
  'alter table account_orders set (fillfactor = 50)',
  'alter table inboxes set (fillfactor = 70)',
  // Compressing mails took more processor time than everything else that storing them takes.
  'alter table sources alter column raw set storage external',
  'alter table sources alter column content set storage external',
  'alter table sources alter column summary set storage external',
  'alter table source_pieces alter column bytes set storage external',
  // A transaction that adds messages has locked their inboxes; the constraint would look up each one again.
  'alter table messages drop constraint messages_inbox_seq_fkey',
  // Most rows live for an hour: dead ones are removed before a fifth of the table (the default) is dead.
  ...['sources', 'messages', 'deliveries'].map(
    (table) =>
      `alter table ${table} set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_limit = 2000)`,
  ),
  'alter table sources set (toast.autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_cost_limit = 2000)',
];

/**
 * Servers of the version before take places from `accounts.message_order` until they are replaced. A trigger
 * gives them places from the new table, so that no place is given twice.
 */
const OLDER_SERVERS = [
  `create function take_account_places() returns trigger language plpgsql as $$
    begin
      insert into account_orders (account_seq, last)
        values (new.seq, new.message_order - old.message_order)
        on conflict (account_seq) do update set last = account_orders.last + excluded.last
        returning last into new.message_order;
      return new;
    end $$`,
  `create trigger take_account_places before update of message_order on accounts
    for each row execute function take_account_places()`,
];
