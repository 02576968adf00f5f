import type { Pool, PoolClient } from 'pg';
import { outcomeUnknown } from '../failures.ts';
import type { Flight } from '../operations.ts';
import { isConflict, isOfStatement, together, toUnavailable } from './errors.ts';

/** A transaction that was chosen to end a deadlock is run again this often. */
const MAX_ATTEMPTS = 5;
/**
 * The warning that comes with a COMMIT which is on this server only: the synchronous standby did not confirm
 * it (PostgreSQL manual, section 26.2.8).
 */
const NOT_REPLICATED = '01000';

const DONE = Promise.resolve();

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

/**
 * Sends the COMMIT behind statements whose results are not there yet. If one of them fails, PostgreSQL answers
 * the COMMIT with a rollback, and the error of the statement is the one to report.
 */
async function commitBehind(client: PoolClient, written: Promise<unknown>): Promise<void> {
  const [statements, committed] = await Promise.allSettled([written, commit(client)]);
  if (statements.status === 'rejected' && isOfStatement(statements.reason)) throw statements.reason;
  if (committed.status === 'rejected') throw committed.reason;
  // Only a connection that fails rejects statements without an error of their own, and the COMMIT with them.
  if (statements.status === 'rejected') {
    throw new CommitFailed('The outcome is unknown.', { cause: statements.reason });
  }
}

/**
 * The statements of a transaction.
 * @param begun resolves when the transaction is open. Statements that are sent before are executed without one
 *   if that fails, so they must do no harm by themselves.
 */
type Work<T> = (client: PoolClient, begun: Promise<unknown>) => Promise<Flight<T>>;

async function attempt<T>(pool: Pool, work: Work<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    const begun = client.query('begin').catch((cause: Error) => {
      broken = cause;
      throw cause;
    });
    const [, { result, written }] = await together([begun, work(client, begun)]);
    await commitBehind(client, written);
    return result;
  } catch (error) {
    if (error instanceof CommitFailed) broken = error;
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
 * Runs `work` in a transaction (READ COMMITTED), and again if it lost a deadlock. BEGIN and COMMIT may
 * be sent together with its first and last statements.
 * @throws what `work` throws; AppError `unavailable`, or `outcome_unknown` if it may have been committed
 */
export async function runFlights<T>(pool: Pool, work: Work<T>): Promise<T> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await attempt(pool, work);
    } catch (error) {
      if (error instanceof CommitFailed) throw outcomeUnknown(error.cause ?? error);
      if (!isConflict(error) || attempts >= MAX_ATTEMPTS) throw toUnavailable(error) ?? error;
    }
  }
}

/** The same for work that waits for each of its statements. */
export function runTransaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  return runFlights(pool, async (client, begun) => {
    await begun;
    return { result: await work(client), written: DONE };
  });
}
