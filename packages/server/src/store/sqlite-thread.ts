/**
 * The thread that writes. It alone holds the read-write connection, so a slow disk delays it and
 * nobody else; calls come in and answers go out as messages.
 */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { invokeOn } from './methods.ts';
import { migrate } from './migrations/migrate.ts';
import { createSqlStore } from './sql-store.ts';
import { isBroken, isBusy, kyselyOn, openWriter, sqliteDialect } from './sqlite-engine.ts';
import type { Store } from './store.ts';
import {
  type Call,
  type FromWriter,
  memoryGiven,
  type SentError,
  sendError,
  type ToWriter,
  type WriterOptions,
} from './writer-messages.ts';

if (!parentPort) throw new Error('sqlite-thread.ts runs as a worker thread only');
const port = parentPort;
const running = new Set<Promise<void>>();

function answer(message: FromWriter): void {
  port.postMessage(message);
}

async function open({ maxPages, ...connection }: WriterOptions): Promise<Store> {
  const db = kyselyOn(openWriter(connection, maxPages));
  try {
    await migrate(db, sqliteDialect);
    return createSqlStore(db, sqliteDialect);
  } catch (error) {
    await db.destroy();
    throw error;
  }
}

/** Finishes what runs, closes the database and lets the thread end. */
async function close(store: Store): Promise<void> {
  await Promise.allSettled(running);
  await store.close();
  port.close();
}

/**
 * While this thread waited for another process's lock, more calls queued behind it. Each would wait
 * as long again, so they hear the same now: nobody waits for much more than one timeout.
 */
function refuseQueued(store: Store, error: SentError): void {
  for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) {
    const message: ToWriter = next.message;
    if ('close' in message) void close(store);
    else answer({ id: message.id, error });
  }
}

async function run(store: Store, call: Call): Promise<void> {
  const { id, path, args } = call;
  try {
    answer({ id, value: await invokeOn(store, path, args) });
  } catch (error) {
    const sent = sendError(error);
    answer({ id, error: sent });
    const cause = error instanceof Error ? error.cause : undefined;
    if (isBusy(cause)) refuseQueued(store, sent);
    // Thrown out of reach of any handler, it ends the thread; a new one opens the database afresh.
    if (isBroken(cause)) throw cause;
  } finally {
    for (const buffer of memoryGiven(call)) buffer.resize(0);
  }
}

try {
  const store = await open(workerData);
  port.on('message', (message: ToWriter) => {
    if ('close' in message) {
      void close(store);
      return;
    }
    const call = run(store, message).finally(() => running.delete(call));
    running.add(call);
  });
  answer({ ready: true });
} catch (error) {
  answer({ failed: sendError(error) });
}
