import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';
import { createStore } from '../../store.ts';
import { migrate } from '../migrate.ts';
import { bytesIn, type Call } from '../thread/protocol.ts';
import { type Served, serveThread } from '../thread/serve.ts';
import {
  CHECKPOINT_PAGES,
  giveUpUnfinished,
  openReader,
  openWriter,
  readingEngine,
  writingEngine,
} from './connection.ts';
import { requireSameFile } from './data-folder.ts';
import { createDiskReserve } from './disk-reserve.ts';
import { toUnavailable } from './errors.ts';
import type { ThreadOptions } from './open.ts';
import { Transactions } from './transactions.ts';

/** The writer thread alone has the read-write connection, so that a slow disk does not block the main thread. */

/** By an uncaught error, after the responses were sent; a new thread opens the database again. */
function endThread(error: unknown): void {
  setImmediate(() => {
    throw error;
  });
}

/** The commit of a larger mail would run a long checkpoint, for which other calls would wait. */
const LARGE_BYTES = 4 * 1024 * 1024;

/** After a large mail, the checkpoint runs behind the calls that waited for the commit. */
async function withoutCheckpoint<T>(
  database: DatabaseSync,
  transactions: Transactions,
  call: Call,
  run: () => Promise<T>,
): Promise<T> {
  if (bytesIn(call.args).every(({ byteLength }) => byteLength <= LARGE_BYTES)) return run();
  database.exec('pragma wal_autocheckpoint = 0');
  const checkpoint = async (): Promise<void> => {
    // Calls that were sent meanwhile come first; they are received between two turns.
    await nextTurn();
    await nextTurn();
    await transactions.between(() => {
      if (!database.isOpen) return;
      database.exec(`pragma wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
      database.exec('pragma wal_checkpoint(passive)');
    });
  };
  // A checkpoint that fails loses nothing; the next commit tries again and reports the error.
  return run().finally(() => void checkpoint().catch(() => undefined));
}

async function openForWriting(
  { maxPages, exclusive, isDurable, ...connection }: ThreadOptions,
  rejectSent: (error: unknown) => void,
): Promise<Served> {
  const database = openWriter(connection, maxPages, isDurable);
  const requireFile = requireSameFile(connection.path);
  const reserve = createDiskReserve(database, connection);
  const hooks = {
    beforeTransaction() {
      requireFile();
      reserve.beforeTransaction();
    },
    afterCommit: requireFile,
    makeSpace: reserve.emptyLog,
    // Rejects the calls that were sent while this thread waited for the lock of another process.
    onBusy: rejectSent,
    onBroken: endThread,
  };
  const transactions = new Transactions(database, hooks, isDurable);
  const engine = writingEngine(database, transactions);
  try {
    await engine.transaction((tx) => migrate(tx, 'sqlite'));
    if (exclusive) giveUpUnfinished(database);
    return {
      store: createStore(engine),
      toUnavailable,
      run: (call, method) =>
        withoutCheckpoint(database, transactions, call, () =>
          reserve.admit(call, method, (work) => transactions.between(work)),
        ),
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
void serveThread((rejectSent) =>
  options.role === 'writer' ? openForWriting(options, rejectSent) : openForSearching(options),
);
