/**
 * The threads of the store. The writer thread alone holds the read-write connection, so that a slow disk does
 * not block the main thread; the search thread holds a read-only connection, because a search reads much of
 * the database. Calls and answers are messages.
 */
import { workerData } from 'node:worker_threads';
import { migrate } from '../../../database/migrate.ts';
import { createStore } from '../../create-store.ts';
import { type Served, serveThread } from '../../thread/serve.ts';
import { giveUpUnfinished, openReader, openWriter } from '../connection.ts';
import { requireSameFile } from '../data-folder.ts';
import { createDiskReserve } from '../disk-reserve.ts';
import { readingEngine, writingEngine } from '../engine.ts';
import { toUnavailable } from '../errors.ts';
import { Transactions } from '../transactions.ts';
import type { ThreadOptions } from './start.ts';

/** Ends the thread by an uncaught error, after the answers were sent; a new thread opens the database again. */
function endThread(error: unknown): void {
  setImmediate(() => {
    throw error;
  });
}

async function openForWriting(
  { maxPages, exclusive, ...connection }: ThreadOptions,
  rejectSent: (error: unknown) => void,
): Promise<Served> {
  const database = openWriter(connection, maxPages);
  const requireFile = requireSameFile(connection.path);
  const reserve = createDiskReserve(database, connection);
  const transactions = new Transactions(database, {
    beforeTransaction() {
      requireFile();
      reserve.beforeTransaction();
    },
    afterCommit: requireFile,
    makeSpace: reserve.emptyLog,
    // Calls that were sent while this thread waited for the lock of another process.
    onBusy: rejectSent,
    onBroken: endThread,
  });
  const engine = writingEngine(database, transactions);
  try {
    await engine.transaction((tx) => migrate(tx, 'sqlite'));
    if (exclusive) giveUpUnfinished(database);
    return {
      store: createStore(engine),
      toUnavailable,
      run: (call, method) => reserve.admit(call, method, (work) => transactions.between(work)),
    };
  } catch (error) {
    await engine.close();
    throw error;
  }
}

async function openForSearching(options: ThreadOptions): Promise<Served> {
  const store = createStore(readingEngine(openReader(options)));
  // Fails now if the database cannot be read.
  await store.accounts.findFirst();
  return { store, toUnavailable, run: (_, method) => method() };
}

const options: ThreadOptions = workerData;
await serveThread((rejectSent) =>
  options.role === 'writer' ? openForWriting(options, rejectSent) : openForSearching(options),
);
