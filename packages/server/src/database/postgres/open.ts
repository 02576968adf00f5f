import { Worker } from 'node:worker_threads';
import type { Client } from 'pg';
import { type ReadSources, type Store, storeOf } from '../../store.ts';
import { unavailable } from '../failures.ts';
import { migrate } from '../migrate.ts';
import { runOn } from '../sql.ts';
import { databaseThread } from '../thread.ts';
import { ChangeSignal, type ChangeSignalDeps } from './change-signal.ts';
import { connectAlone, createPool, PostgresDb, postgresEngine, requireDurable } from './connection.ts';
import { isConflict, isLocked, startFailure, toUnavailable } from './errors.ts';

/** An attempt takes 1 to 3 s, so that a start waits up to two minutes for a locked table. */
const MAX_ATTEMPTS = 40;

/** Retries while a table is locked, as by a backup. One long wait for the lock would block other servers. */
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
      await client.query('select pg_sleep(1)');
    }
  }
}

export interface PostgresOptions {
  url: string;
  onError?: (error: Error) => void;
  onCrash?: (error: Error) => void;
  onDamage?: (error: Error) => void;
  read?: ReadSources;
  hints?: Pick<ChangeSignalDeps, 'clock' | 'node' | 'onHint' | 'waiting'>;
}

/** Uses a connection of its own, because the statement timeout of the pool would end a long upgrade. */
async function prepare(url: string, onError: (error: Error) => void): Promise<void> {
  const client = await connectAlone(url, onError);
  try {
    await requireDurable(client);
    await upgradeTables(client);
  } finally {
    await client.end();
  }
}

/** Any number of processes may use the same database. @throws Error that says what to do */
export async function openPostgres(options: PostgresOptions): Promise<Store> {
  const { url, onError = () => undefined } = options;
  const pool = createPool(url, onError);
  const hints = options.hints && new ChangeSignal({ ...options.hints, url, pool, onError });
  try {
    await prepare(url, onError);
    await hints?.start();
  } catch (error) {
    await hints?.close();
    await pool.end();
    throw startFailure(error);
  }
  const searcher = databaseThread(
    () => new Worker(new URL('./search-thread.ts', import.meta.url), { workerData: { url }, name: 'search' }),
    options.onCrash ?? onError,
  );
  const kit = postgresEngine(pool, (changes) => hints?.send(changes));
  let closing: Promise<void> | undefined;
  return storeOf(
    async (path, operation, args) => {
      if (closing) throw unavailable('closed');
      try {
        if (operation.kind === 'search') return await searcher.call(path, args);
        return await runOn(operation, args, kit);
      } catch (error) {
        throw toUnavailable(error) ?? error;
      }
    },
    {
      generation: () => null,
      pendingWrites: () => 0,
      close: () => {
        closing ??= Promise.all([hints?.close(), searcher.close()]).then(() => pool.end());
        return closing;
      },
    },
    options.read,
    options.onDamage,
  );
}
