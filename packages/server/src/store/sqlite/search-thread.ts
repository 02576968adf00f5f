/**
 * The search thread: a search reads much of the database and must not block the main thread. It has a
 * read-only connection of its own and uses the protocol of the writer thread.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { giveBackMemory } from '../../memory.ts';
import type { Store } from '../contract/index.ts';
import { invokeOn } from '../method-dispatch.ts';
import { createSqlStore } from '../sql/sql-store.ts';
import { type Connection, kyselyOn, openReader, sqliteDialect } from './connection.ts';
import { type Call, type FromWriter, sendError, type ToWriter } from './writer-protocol.ts';

if (!parentPort) throw new Error('search-thread.ts runs only as a worker thread.');
const port = parentPort;
const running = new Set<Promise<void>>();

function post(message: FromWriter): void {
  port.postMessage(message);
}

async function open(connection: Connection): Promise<Store> {
  const store = createSqlStore(kyselyOn(openReader(connection)), sqliteDialect);
  // Fails now if the database cannot be read.
  await store.accounts.findFirst();
  return store;
}

async function answer(store: Store, { id, path, args }: Call): Promise<void> {
  try {
    post({ answers: [{ id, value: await invokeOn(store, path, args) }] });
  } catch (error) {
    post({ answers: [{ id, error: sendError(error) }] });
  }
}

/** Waits for running calls, closes the database and lets the thread end. */
async function close(store: Store): Promise<void> {
  await Promise.allSettled(running);
  await store.close();
  port.close();
}

try {
  const store = await open(workerData);
  port.on('message', (message: ToWriter) => {
    if ('close' in message) {
      void close(store);
      return;
    }
    for (const call of message.calls) {
      const done = answer(store, call).finally(() => running.delete(done));
      running.add(done);
    }
  });
  giveBackMemory();
  post({ ready: true });
} catch (error) {
  post({ failed: sendError(error) });
}
