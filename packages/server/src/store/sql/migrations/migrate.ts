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

/** All migrations by name, oldest first; a released one is never changed. */
export const MIGRATIONS = {
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
};

/**
 * Brings the tables up to date: all of it or nothing, and once, however many processes start.
 * @throws Error when the database was made by a newer version of Mayfly, or when a step fails
 */
export async function migrate(db: Db, dialect: Dialect): Promise<void> {
  const migrations: Record<string, Migration> = {};
  for (const [name, { up }] of Object.entries(MIGRATIONS)) migrations[name] = { up: (tx) => up(tx, dialect) };
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  const { error } = await migrator.migrateToLatest();
  if (!error) return;
  if (error instanceof Error && error.message.startsWith('corrupted migrations')) {
    throw new Error(
      'The database was written by a newer version of Mayfly. Start that version, or restore a backup of this one.',
      {
        cause: error,
      },
    );
  }
  throw error;
}
