import type { Pool, PoolClient } from 'pg';
import { outcomeUnknown } from '../failures.ts';
import { together } from '../sql.ts';
import { isConflict, isOfStatement, toUnavailable } from './errors.ts';

const MAX_ATTEMPTS = 5;
/** Code of the warning that the synchronous standby did not confirm a COMMIT (PostgreSQL manual, 26.2.8). */
const NOT_REPLICATED = '01000';

class CommitFailed extends Error {}

/** @throws Error unless the commit is durable. After a failed statement, COMMIT returns ROLLBACK, no error */
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
    // A transaction with a conflict is certainly rolled back. After any other error, it may be committed.
    throw isConflict(error) ? error : new CommitFailed('The commit failed.', { cause: error });
  } finally {
    client.off('notice', onNotice);
  }
  if (command !== 'COMMIT') throw new Error(`The transaction was rolled back (${command}).`);
  const [warning] = warnings;
  if (warning !== undefined) throw new CommitFailed(warning);
}

/** Sends COMMIT without waiting for the statements of `written`. If one of them fails, COMMIT rolls back. */
async function commitBehind(client: PoolClient, written?: Promise<unknown>): Promise<void> {
  const [statements, committed] = await Promise.allSettled([written, commit(client)]);
  if (statements.status === 'rejected' && isOfStatement(statements.reason)) throw statements.reason;
  if (committed.status === 'rejected') throw committed.reason;
  // An error without an SQLSTATE means that the connection failed, so the result of COMMIT is uncertain.
  if (statements.status === 'rejected') {
    throw new CommitFailed('The outcome is unknown.', { cause: statements.reason });
  }
}

type Work<T> = (client: PoolClient) => Promise<{ result: T; written?: Promise<unknown> }>;

async function attempt<T>(pool: Pool, work: Work<T>, isPipelined: boolean): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    const begun = client.query('begin').catch((cause: Error) => {
      broken = cause;
      throw cause;
    });
    if (!isPipelined) await begun;
    const [, { result, written }] = await together([begun, work(client)]);
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
    client.release(broken);
  }
}

/** Retries after a conflict. @throws AppError `unavailable`, or `outcome_unknown` if the commit is uncertain */
export async function runTransaction<T>(pool: Pool, work: Work<T>, isPipelined = false): Promise<T> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await attempt(pool, work, isPipelined);
    } catch (error) {
      if (error instanceof CommitFailed) throw outcomeUnknown(error.cause ?? error);
      if (!isConflict(error) || attempts >= MAX_ATTEMPTS) throw toUnavailable(error) ?? error;
    }
  }
}
