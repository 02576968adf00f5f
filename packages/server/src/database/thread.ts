import { setImmediate } from 'node:timers/promises';
import { type MessagePort, parentPort, receiveMessageOnPort, type Worker } from 'node:worker_threads';
import { AppError, type ErrorCode, type ErrorDetails } from '../errors.ts';
import { giveBackMemoryLater } from '../memory.ts';
import { callAt, operationAt, type Store } from '../store.ts';
import { outcomeUnknown, unavailable } from './failures.ts';
import { isReading } from './sql.ts';

export interface Call {
  id: number;
  path: string;
  args: readonly unknown[];
}

type ToThread = { calls: Call[] } | { close: true };

/** The bytes of mails in the arguments of a call. */
export const bytesIn = (args: readonly unknown[]): Uint8Array[] =>
  args
    .flat()
    .flatMap((item) => (typeof item === 'object' && item !== null ? Object.values(item) : []))
    .filter((value) => value instanceof Uint8Array);

/** Resizable buffers are transferred with a call; the thread frees them afterwards. */
function memoryGiven({ args }: Call): ArrayBuffer[] {
  return bytesIn(args)
    .map(({ buffer }) => buffer)
    .filter((buffer): buffer is ArrayBuffer => buffer instanceof ArrayBuffer && buffer.resizable);
}

type Answer = { id: number; value: unknown } | { id: number; error: SentError };

type FromThread = { ready: true } | { failed: SentError } | { answers: Answer[] };

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
  /**
   * Runs a method on the thread and rethrows its error. If the thread dies, writes that were sent fail with
   * `outcome_unknown`, other calls with `unavailable`.
   */
  call(path: string, args: readonly unknown[]): Promise<unknown>;
  /** Finishes the running calls first. Later calls throw `unavailable`. */
  close(): Promise<void>;
}

interface Pending {
  call: Call;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

interface ThreadInstance {
  worker: Worker;
  /** Calls are sent as one message per turn of the event loop, because a message costs nearly as much as its calls. */
  outbox: Call[];
  pending: Map<number, Pending>;
  /** Resolves when the database is open. */
  ready: Promise<void>;
  exited: Promise<void>;
}

function startInstance(start: () => Worker, onEnd: (error: Error | undefined) => void): ThreadInstance {
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
  worker.on('message', (message: FromThread) => {
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
      const { kind, traits } = operationAt(call.path);
      const mayBeDone = !isReading(kind) && !traits.changesNothing && !outbox.includes(call);
      reject(mayBeDone ? outcomeUnknown(crash) : unavailable('restarting', crash));
    }
    pending.clear();
    onEnd(crash);
    exited.resolve();
  });
  return { worker, outbox, pending, ready: opened.promise, exited: exited.promise };
}

function send({ worker, outbox, pending }: ThreadInstance): void {
  const calls = outbox.splice(0);
  try {
    if (calls.length > 0) worker.postMessage({ calls } satisfies ToThread, calls.flatMap(memoryGiven));
  } catch (error) {
    // DataCloneError: nothing of this message was sent.
    for (const { id } of calls) {
      pending.get(id)?.reject(error as Error);
      pending.delete(id);
    }
  }
}

/**
 * Opens a database thread. If it dies, the next call starts a new one, and fails with `unavailable` if the
 * database cannot be opened again. @throws Error if the database cannot be opened the first time
 */
