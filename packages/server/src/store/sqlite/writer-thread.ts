/**
 * The writer thread. It alone holds the read-write connection, so that a slow disk does not block the main
 * thread. Calls and answers are messages.
 */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { giveBackMemory } from '../../memory.ts';
import type { Placed, Store } from '../contract/index.ts';
import { invokeOn } from '../method-dispatch.ts';
import { migrate } from '../sql/migrations/migrate.ts';
import { createSqlStore } from '../sql/sql-store.ts';
import { isBroken, isBusy, kyselyOn, openWriter, outcomeUnknown, sqliteDialect } from './connection.ts';
import { createDiskReserve } from './disk-reserve.ts';
import {
  type Call,
  type FromWriter,
  mailsOf,
  memoryGiven,
  type SentError,
  sendError,
  type ToWriter,
  type WriterOptions,
} from './writer-protocol.ts';

/** Messages in one transaction: beyond about a hundred, the cost per message no longer falls and latency grows. */
const MAX_COMMIT_MAILS = 128;
/** Bytes in one transaction: large messages must not delay the small ones behind them. */
const MAX_COMMIT_BYTES = 16 * 1024 * 1024;

if (!parentPort) throw new Error('writer-thread.ts runs only as a worker thread.');
const port = parentPort;
const running = new Set<Promise<void>>();
/** Calls of `messages.addBatch` that arrived during a commit; the next commit contains all of them. */
const waiting: Call[] = [];
let committing = false;

function post(message: FromWriter): void {
  port.postMessage(message);
}

function reject(calls: readonly Call[], error: SentError): void {
  post({ answers: calls.map(({ id }) => ({ id, error })) });
}

async function open({ maxPages, ...connection }: WriterOptions): Promise<Store> {
  const database = openWriter(connection, maxPages);
  const reserve = createDiskReserve(database, connection);
  const db = kyselyOn(database, reserve.beforeTransaction);
  try {
    await migrate(db, sqliteDialect);
    return reserve.guard(createSqlStore(db, sqliteDialect), (work) =>
      db.connection().execute(async () => work()),
    );
  } catch (error) {
    await db.destroy();
    throw error;
  }
}

/** Waits for running calls, closes the database and lets the thread end. */
async function close(store: Store): Promise<void> {
  await Promise.allSettled(running);
  await store.close();
  port.close();
}

/**
 * Rejects the calls that were queued while this thread waited for the lock of another process. Each of them
 * would wait as long again; so no call waits much longer than one timeout.
 */
function rejectQueued(store: Store, error: SentError): void {
  reject(waiting.splice(0), error);
  for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) {
    const message: ToWriter = next.message;
    if ('close' in message) void close(store);
    else reject(message.calls, error);
  }
}

/**
 * Runs calls in one transaction and answers them. If one of them makes it fail (a message too large for the
 * free space), each call is run alone.
 * @param work returns one value for each call
 */
async function answer(
  store: Store,
  calls: readonly Call[],
  work: (calls: readonly Call[]) => Promise<unknown[]>,
): Promise<void> {
  try {
    const values = await work(calls);
    post({ answers: calls.map(({ id }, index) => ({ id, value: values[index] })) });
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined;
    const sent = sendError(isBroken(cause) ? outcomeUnknown() : error);
    if (calls.length > 1 && !isBusy(cause) && !isBroken(cause)) {
      for (const call of calls) await answer(store, [call], work);
      return;
    }
    // Before the reply, or a client's immediate retry would be rejected with the queued calls.
    if (isBusy(cause)) rejectQueued(store, sent);
    reject(calls, sent);
    // No handler catches it, so it ends the thread; a new thread opens the database again.
    if (isBroken(cause)) throw cause;
  } finally {
    for (const buffer of calls.flatMap(memoryGiven)) buffer.resize(0);
  }
}

/** Takes the waiting calls that fit into one transaction. */
function nextCommit(): Call[] {
  let mails = 0;
  let bytes = 0;
  const end = waiting.findIndex((call, index) => {
    const batch = mailsOf(call);
    mails += batch.length;
    bytes += batch.reduce((sum, { raw }) => sum + raw.byteLength, 0);
    return index > 0 && (mails > MAX_COMMIT_MAILS || bytes > MAX_COMMIT_BYTES);
  });
  return waiting.splice(0, end < 0 ? waiting.length : end);
}

/** Stores the messages of several calls in one transaction. */
async function addTogether(store: Store, calls: readonly Call[]): Promise<Placed[][][]> {
  const now = Math.max(...calls.map(({ args }) => Number(args[1])));
  const placed = await store.messages.addBatch(calls.flatMap(mailsOf), now);
  return calls.map((call) => placed.splice(0, mailsOf(call).length));
}

/** Group commit: all waiting calls share one transaction and its sync to the disk. */
async function commitMails(store: Store): Promise<void> {
  while (waiting.length > 0) await answer(store, nextCommit(), (calls) => addTogether(store, calls));
}

function track(work: Promise<void>): void {
  const done = work.finally(() => running.delete(done));
  running.add(done);
}

function commit(store: Store): void {
  if (committing || waiting.length === 0) return;
  committing = true;
  track(
    commitMails(store).finally(() => {
      committing = false;
    }),
  );
}

function accept(store: Store, message: ToWriter): void {
  if ('close' in message) {
    commit(store);
    void close(store);
    return;
  }
  for (const call of message.calls) {
    if (call.path === 'messages.addBatch') waiting.push(call);
    else track(answer(store, [call], async () => [await invokeOn(store, call.path, call.args)]));
  }
}

try {
  const store = await open(workerData);
  port.on('message', (message: ToWriter) => {
    accept(store, message);
    // Calls that arrived during the last sync join the next commit.
    for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) {
      accept(store, next.message);
    }
    commit(store);
  });
  giveBackMemory();
  post({ ready: true });
} catch (error) {
  post({ failed: sendError(error) });
}
