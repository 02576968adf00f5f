import { type Kysely, sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import type { Db, Dialect } from '../engine.ts';
import * as init from './0001-init.ts';
import * as webhooks from './0002-webhooks.ts';
import * as accounts from './0003-accounts.ts';
import * as accountDeletion from './0004-account-deletion.ts';
import * as catchAll from './0005-catch-all.ts';
import * as emptying from './0006-emptying.ts';
import * as sessions from './0007-sessions.ts';
import * as accountOrders from './0008-account-orders.ts';
import * as wakes from './0009-wakes.ts';
import * as faults from './0010-faults.ts';
import * as reports from './0011-reports.ts';
import * as staging from './0013-staging.ts';
import * as sharedLimits from './0014-shared-limits.ts';
import * as compatibility from './0015-compatibility.ts';
import * as marks from './0016-marks.ts';
import * as failedWaits from './0017-failed-waits.ts';
import * as replays from './0018-replays.ts';

/** A change of the tables. */
interface SchemaChange {
  up(db: Kysely<unknown>, dialect: Dialect): Promise<void>;
  /** The number of the oldest migration whose servers can use the tables after this one. */
  usableFrom?: number;
}

/**
 * All migrations by name, oldest first; a released one is never changed. Each after 0014 says which older
 * servers can still use the tables, because they are restarted while an upgrade replaces them one by one.
 */
export const MIGRATIONS: Record<string, SchemaChange> = {
  '0001-init': init,
  '0002-webhooks': webhooks,
  '0003-accounts': accounts,
  '0004-account-deletion': accountDeletion,
  '0005-catch-all': catchAll,
  '0006-emptying': emptying,
  '0007-sessions': sessions,
  '0008-account-orders': accountOrders,
  '0009-wakes': wakes,
  '0010-faults': faults,
  '0011-reports': reports,
  '0013-staging': staging,
  '0014-shared-limits': sharedLimits,
  '0015-compatibility': compatibility,
  '0016-marks': marks,
  '0017-failed-waits': failedWaits,
  '0018-replays': replays,
};

/**
 * How long a migration waits for the lock of a table, milliseconds: all later statements on the table wait
 * behind it, those of servers that receive mail as well.
 */
const LOCK_TIMEOUT_MS = 2_000;

/** The tables that say which migrations were run; all others hold what servers store. */
export const MIGRATION_TABLES = ['kysely_migration', 'kysely_migration_lock', 'schema_compatibility'];

/** @param name begins with the four digits of the migration's number */
const numberOf = (name: string): number => Number(name.slice(0, 4));

/** A migration as Kysely runs it: with it, the database notes which older servers can still use the tables. */
function migrationOf(name: string, { up, usableFrom }: SchemaChange, dialect: Dialect): Migration {
  return {
    async up(tx: Kysely<unknown>) {
      // Set here, because Kysely waits before for other servers that upgrade the tables, which may take longer.
      await dialect.onlyOnPostgres(tx, [`set local lock_timeout = ${LOCK_TIMEOUT_MS}`]);
      await up(tx, dialect);
      if (usableFrom === undefined) return;
      await sql`insert into schema_compatibility values (${numberOf(name)}, ${usableFrom})`.execute(tx);
    },
  };
}

/**
 * Makes sure that this version can use tables that a newer one has changed.
 * @throws Error that says what to do if it cannot
 */
async function requireUsable(db: Db): Promise<void> {
  const own = Object.keys(MIGRATIONS);
  const { rows } = await sql<{ name: string }>`select name from kysely_migration`.execute(db);
  const applied = new Set(rows.map(({ name }) => name));
  const newer = [...applied].filter((name) => !own.includes(name)).map(numberOf);
  const isComplete = own.every((name) => applied.has(name));
  const query = db.selectFrom('schema_compatibility').select('usable_from').where('schema', 'in', newer);
  const declared = isComplete ? await query.execute() : [];
  const schema = Math.max(...own.map(numberOf));
  const usableFrom = Math.max(...declared.map((row) => row.usable_from));
  const isDeclared = declared.length === newer.length;
  if (isDeclared && usableFrom <= schema) return;
  const need = isDeclared ? `schema ${usableFrom} or newer` : 'that version';
  throw new Error(
    `The database was upgraded to schema ${Math.max(...newer)} by a newer version of Mayfly. It needs ${need}, and this version has schema ${schema}. Start the newer version, or restore a backup of this one.`,
  );
}

/**
 * Brings the tables up to date: all of it or nothing, and once, however many processes start. Tables that a
 * newer version has changed are left as they are, if that version declares that this one can use them.
 * @throws Error when a newer version has changed the tables so that this one cannot use them, or when a step
 *   fails
 */
export async function migrate(db: Db, dialect: Dialect): Promise<void> {
  const migrations: Record<string, Migration> = {};
  for (const [name, change] of Object.entries(MIGRATIONS)) {
    migrations[name] = migrationOf(name, change, dialect);
  }
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  const { error } = await migrator.migrateToLatest();
  // The error of Kysely for a migration that was run and is not in the list.
  if (error instanceof Error && error.message.startsWith('corrupted migrations')) return requireUsable(db);
  if (error) throw error;
}