export async function openThread(
  start: () => Worker,
  onCrash: (error: Error) => void,
): Promise<ThreadClient> {
  let instance: ThreadInstance | undefined;
  let closing: Promise<void> | undefined;
  let opened = false;
  let lastId = 0;

  function runningInstance(): ThreadInstance {
    if (instance) return instance;
    const next = startInstance(start, (error) => {
      if (instance === next) instance = undefined;
      if (opened && !closing) onCrash(error ?? new Error('A thread of the database ended unexpectedly.'));
    });
    instance = next;
    return next;
  }

  await runningInstance().ready;
  opened = true;
  return {
    async call(path, args) {
      if (closing) throw unavailable('closed');
      const current = runningInstance();
      await current.ready.catch((error) => {
        throw unavailable('inaccessible', error);
      });
      if (instance !== current) throw unavailable('restarting');
      const id = ++lastId;
      if (current.outbox.length === 0) void setImmediate(current).then(send);
      const call: Call = { id, path, args };
      current.outbox.push(call);
      return new Promise((resolve, reject) => current.pending.set(id, { call, resolve, reject }));
    },
    close() {
      closing ??= (async () => {
        // First send calls that were made before.
        await setImmediate();
        if (!instance) return;
        send(instance);
        instance.worker.postMessage({ close: true } satisfies ToThread);
        await instance.exited;
      })();
      return closing;
    },
  };
}

/** Starts the thread at the first call, because it takes memory and may never be needed. */
export function openWhenCalled(start: () => Worker, onCrash: (error: Error) => void): ThreadClient {
  let opening: Promise<ThreadClient> | undefined;
  const open = (): Promise<ThreadClient> =>
    openThread(start, onCrash).catch((error) => {
      opening = undefined;
      throw unavailable('inaccessible', error);
    });
  return {
    async call(path, args) {
      opening ??= open();
      return (await opening).call(path, args);
    },
    async close() {
      const thread = await opening?.catch(() => undefined);
      await thread?.close();
    },
  };
}

export interface Served {
  store: Store;
  run(call: Call, method: () => Promise<unknown>): Promise<unknown>;
  /** Undefined for errors that do not come from the engine. */
  toUnavailable(error: unknown): AppError | undefined;
}

/**
 * Serves the calls of the main thread. @param open receives a function that rejects the calls still in the
 * message queue
 */
export async function serveThread(
  open: (rejectSent: (error: unknown) => void) => Promise<Served>,
): Promise<void> {
  if (!parentPort) throw new Error('This module runs only as a worker thread.');
  const port = parentPort;
  const post = (message: FromThread): void => port.postMessage(message);
  /** Results are sent as one message, because a message costs nearly as much as its results. */
  const outbox: Answer[] = [];
  const postAnswer = (answer: Answer): void => {
    outbox.push(answer);
    // Deferred, so that all results of a transaction are sent together.
    if (outbox.length === 1) queueMicrotask(() => post({ answers: outbox.splice(0) }));
  };
  /** Rejects the calls that were sent while this thread was blocked. */
  const rejectSent = (error: unknown): void => {
    for (const message of received(port)) {
      if ('close' in message) port.emit('message', message);
      else for (const { id } of message.calls) postAnswer({ id, error: sendError(error) });
    }
  };
  try {
    serve(await open(rejectSent), port, postAnswer);
    post({ ready: true });
    giveBackMemoryLater();
  } catch (error) {
    post({ failed: sendError(error) });
  }
}

function* received(port: MessagePort): Generator<ToThread> {
  for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) yield next.message;
}

function serve(
  { store, run, toUnavailable }: Served,
  port: MessagePort,
  postAnswer: (answer: Answer) => void,
): void {
  const running = new Set<Promise<void>>();

  const answer = async (call: Call): Promise<void> => {
    const { id, path, args } = call;
    try {
      postAnswer({ id, value: await run(call, () => callAt(store, path, args)) });
    } catch (error) {
      postAnswer({ id, error: sendError(toUnavailable(error) ?? error) });
    } finally {
      for (const buffer of memoryGiven(call)) buffer.resize(0);
    }
  };

  const close = async (): Promise<void> => {
    await Promise.allSettled(running);
    await store.close();
    port.close();
  };

  const accept = (message: ToThread): void => {
    if ('close' in message) return void close();
    for (const call of message.calls) {
      const done = answer(call).finally(() => running.delete(done));
      running.add(done);
    }
  };

  port.on('message', (message: ToThread) => {
    accept(message);
    // Calls that arrived during the last sync share the next transaction.
    for (const next of received(port)) accept(next);
  });
}
