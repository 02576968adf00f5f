import { Worker } from 'node:worker_threads';
import { YOUNG_HEAP_MB } from '../../../memory.ts';

export interface ThreadOptions {
  role: 'writer' | 'search';
  path: string;
  busyTimeoutMs: number;
  exclusive?: boolean;
  maxPages?: number | undefined;
}

/** Tests replace it, to end the thread. */
export type StartThread = (options: ThreadOptions) => Worker;

export const startThread: StartThread = (workerData) =>
  new Worker(new URL('./thread.ts', import.meta.url), {
    workerData,
    name: `sqlite ${workerData.role}`,
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_HEAP_MB },
  });
