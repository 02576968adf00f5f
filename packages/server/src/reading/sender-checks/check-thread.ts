import { Worker } from 'node:worker_threads';
import type { MailAuthentication } from '../../mail/mail.ts';
import { buffersToGive, YOUNG_HEAP_MB } from '../../memory.ts';
import type { CheckerData, CheckJob, FromChecker, ToChecker } from './protocol.ts';

/** JavaScript heap of the thread, MiB: the libraries take 20, the cache of records a few. */
const HEAP_MB = 96;

export interface CheckThreadEvents {
  onFound(id: number, found: MailAuthentication): void;
  /** The thread failed or ended by itself. */
  onLost(error: Error): void;
}

export class CheckThread {
  isReady = false;
  /** Messages received; a thread that is stuck sends none. */
  messages = 0;
  readonly #worker: Worker;

  constructor(entry: URL, dnsServers: readonly string[] | null, { onFound, onLost }: CheckThreadEvents) {
    const workerData: CheckerData = { servers: dnsServers };
    this.#worker = new Worker(entry, {
      workerData,
      name: 'sender checks',
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB, maxYoungGenerationSizeMb: YOUNG_HEAP_MB },
    });
    this.#worker.on('message', (message: FromChecker) => {
      this.messages++;
      if (message === 'ready') this.isReady = true;
      else onFound(message.id, message.found);
    });
    this.#worker.on('error', onLost);
    this.#worker.on('exit', () => onLost(new Error('The thread ended by itself.')));
  }

  check(job: CheckJob): void {
    this.#worker.postMessage(job satisfies ToChecker, buffersToGive([job.raw]));
  }

  /** Requests the result of a check with what is known so far. */
  hurry(id: number): void {
    this.#worker.postMessage({ hurry: id } satisfies ToChecker);
  }

  async terminate(): Promise<void> {
    await this.#worker.terminate();
  }
}
