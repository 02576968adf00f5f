import { type MessagePort, parentPort, receiveMessageOnPort, type Worker } from 'node:worker_threads';
import { AppError, toError } from '../errors.ts';
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

export const bytesIn = (args: readonly unknown[]): Uint8Array[] =>
  args
    .flat()
    .flatMap((item) => (typeof item === 'object' && item !== null ? Object.values(item) : []))
    .filter((value) => value instanceof Uint8Array);

/** Returns the resizable buffers of a call. They are transferred to the thread, which frees them afterwards. */
const memoryGiven = ({ args }: Call): ArrayBuffer[] =>
  bytesIn(args)
    .map(({ buffer }) => buffer)
    .filter((buffer): buffer is ArrayBuffer => buffer instanceof ArrayBuffer && buffer.resizable);

type FromThread = { ready: true } | { id: number; value: unknown } | { id: number; error: SentError };

type SentError = Pick<Error, 'message'> &
  Partial<Pick<AppError, 'code' | 'details'>> & { stack?: string | undefined };

function sendError(error: unknown): SentError {
  const { message, stack } = toError(error);
  return error instanceof AppError
    ? { message, code: error.code, details: error.details }
    : { message, stack };
}

const receiveError = ({ code, message, details, stack }: SentError): Error =>
  code === undefined ? Object.assign(new Error(message), { stack }) : new AppError(code, message, details);

interface Instance {
  worker: Worker;
  calls: Map<number, { path: string; resolve(value: unknown): void; reject(error: Error): void }>;
  ready: Promise<void>;
  exited: Promise<void>;
}

/** @param onExit called when the thread ends. `crash` is undefined if the database could not be opened. */
function startInstance(worker: Worker, onExit: (crash: Error | undefined) => void): Instance {
  const calls: Instance['calls'] = new Map();
  const opened = Promise.withResolvers<void>();
  const exited = Promise.withResolvers<void>();
  let isOpen = false;
  let crash = new Error('A thread of the database ended unexpectedly.');
  opened.promise.catch(() => undefined);
  worker.on('message', (message: FromThread) => {
    if ('ready' in message) {
      isOpen = true;
      opened.resolve();
    } else {
      const call = calls.get(message.id);
      calls.delete(message.id);
      if ('error' in message) call?.reject(receiveError(message.error));
      else call?.resolve(message.value);
    }
  });
  worker.on('error', (error: Error) => {
    crash = error;
  });
  worker.on('exit', () => {
    opened.reject(crash);
    for (const { path, reject } of calls.values()) {
      if (!isOpen) reject(unavailable('inaccessible', crash));
      else
        reject(isReading(operationAt(path).kind) ? unavailable('restarting', crash) : outcomeUnknown(crash));
    }
    onExit(isOpen ? crash : undefined);
    exited.resolve();
  });
  return { worker, calls, ready: opened.promise, exited: exited.promise };
}

/** The thread starts at `open` or at the first call. If it dies, the next call starts a new thread. */
export function databaseThread(start: () => Worker, onCrash: (error: Error) => void) {
  let instance: Instance | undefined;
  let closing: Promise<void> | undefined;
  let lastId = 0;

  const running = (): Instance => {
    instance ??= startInstance(start(), (crash) => {
      instance = undefined;
      if (crash && !closing) onCrash(crash);
    });
    return instance;
  };

  return {
    open: () => running().ready,
    /** If the thread dies, writes reject with `outcome_unknown`, and reads with `unavailable`. */
    async call(path: string, args: readonly unknown[]): Promise<unknown> {
      if (closing) throw unavailable('closed');
      const { worker, calls } = running();
      const call: Call = { id: ++lastId, path, args };
      worker.postMessage(call satisfies ToThread, memoryGiven(call));
      return new Promise((resolve, reject) => calls.set(call.id, { path, resolve, reject }));
    },
    /** Finishes the running calls first. Later calls throw `unavailable`. */
    close(): Promise<void> {
      instance?.worker.postMessage('close' satisfies ToThread);
      closing ??= instance?.exited ?? Promise.resolve();
      return closing;
    },
  };
}

export interface Served {
  kit: Kit;
  /** Runs before each call. @returns a function that runs after the call @throws AppError to reject the call */
  admit?(call: Call): () => void;
  toUnavailable(error: unknown): AppError | undefined;
}

/** If the database cannot be opened, the rejection ends the thread. */
export async function serveThread(open: () => Promise<Served>): Promise<void> {
  if (!parentPort) throw new Error('This module runs only as a worker thread.');
  const port = parentPort;
  serve(await open(), port);
  port.postMessage({ ready: true } satisfies FromThread);
  void giveBackMemoryLater();
}

function createCalls({ kit, admit, toUnavailable }: Served) {
  const running = new Set<Promise<unknown>>();

  async function run(call: Call): Promise<unknown> {
    try {
      const afterwards = admit?.(call);
      return await runOn(operationAt(call.path), call.args, kit).finally(afterwards);
    } catch (error) {
      throw toUnavailable(error) ?? error;
    }
  }

  return {
    run(call: Call): Promise<unknown> {
      const done = run(call).finally(() => running.delete(done));
      running.add(done);
      return done;
    },
    close: () => Promise.allSettled(running).then(kit.close),
  };
}

/** Like {@link databaseThread}, but runs the calls on the calling thread, and only between `open` and `close`. */
export function databaseHere(open: () => Promise<Served>): ReturnType<typeof databaseThread> {
  let calls: ReturnType<typeof createCalls> | undefined;
  return {
    async open() {
      calls = createCalls(await open());
    },
    async call(path, args) {
      if (!calls) throw unavailable('closed');
      return calls.run({ id: 0, path, args });
    },
    async close() {
      const closed = calls?.close();
      calls = undefined;
      await closed;
    },
  };
}

function serve(served: Served, port: MessagePort): void {
  const calls = createCalls(served);

  async function answer(call: Call): Promise<void> {
    const { id } = call;
    try {
      port.postMessage({ id, value: await calls.run(call) } satisfies FromThread);
    } catch (error) {
      port.postMessage({ id, error: sendError(error) } satisfies FromThread);
    } finally {
      for (const buffer of memoryGiven(call)) buffer.transferToFixedLength(0);
    }
  }

  function accept(message: ToThread): void {
    if (message === 'close') void calls.close().then(() => port.close());
    else void answer(message);
  }

  port.on('message', (message: ToThread) => {
    accept(message);
    // Calls that arrived during the last sync share the next transaction.
    for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) accept(next.message);
  });
}
