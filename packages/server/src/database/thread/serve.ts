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

class ThreadServer {
  readonly #port: MessagePort;
  readonly #running = new Set<Promise<void>>();
  /** Sent as one message: a message costs nearly as much as its answers. */
  readonly #outbox: Answer[] = [];

  constructor(port: MessagePort) {
    this.#port = port;
  }

  post(message: FromThread): void {
    this.#port.postMessage(message);
  }

  #postAnswer(answer: Answer): void {
    this.#outbox.push(answer);
    // After the other answers of the same transaction.
    if (this.#outbox.length === 1) queueMicrotask(() => this.post({ answers: this.#outbox.splice(0) }));
  }

  /** Rejects the calls that were sent while this thread was blocked. */
  rejectSent(error: unknown): void {
    for (let next = receiveMessageOnPort(this.#port); next; next = receiveMessageOnPort(this.#port)) {
      const message: ToThread = next.message;
      if ('close' in message) this.#port.emit('message', message);
      else for (const { id } of message.calls) this.#postAnswer({ id, error: sendError(error) });
    }
  }

  serve({ store, run, toUnavailable }: Served): void {
    const port = this.#port;
    const running = this.#running;

    const answer = async (call: Call): Promise<void> => {
      const { id, path, args } = call;
      try {
        this.#postAnswer({ id, value: await run(call, () => callAt(store, path, args)) });
      } catch (error) {
        this.#postAnswer({ id, error: sendError(toUnavailable(error) ?? error) });
      } finally {
        for (const buffer of memoryGiven(call)) buffer.resize(0);
      }
    };

    async function close(): Promise<void> {
      await Promise.allSettled(running);
      await store.close();
      port.close();
    }

    function accept(message: ToThread): void {
      if ('close' in message) {
        void close();
        return;
      }
      for (const call of message.calls) {
        const done = answer(call).finally(() => running.delete(done));
        running.add(done);
      }
    }

    port.on('message', (message: ToThread) => {
      accept(message);
      // Calls that arrived during the last sync share the next transaction.
      for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port))
        accept(next.message);
    });
  }
}

/** Serves the calls of the main thread. @param open gets a function that rejects the calls still in the message queue */
export async function serveThread(
  open: (rejectSent: (error: unknown) => void) => Promise<Served>,
): Promise<void> {
  if (!parentPort) throw new Error('This module runs only as a worker thread.');
  const server = new ThreadServer(parentPort);
  try {
    server.serve(await open((error) => server.rejectSent(error)));
    server.post({ ready: true });
    giveBackMemoryLater();
  } catch (error) {
    server.post({ failed: sendError(error) });
  }
}
