import { setImmediate } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { changesData, type MethodPath } from '../method-dispatch.ts';
import { outcomeUnknown, unavailable } from './connection.ts';
import {
  type Answer,
  type Call,
  type FromWriter,
  memoryGiven,
  receiveError,
  type ToWriter,
  type WriterOptions,
} from './writer-protocol.ts';

/** A batch's mails are garbage once it is committed; the thread need not grow before it sees that. */
const YOUNG_HEAP_MB = 12;

/** Starts the thread of `sqlite-thread.ts`; tests give their own to end it. */
export type StartThread = (options: WriterOptions) => Worker;

export const startThread: StartThread = (workerData) =>
  new Worker(new URL('./writer-thread.ts', import.meta.url), {
    workerData,
    name: 'sqlite writer',
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_HEAP_MB },
  });

/** Starts the thread of `search-thread.ts`, which speaks the same protocol. */
export const startSearchThread: StartThread = (workerData) =>
  new Worker(new URL('./search-thread.ts', import.meta.url), {
    workerData,
    name: 'sqlite search',
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_HEAP_MB },
  });

/** The writing thread, or the searching one, as the main thread sees it. */
export interface Writer {
  /**
   * Calls a method of the thread's store and throws what it throws. If the thread dies, writes that were sent
   * to it throw `outcome_unknown`, all other calls `unavailable`.
   */
  call(path: MethodPath, args: unknown[]): Promise<unknown>;
  /** Finishes the running calls, then ends the thread. Later calls throw `unavailable`. */
  close(): Promise<void>;
}

interface Pending {
  call: Call;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** One life of the thread. */
interface Life {
  worker: Worker;
  /** Calls of this turn of the event loop: one message for all costs little more than one for each. */
  outbox: Call[];
  pending: Map<number, Pending>;
  /** Resolves when the database is open; rejects when that failed. */
  ready: Promise<void>;
  exited: Promise<void>;
}

function begin(start: () => Worker, onEnd: (error: Error | undefined) => void): Life {
  const worker = start();
  const pending = new Map<number, Pending>();
  const outbox: Call[] = [];
  const opened = Promise.withResolvers<void>();
  const exited = Promise.withResolvers<void>();
  let crash: Error | undefined;
  const settle = (answer: Answer): void => {
    const call = pending.get(answer.id);
    pending.delete(answer.id);
    if ('error' in answer) call?.reject(receiveError(answer.error));
    else call?.resolve(answer.value);
  };
  worker.on('message', (message: FromWriter) => {
    if ('ready' in message) opened.resolve();
    else if ('failed' in message) {
      crash = receiveError(message.failed);
      opened.reject(crash);
    } else message.answers.forEach(settle);
  });
  worker.on('error', (error: Error) => {
    crash = error;
  });
  worker.on('exit', () => {
    opened.reject(unavailable('restarting', crash));
    for (const { call, reject } of pending.values()) {
      const mayBeDone = changesData(call.path) && !outbox.includes(call);
      reject(mayBeDone ? outcomeUnknown(crash) : unavailable('restarting', crash));
    }
    pending.clear();
    onEnd(crash);
    exited.resolve();
  });
  return { worker, outbox, pending, ready: opened.promise, exited: exited.promise };
}

function send({ worker, outbox }: Life): void {
  const calls = outbox.splice(0);
  if (calls.length > 0) worker.postMessage({ calls } satisfies ToWriter, calls.flatMap(memoryGiven));
}

/**
 * Starts the writer thread. If it dies, the next call starts a new one, and throws `unavailable` if the
 * database cannot be opened again.
 * @param onCrash called each time the thread dies, for the log
 * @throws Error when the database does not open the first time
 */
export async function openWriterThread(
  options: WriterOptions,
  start: StartThread,
  onCrash: (error: Error) => void,
): Promise<Writer> {
  let life: Life | undefined;
  let closing: Promise<void> | undefined;
  let opened = false;
  let lastId = 0;

  function alive(): Life {
    if (life) return life;
    const next = begin(
      () => start(options),
      (error) => {
        if (life === next) life = undefined;
        if (opened && !closing) onCrash(error ?? new Error('the SQLite thread ended by itself'));
      },
    );
    life = next;
    return next;
  }

  await alive().ready;
  opened = true;
  return {
    async call(path, args) {
      if (closing) throw unavailable('closed');
      const current = alive();
      await current.ready.catch((error) => {
        throw unavailable('not to be opened', error);
      });
      if (life !== current) throw unavailable('restarting');
      const id = ++lastId;
      if (current.outbox.length === 0) void setImmediate(current).then(send);
      const call: Call = { id, path, args };
      current.outbox.push(call);
      return new Promise((resolve, reject) => current.pending.set(id, { call, resolve, reject }));
    },
    close() {
      closing ??= (async () => {
        // The calls that were begun before go first.
        await setImmediate();
        if (!life) return;
        send(life);
        life.worker.postMessage({ close: true } satisfies ToWriter);
        await life.exited;
      })();
      return closing;
    },
  };
}
