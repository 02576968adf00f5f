import type { Client } from 'pg';
import { migrate } from '../migrate.ts';
import { isConflict, isLocked } from './errors.ts';
import { PostgresDb } from './postgres-db.ts';

/** Other servers go on between two attempts for so long, seconds. */
const PAUSE_S = 1;
/** With the pauses and the time that each waits for locks, one to two minutes. */
const MAX_ATTEMPTS = 40;

/**
 * Brings the tables up to date, while other servers use them. A table that another transaction uses for long,
 * such as a backup, is tried again and again instead of waited for: servers would wait behind the upgrade.
 * @throws Error as {@link migrate}, or if a table stays in use
 */
export async function upgradeTables(client: Client): Promise<void> {
  for (let attempts = 1; ; attempts++) {
    try {
      await client.query('begin');
      await migrate(new PostgresDb(client), 'postgres');
      await client.query('commit');
      return;
    } catch (error) {
      await client.query('rollback');
      if (!isConflict(error) && !isLocked(error)) throw error;
      if (attempts >= MAX_ATTEMPTS) {
        throw new Error(
          'The tables could not be upgraded, because another transaction has used one of them for more than a minute. Wait until it has ended, such as a backup, and start the server again.',
          { cause: error },
        );
      }
      await client.query(`select pg_sleep(${PAUSE_S})`);
    }
  }
}
