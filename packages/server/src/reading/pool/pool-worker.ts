import type { Worker } from 'node:worker_threads';
import { buffersToGive, copyInTurns, copyToGive, freeIfLarge, isLarge } from '../../memory.ts';
import type { Flow } from './fair-queue.ts';
import { type BatchResult, type JobBatch, STARTED, TAKEN, type Task } from './protocol.ts';

/** Why a job ended without a result; `dropped`: the result is no longer needed. */
export type Failure = 'time' | 'memory' | 'crash' | 'closed' | 'dropped';

export interface Job {
  input: Uint8Array;
  task: Task;
  /** Whether a large input may be transferred; otherwise it is copied. */
  isGiven: boolean;
  flow: Flow;
  /** Workers that ended for an unknown cause with this job in their batch; at 2 the job fails. */
  deaths: number;
  settled: boolean;
  done(first: Uint8Array | undefined, second: Uint8Array, parseError: string | null): void;
  failed(failure: Failure): void;
}

interface Batch {
  id: number;
  jobs: Job[];
  states: Int32Array;
}

export interface PoolWorker {
  thread: Worker;
  batches: Batch[];
  /** The current job at the last check, and the time of the first check with that job (monotonic, ms). */
  watched: { job: Job; since: number } | undefined;
  /** Busy with a slow mail; receives no new batch until it finishes. */
  isStuck: boolean;
  idleSince: number;
  /** The worker has returned a result. One that ends before that cannot work at all and is not replaced. */
  isProven: boolean;
}

/** Settles each job of a batch with its part of the result, except jobs requeued meanwhile. */
export function settle({ jobs, states }: Batch, { bytes, lengths, errors }: BatchResult): void {
  let at = 0;
  let isGiven = false;
  jobs.forEach((job, index) => {
    const first = lengths[2 * index] ?? -1;
    const second = lengths[2 * index + 1] ?? 0;
    const start = at;
    const middle = start + Math.max(first, 0);
    at = middle + second;
    if (job.settled || Atomics.load(states, index) === TAKEN) return;
    job.settled = true;
    // Decoded bytes may be as large as a mail, so they are passed on without a copy.
    isGiven = first === bytes.length && isLarge(bytes);
    const beginning = isGiven ? bytes : bytes.slice(start, middle);
    const rest = copyToGive(bytes.subarray(middle, at));
    job.done(first < 0 ? undefined : beginning, rest, errors[index] ?? null);
  });
  if (!isGiven) freeIfLarge(bytes);
}

let lastBatch = 0;

export function send(worker: PoolWorker, jobs: Job[]): void {
  const states = new Int32Array(new SharedArrayBuffer(4 * jobs.length));
  const batch = { id: ++lastBatch, jobs, states };
  worker.batches.push(batch);
  if (jobs.some(({ input }) => isLarge(input))) {
    postCopies(worker, batch).catch(() => {
      // There is no memory for the copies (RangeError).
      worker.batches.splice(worker.batches.indexOf(batch), 1);
      for (const job of jobs) fail(job, 'memory');
    });
  } else
    post(
      worker,
      batch,
      jobs.map(({ input }) => input),
    );
}

/** Copies large inputs before posting. Other batches may be posted meanwhile, so results may come in another order. */
async function postCopies(worker: PoolWorker, batch: Batch): Promise<void> {
  const inputs: Uint8Array[] = [];
  for (const job of batch.jobs) {
    inputs.push(job.isGiven ? job.input : await copyInTurns(job.input, () => !job.settled));
  }
  post(worker, batch, inputs);
}

/** A dropped job may have no bytes: the worker skips it because of its state. */
function post({ thread }: PoolWorker, { id, jobs, states }: Batch, inputs: Uint8Array[]): void {
  const batch: JobBatch = { id, states, inputs, tasks: jobs.map(({ task }) => task) };
  thread.postMessage(batch, buffersToGive(inputs));
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
