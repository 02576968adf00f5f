import { setImmediate } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { operationAt } from '../../store.ts';
import { outcomeUnknown, unavailable } from '../failures.ts';
import { isReading } from '../operations.ts';
import {
  type Answer,
  type Call,
  type FromThread,
  memoryGiven,
  receiveError,
  type ToThread,
} from './protocol.ts';

export interface ThreadClient {
  /** Throws what the method throws. If the thread dies, sent writes throw `outcome_unknown`, others `unavailable`. */
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
  /** Sent as one message per turn of the event loop: a message costs nearly as much as its calls. */
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
    // DataCloneError: no call of this message was sent.
    for (const { id } of calls) {
      pending.get(id)?.reject(error as Error);
      pending.delete(id);
    }
  }
}

/**
 * If the thread dies, the next call starts a new one, and throws `unavailable` if the database cannot be opened again.
 * @throws Error when the database does not open the first time
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
        // Calls that were made before are sent first.
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
