/**
 * The threads of the store. The writer thread alone holds the read-write connection, so that a slow disk does
 * not block the main thread; the search thread holds a read-only connection, because a search reads much of
 * the database. Calls and answers are messages.
 */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { giveBackMemory } from '../../../memory.ts';
import type { Store } from '../../contract/index.ts';
import { methodsOf } from '../../methods.ts';
import { migrate } from '../../sql/migrations/migrate.ts';
import { createSqlStore } from '../../sql/sql-store.ts';
import { openReader, openWriter } from '../connection.ts';
import { createDiskReserve } from '../disk-reserve.ts';
import { readingEngine, writingEngine } from '../engine.ts';
import { toUnavailable } from '../errors.ts';
import { giveUpStages } from '../staging.ts';
import { Transactions } from '../transactions.ts';
import {
  type Answer,
  type Call,
  type FromThread,
  memoryGiven,
  sendError,
  type ThreadOptions,
  type ToThread,
} from './protocol.ts';

/** The store of this thread, and how its calls are run. */
interface Served {
  store: Store;
  run(call: Call, method: () => Promise<unknown>): Promise<unknown>;
}

if (!parentPort) throw new Error('thread.ts runs only as a worker thread.');
const port = parentPort;
const running = new Set<Promise<void>>();
/** Answers since the last message: a message costs nearly as much as its answers. */
const outbox: Answer[] = [];

function post(message: FromThread): void {
  port.postMessage(message);
}

function postAnswer(answer: Answer): void {
  outbox.push(answer);
  // After the other answers of the same transaction.
  if (outbox.length === 1) queueMicrotask(() => post({ answers: outbox.splice(0) }));
}

/** Rejects the calls that were sent while this thread waited for the lock of another process. */
function rejectSent(error: unknown): void {
  for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) {
    const message: ToThread = next.message;
    if ('close' in message) port.emit('message', message);
    else for (const { id } of message.calls) postAnswer({ id, error: sendError(error) });
  }
}

/** Ends the thread by an uncaught error, after the answers were sent; a new thread opens the database again. */
function endThread(error: unknown): void {
  setImmediate(() => {
    throw error;
  });
}

async function openForWriting({ maxPages, exclusive, ...connection }: ThreadOptions): Promise<Served> {
  const database = openWriter(connection, maxPages);
  const reserve = createDiskReserve(database, connection);
  const transactions = new Transactions(database, {
    beforeTransaction: reserve.beforeTransaction,
    makeSpace: reserve.emptyLog,
    onBusy: rejectSent,
    onBroken: endThread,
  });
  const engine = writingEngine(database, transactions, reserve.noteStaged);
  try {
    await migrate(engine.db, engine.dialect);
    if (exclusive) giveUpStages(database);
    return {
      store: createSqlStore(engine),
      run: (call, method) => reserve.admit(call, method, (work) => transactions.between(work)),
    };
  } catch (error) {
    await engine.db.destroy();
    throw error;
  }
}

async function openForSearching(options: ThreadOptions): Promise<Served> {
  const store = createSqlStore(readingEngine(openReader(options)));
  // Fails now if the database cannot be read.
  await store.accounts.findFirst();
  return { store, run: (_, method) => method() };
}

function serve({ store, run }: Served): void {
  const methods = methodsOf(store);

  async function answer(call: Call): Promise<void> {
    const { id, path, args } = call;
    try {
      postAnswer({ id, value: await run(call, () => methods[path](...args)) });
    } catch (error) {
      postAnswer({ id, error: sendError(toUnavailable(error) ?? error) });
    } finally {
      for (const buffer of memoryGiven(call)) buffer.resize(0);
    }
  }

  /** Waits for running calls, closes the database and lets the thread end. */
  async function close(): Promise<void> {
    await Promise.allSettled(running);
    await store.close();
    port.close();
  }

  function accept(message: ToThread): void {
    if ('close' in message) {
      void close();
      return;
    }
    for (const call of message.calls) {
      const done = answer(call).finally(() => running.delete(done));
      running.add(done);
    }
  }

  port.on('message', (message: ToThread) => {
    accept(message);
    // Calls that arrived during the last sync share the next transaction.
    for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) accept(next.message);
  });
}

try {
  const options: ThreadOptions = workerData;
  serve(await (options.role === 'writer' ? openForWriting(options) : openForSearching(options)));
  giveBackMemory();
  post({ ready: true });
} catch (error) {
  post({ failed: sendError(error) });
}
