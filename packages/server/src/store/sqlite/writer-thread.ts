/**
 * The thread that writes. It alone holds the read-write connection, so a slow disk delays it and
 * nobody else; calls come in and answers go out as messages.
 */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { giveBackMemory } from '../../memory.ts';
import type { Placed, Store } from '../contract/index.ts';
import { invokeOn } from '../method-dispatch.ts';
import { migrate } from '../sql/migrations/migrate.ts';
import { createSqlStore } from '../sql/sql-store.ts';
import { isBroken, isBusy, kyselyOn, openWriter, outcomeUnknown, sqliteDialect } from './connection.ts';
import { createRoom } from './disk-reserve.ts';
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

/** Mails in one transaction: past a hundred the cost a mail no longer falls, and the wait grows. */
const MAX_COMMIT_MAILS = 128;
/** Bytes in one transaction: large mails must not hold up the small ones behind them. */
const MAX_COMMIT_BYTES = 16 * 1024 * 1024;

if (!parentPort) throw new Error('sqlite-thread.ts runs as a worker thread only');
const port = parentPort;
const running = new Set<Promise<void>>();
/** Mails that came while a commit ran: the next one is for all of them. */
const waiting: Call[] = [];
let committing = false;

function post(message: FromWriter): void {
  port.postMessage(message);
}

function refuse(calls: readonly Call[], error: SentError): void {
  post({ answers: calls.map(({ id }) => ({ id, error })) });
}

async function open({ maxPages, ...connection }: WriterOptions): Promise<Store> {
  const database = openWriter(connection, maxPages);
  const room = createRoom(database, connection);
  const db = kyselyOn(database, room.prepare);
  try {
    await migrate(db, sqliteDialect);
    return room.guard(createSqlStore(db, sqliteDialect), (work) =>
      db.connection().execute(async () => work()),
    );
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
  refuse(waiting.splice(0), error);
  for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) {
    const message: ToWriter = next.message;
    if ('close' in message) void close(store);
    else refuse(message.calls, error);
  }
}

/**
 * Answers calls that are done together; where that fails for a reason of one of them (a mail too large
 * for what is left of the disk), each is done alone.
 * @param work one value for each call
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
    // Before the answer: whoever has heard it may ask again, and that call is no queued one.
    if (isBusy(cause)) refuseQueued(store, sent);
    refuse(calls, sent);
    // Thrown out of reach of any handler, it ends the thread; a new one opens the database afresh.
    if (isBroken(cause)) throw cause;
  } finally {
    for (const buffer of calls.flatMap(memoryGiven)) buffer.resize(0);
  }
}

/** What of the waiting mails goes into one transaction. */
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

/** One transaction for the mails of all those calls. */
async function addTogether(store: Store, calls: readonly Call[]): Promise<Placed[][][]> {
  const now = Math.max(...calls.map(({ args }) => Number(args[1])));
  const placed = await store.messages.addBatch(calls.flatMap(mailsOf), now);
  return calls.map((call) => placed.splice(0, mailsOf(call).length));
}

/** Group commit: all who wait share one transaction and its sync to the disk. */
async function commitMails(store: Store): Promise<void> {
  while (waiting.length > 0) await answer(store, nextCommit(), (calls) => addTogether(store, calls));
}

function begin(work: Promise<void>): void {
  const done = work.finally(() => running.delete(done));
  running.add(done);
}

function commit(store: Store): void {
  if (committing || waiting.length === 0) return;
  committing = true;
  begin(
    commitMails(store).finally(() => {
      committing = false;
    }),
  );
}

function take(store: Store, message: ToWriter): void {
  if ('close' in message) {
    commit(store);
    void close(store);
    return;
  }
  for (const call of message.calls) {
    if (call.path === 'messages.addBatch') waiting.push(call);
    else begin(answer(store, [call], async () => [await invokeOn(store, call.path, call.args)]));
  }
}

try {
  const store = await open(workerData);
  port.on('message', (message: ToWriter) => {
    take(store, message);
    // All that came during the last sync, so that nobody waits for one more.
    for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) {
      take(store, next.message);
    }
    commit(store);
  });
  giveBackMemory();
  post({ ready: true });
} catch (error) {
  post({ failed: sendError(error) });
}
