import type { Worker } from 'node:worker_threads';
import { buffersToGive, copyIfLarge, copyToGive, freeIfLarge } from '../../memory.ts';
import type { Flow } from './fair-queue.ts';
import { type BatchResult, type JobBatch, STARTED, TAKEN, type Task } from './protocol.ts';

/** Why a job ended without a result; `dropped`: the result is no longer needed. */
export type Failure = 'time' | 'memory' | 'crash' | 'closed' | 'dropped';

export interface Job {
  input: Uint8Array;
  task: Task;
  /** Jobs of different flows get turns in proportion to their bytes. */
  flow: Flow;
  /** Workers that ended with this job in their batch while it was unknown which job was the cause. At two it fails. */
  deaths: number;
  settled: boolean;
  done(first: Uint8Array | undefined, second: Uint8Array, parseError: string | null): void;
  failed(failure: Failure): void;
}

interface Batch {
  jobs: Job[];
  states: Int32Array;
}

/** One worker thread with its jobs. */
export interface PoolWorker {
  thread: Worker;
  batches: Batch[];
  /** Its current job at the last check, and the time of the first check with that job (monotonic, ms). */
  watched: { job: Job; since: number } | undefined;
  /** Busy with a slow mail; receives no new batch until it finishes. */
  isStuck: boolean;
  idleSince: number;
  /** It has returned a result. A worker that ends before its first result cannot work at all and is not replaced. */
  isProven: boolean;
}

/** Hands each job of a batch its part of the result, but those that were requeued meanwhile. */
export function settle({ jobs, states }: Batch, { bytes, lengths, errors }: BatchResult): void {
  let at = 0;
  jobs.forEach((job, index) => {
    const first = lengths[2 * index] ?? -1;
    const second = lengths[2 * index + 1] ?? 0;
    const start = at;
    const middle = start + Math.max(first, 0);
    at = middle + second;
    if (job.settled || Atomics.load(states, index) === TAKEN) return;
    job.settled = true;
    job.done(
      first < 0 ? undefined : bytes.slice(start, middle),
      copyToGive(bytes.subarray(middle, at)),
      errors[index] ?? null,
    );
  });
  freeIfLarge(bytes);
}

export function send(worker: PoolWorker, jobs: Job[]): void {
  const states = new Int32Array(new SharedArrayBuffer(4 * jobs.length));
  worker.batches.push({ jobs, states });
  const inputs = jobs.map(({ input }) => copyIfLarge(input));
  const batch: JobBatch = { states, inputs, tasks: jobs.map(({ task }) => task) };
  worker.thread.postMessage(batch, buffersToGive(inputs));
}

export function fail(job: Job, failure: Failure): void {
  if (job.settled) return;
  job.settled = true;
  job.failed(failure);
}

export function currentJob(worker: PoolWorker): Job | undefined {
  for (const { jobs, states } of worker.batches) {
    const index = jobs.findIndex((_, i) => Atomics.load(states, i) === STARTED);
    if (index >= 0) return jobs[index];
  }
  return undefined;
}
