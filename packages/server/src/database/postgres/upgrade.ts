import type { Client } from 'pg';
import { migrate } from '../migrate.ts';
import { isConflict, isLocked } from './errors.ts';
import { PostgresDb } from './postgres-db.ts';

const PAUSE_S = 1;
/** One to two minutes, with pauses and lock timeouts. */
const MAX_ATTEMPTS = 40;

/** Retries while a table is locked, such as by a backup. Waiting for the lock would block the other servers. */
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
