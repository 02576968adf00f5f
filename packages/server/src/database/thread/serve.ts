import { type MessagePort, parentPort, receiveMessageOnPort } from 'node:worker_threads';
import type { AppError } from '../../errors.ts';
import { giveBackMemoryLater } from '../../memory.ts';
import { callAt, type Store } from '../../store.ts';
import {
  type Answer,
  type Call,
  type FromThread,
  memoryGiven,
  sendError,
  type ToThread,
} from './protocol.ts';

export interface Served {
  store: Store;
  run(call: Call, method: () => Promise<unknown>): Promise<unknown>;
  /** Undefined for errors that are not of the engine. */
  toUnavailable(error: unknown): AppError | undefined;
}

/** Serves the calls of the main thread. @param open gets a function that rejects the calls still in the message queue */
export async function serveThread(
  open: (rejectSent: (error: unknown) => void) => Promise<Served>,
): Promise<void> {
  if (!parentPort) throw new Error('This module runs only as a worker thread.');
  const port = parentPort;
  const post = (message: FromThread): void => port.postMessage(message);
  /** Sent as one message: a message costs nearly as much as its answers. */
  const outbox: Answer[] = [];
  const postAnswer = (answer: Answer): void => {
    outbox.push(answer);
    // After the other answers of the same transaction.
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
