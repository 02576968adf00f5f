import { type MessagePort, parentPort, receiveMessageOnPort, type Worker } from 'node:worker_threads';
import { AppError, type ErrorCode, type ErrorDetails } from '../errors.ts';
import { giveBackMemoryLater } from '../memory.ts';
import { operationAt } from '../store.ts';
import { outcomeUnknown, unavailable } from './failures.ts';
import { isReading, type Kit, runOn } from './sql.ts';

export interface Call {
  id: number;
  path: string;
  args: readonly unknown[];
}

type ToThread = Call | 'close';

/** The bytes of mails in the arguments of a call. */
export const bytesIn = (args: readonly unknown[]): Uint8Array[] =>
  args
    .flat()
    .flatMap((item) => (typeof item === 'object' && item !== null ? Object.values(item) : []))
    .filter((value) => value instanceof Uint8Array);

/** Resizable buffers are transferred with a call; the thread frees them afterwards. */
const memoryGiven = ({ args }: Call): ArrayBuffer[] =>
  bytesIn(args)
    .map(({ buffer }) => buffer)
    .filter((buffer): buffer is ArrayBuffer => buffer instanceof ArrayBuffer && buffer.resizable);

type FromThread =
  | { ready: true }
  | { failed: SentError }
  | { id: number; value: unknown }
  | { id: number; error: SentError };

interface SentError {
  /** Set for an AppError. */
  code?: ErrorCode;
  message: string;
  details?: ErrorDetails;
  stack?: string | undefined;
}

function sendError(error: unknown): SentError {
  if (error instanceof AppError) {
    return { code: error.code, message: error.message, details: error.details };
  }
  if (error instanceof Error) return { message: error.message, stack: error.stack };
  return { message: String(error) };
}

/** An AppError, or an Error with the stack of the thread that threw it. */
function receiveError({ code, message, details, stack }: SentError): Error {
  if (code !== undefined) return new AppError(code, message, details);
  const error = new Error(message);
  if (stack !== undefined) error.stack = stack;
  return error;
}

export interface ThreadClient {
  /** Starts the thread. Otherwise the first call does. @throws Error if the database cannot be opened */
  open(): Promise<void>;
  /**
   * Runs a method on the thread and rethrows its error. If the thread dies, writes fail with `outcome_unknown`,
   * other calls with `unavailable`.
   */
  call(path: string, args: readonly unknown[]): Promise<unknown>;
  /** Finishes the running calls first. Later calls throw `unavailable`. */
  close(): Promise<void>;
}

interface Pending {
  path: string;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

interface ThreadInstance {
  worker: Worker;
  pending: Map<number, Pending>;
  /** Resolves when the database is open. */
  ready: Promise<void>;
  exited: Promise<void>;
}

function startInstance(worker: Worker, onEnd: (error: Error | undefined) => void): ThreadInstance {
  const pending = new Map<number, Pending>();
  const opened = Promise.withResolvers<void>();
  const exited = Promise.withResolvers<void>();
  let crash: Error | undefined;
  worker.on('message', (message: FromThread) => {
    if ('ready' in message) opened.resolve();
    else if ('failed' in message) {
      crash = receiveError(message.failed);
      opened.reject(crash);
    } else {
      const call = pending.get(message.id);
      pending.delete(message.id);
      if ('error' in message) call?.reject(receiveError(message.error));
      else call?.resolve(message.value);
    }
  });
  worker.on('error', (error: Error) => {
    crash = error;
  });
  worker.on('exit', () => {
    opened.reject(unavailable('restarting', crash));
    for (const { path, reject } of pending.values()) {
      const mayBeDone = !isReading(operationAt(path).kind);
      reject(mayBeDone ? outcomeUnknown(crash) : unavailable('restarting', crash));
    }
    onEnd(crash);
    exited.resolve();
  });
  return { worker, pending, ready: opened.promise, exited: exited.promise };
}

/**
 * A database thread that runs from `open` or the first call on. If it dies, the next call starts a new one, and fails
 * with `unavailable` if the database cannot be opened again.
 */
export function databaseThread(start: () => Worker, onCrash: (error: Error) => void): ThreadClient {
  let instance: ThreadInstance | undefined;
  let closing: Promise<void> | undefined;
  let hasOpened = false;
  let lastId = 0;

  function running(): ThreadInstance {
    if (instance) return instance;
    const next = startInstance(start(), (error) => {
      if (instance === next) instance = undefined;
      if (hasOpened && !closing) onCrash(error ?? new Error('A thread of the database ended unexpectedly.'));
    });
    next.ready.then(
      () => {
        hasOpened = true;
      },
      () => undefined,
    );
    instance = next;
    return next;
  }

  return {
    open: () => running().ready,
    async call(path, args) {
      if (closing) throw unavailable('closed');
      const current = running();
      await current.ready.catch((error) => {
        throw unavailable('inaccessible', error);
      });
      if (instance !== current) throw unavailable('restarting');
      const call: Call = { id: ++lastId, path, args };
      current.worker.postMessage(call satisfies ToThread, memoryGiven(call));
      return new Promise((resolve, reject) => current.pending.set(call.id, { path, resolve, reject }));
    },
    close() {
      closing ??= (async () => {
        if (!instance) return;
        // First send calls that were made before.
        await instance.ready.catch(() => undefined);
        instance.worker.postMessage('close' satisfies ToThread);
        await instance.exited;
      })();
      return closing;
    },
  };
}

export interface Served {
  kit: Kit;
  /** Called before a call begins; returns what is called after it. @throws AppError to reject the call */
  admit?(call: Call): () => void;
  /** Undefined for errors that do not come from the engine. */
  toUnavailable(error: unknown): AppError | undefined;
}

/** Serves the calls of the main thread. */
export async function serveThread(open: () => Promise<Served>): Promise<void> {
  if (!parentPort) throw new Error('This module runs only as a worker thread.');
  const port = parentPort;
  try {
    serve(await open(), port);
    port.postMessage({ ready: true } satisfies FromThread);
    giveBackMemoryLater();
  } catch (error) {
    port.postMessage({ failed: sendError(error) } satisfies FromThread);
  }
}

function serve({ kit, admit, toUnavailable }: Served, port: MessagePort): void {
  const running = new Set<Promise<void>>();
  const post = (message: FromThread): void => port.postMessage(message);

  async function answer(call: Call): Promise<void> {
    const { id, path, args } = call;
    try {
      const afterwards = admit?.(call);
      const value = await runOn(operationAt(path), args, kit).finally(afterwards);
      post({ id, value });
    } catch (error) {
      post({ id, error: sendError(toUnavailable(error) ?? error) });
    } finally {
      for (const buffer of memoryGiven(call)) buffer.resize(0);
    }
  }

  async function close(): Promise<void> {
    await Promise.allSettled(running);
    await kit.close();
    port.close();
  }

  function accept(message: ToThread): void {
    if (message === 'close') return void close();
    const done = answer(message).finally(() => running.delete(done));
    running.add(done);
  }

  port.on('message', (message: ToThread) => {
    accept(message);
    // Calls that arrived during the last sync share the next transaction.
    for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) accept(next.message);
  });
}
