import { Worker } from 'node:worker_threads';
import { YOUNG_HEAP_MB } from '../../../memory.ts';

/** What a thread is started with: the writer thread, or the search thread, which only reads. */
export interface ThreadOptions {
  role: 'writer' | 'search';
  path: string;
  busyTimeoutMs: number;
  /** Whether no other server uses the database. */
  exclusive?: boolean;
  maxPages?: number | undefined;
}

/** Starts the thread of `thread.ts`; tests replace it to end the thread. */
export type StartThread = (options: ThreadOptions) => Worker;

export const startThread: StartThread = (workerData) =>
  new Worker(new URL('./thread.ts', import.meta.url), {
    workerData,
    name: `sqlite ${workerData.role}`,
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_HEAP_MB },
  });
