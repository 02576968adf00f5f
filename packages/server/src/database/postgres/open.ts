import { Worker } from 'node:worker_threads';
import { createStore, hintsAfter, type Store } from '../../store.ts';
import { unavailable } from '../failures.ts';
import { METHODS, methodsOf, type ReadSources, storeOf } from '../methods.ts';
import { openWhenCalled } from '../thread/client.ts';
import { ChangeSignal, type ChangeSignalDeps } from './change-signal.ts';
import { connectAlone, createPool, requireDurable } from './connection.ts';
import { postgresEngine } from './engine.ts';
import { startFailure, toUnavailable } from './errors.ts';
import { createVersionCheck, type Hint, type Waiting } from './hints.ts';
import { runTransaction } from './transactions.ts';
import { upgradeTables } from './upgrade.ts';

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database` */
  url: string;
  /** Called when an idle connection fails; the next call opens a new one. */
  onError?: (error: Error) => void;
  /** Called when the search thread died; its next call starts it again. */
  onCrash?: (error: Error) => void;
  onDamage?: (error: Error) => void;
  /** Reads mails that have no reading. Without it, operations that meet one fail. */
  read?: ReadSources;
  /** Without it, no changes of other nodes are received. */
  hints?: Pick<ChangeSignalDeps<Hint>, 'clock' | 'node' | 'onHint'> & { waiting(): Waiting };
}

/** Uses a connection of its own, because an upgrade may take minutes. */
async function prepare(url: string, onError: (error: Error) => void): Promise<void> {
  const client = await connectAlone(url, onError);
  try {
    await requireDurable(client);
    await upgradeTables(client);
  } finally {
    await client.end();
  }
}

/** It writes to the WAL: the COMMIT of an empty transaction does not wait for a synchronous standby. */
function createPing(pool: ReturnType<typeof createPool>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => {
    running ??= runTransaction(pool, async (client) => {
      await client.query("select pg_logical_emit_message(true, 'mayfly', '')");
    }).finally(() => {
      running = undefined;
    });
    return running;
  };
}

/** Any number of processes may use the same database. @throws Error that says what to do */
export async function openPostgres(options: PostgresOptions): Promise<Store> {
  const { url, onError = () => undefined } = options;
  const pool = createPool(url, onError);
  const hints =
    options.hints &&
    new ChangeSignal<Hint>({
      ...options.hints,
      url,
      pool,
      everything: { kind: 'all' },
      check: createVersionCheck(options.hints.waiting),
      onError,
    });
  try {
    await prepare(url, onError);
    await hints?.start();
  } catch (error) {
    await hints?.close();
    await pool.end();
    throw startFailure(error);
  }
  const searcher = openWhenCalled(
    () => new Worker(new URL('./search-thread.ts', import.meta.url), { workerData: { url }, name: 'search' }),
    options.onCrash ?? onError,
  );
  const store = createStore(postgresEngine(pool));
  const methods = methodsOf({ ...store, ping: createPing(pool) });
  let closing: Promise<void> | undefined;
  return storeOf(
    async (method, args) => {
      if (closing) throw unavailable('closed');
      try {
        if (METHODS[method] === 'search') return await searcher.call(method, args);
        const result = await methods[method](...args);
        hints?.send(hintsAfter(method, args, result));
        return result;
      } catch (error) {
        throw toUnavailable(error) ?? error;
      }
    },
    {
      // Other nodes write as well.
      generation: () => null,
      close: () => {
        closing ??= Promise.all([hints?.close(), searcher.close()]).then(() => pool.end());
        return closing;
      },
    },
    options.read,
    options.onDamage,
  );
}
