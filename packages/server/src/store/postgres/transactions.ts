import type { Pool, PoolClient } from 'pg';
import { outcomeUnknown } from '../failures.ts';
import { isConflict, isUnanswered, toUnavailable } from './errors.ts';

/** A transaction that was chosen to end a deadlock is run again this often. */
const MAX_ATTEMPTS = 5;
/**
 * The warning that comes with a COMMIT which is on this server only: the synchronous standby did not confirm
 * it (PostgreSQL manual, section 26.2.8).
 */
const NOT_REPLICATED = '01000';

/** A transaction that failed before its COMMIT was sent changed nothing. */
class CommitFailed extends Error {}

/**
 * Commits, and throws unless the transaction is certainly on stable storage: COMMIT of a failed transaction
 * resolves with the command ROLLBACK, and a warning tells that a standby was not waited for.
 */
async function commit(client: PoolClient): Promise<void> {
  const warnings: string[] = [];
  const onNotice = ({ code, message }: { code?: string | undefined; message?: string | undefined }) => {
    if (code === NOT_REPLICATED) warnings.push(message ?? code);
  };
  client.on('notice', onNotice);
  let command: string;
  try {
    ({ command } = await client.query('commit'));
  } catch (error) {
    // A conflict found at the commit is certainly rolled back; after any other error it may be committed.
    throw isConflict(error) ? error : new CommitFailed('The commit failed.', { cause: error });
  } finally {
    client.off('notice', onNotice);
  }
  if (command !== 'COMMIT') throw new Error(`The transaction was rolled back (${command}).`);
  const [warning] = warnings;
  if (warning !== undefined) throw new CommitFailed(warning);
}

async function attempt<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query('begin');
    const result = await work(client);
    await commit(client);
    return result;
  } catch (error) {
    if (error instanceof CommitFailed || (error instanceof Error && isUnanswered(error))) broken = error;
    else {
      await client.query('rollback').catch((cause: Error) => {
        broken = cause;
      });
    }
    throw error;
  } finally {
    // A connection in an unknown state is closed.
    client.release(broken);
  }
}

/**
 * Runs `work` in a transaction (READ COMMITTED), and once more if it lost a deadlock.
 * @throws what `work` throws; AppError `unavailable`, or `outcome_unknown` if it may have been committed
 */
export async function runTransaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await attempt(pool, work);
    } catch (error) {
      if (error instanceof CommitFailed) throw outcomeUnknown(error.cause ?? error);
      if (!isConflict(error) || attempts >= MAX_ATTEMPTS) throw toUnavailable(error) ?? error;
    }
  }
}
