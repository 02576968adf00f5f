import { Worker } from 'node:worker_threads';
import { systemClock } from '../clock.ts';
import { buffersToGive, copyInTurns, isLarge, YOUNG_HEAP_MB } from '../memory.ts';
import type { FromWorker, Operation, TaskResult, ToWorker, WorkerData } from './parse-worker.ts';

/** Jobs posted to a worker in advance, so that it can start the next one without waiting for the main thread. */
const JOBS_PER_WORKER = 8;
/** Bytes of the jobs posted in advance: 2 ms of work, 10 ms at worst. A larger job is posted alone. */
const MAX_BYTES_PER_WORKER = 64 * 1024;

/** Interval of checks whether deferred jobs may run. */
const DEFERRED_MS = 20;

/** Scheduling key: accounts take turns, and the inboxes within an account do too. */
export type Flow = readonly [accountId: string, inboxId: string];

/** Whether a caller awaits a result: the job then runs before those that no caller awaits. */
export interface Urgency {
  isAwaited: boolean;
  onAwaited?: () => void;
}

export function hasten(urgency: Urgency): void {
  urgency.isAwaited = true;
  urgency.onAwaited?.();
}

/** Why a job has no result. */
export type Failure = 'time' | 'memory' | 'crash' | 'closed';

export interface JobRequest {
  operation: Operation;
  /** Size of the input, bytes. */
  size: number;
  /** Loads the input. Called when a worker is free, and again if the job is repeated. */
  load: () => Promise<Uint8Array> | Uint8Array;
  argument?: unknown;
  flow: Flow;
  urgency: Urgency;
  /** Returns true while the job may wait, as long as no caller awaits it. */
  mayWait?: (() => boolean) | undefined;
  /** Abort it when the result is no longer needed: a job that has not begun is dropped. */
  signal?: AbortSignal | undefined;
}

type Job = JobRequest & PromiseWithResolvers<TaskResult | Failure> & { isSettled: boolean };

/** Serves one item of each account in turn, so that an account waits for at most one item of each other account. */
export class Turns<T extends { readonly flow: Flow }> {
  /** In the order of the turns; the inboxes within an account likewise. */
  readonly #accounts = new Map<string, Map<string, Set<T>>>();

  add(item: T): void {
    const [accountId, inboxId] = item.flow;
    const inboxes = this.#accounts.get(accountId) ?? new Map<string, Set<T>>();
    this.#accounts.set(accountId, inboxes);
    inboxes.set(inboxId, (inboxes.get(inboxId) ?? new Set()).add(item));
  }

  /** The item to be served next, which stays queued. */
  next(): T | undefined {
    const [inboxes] = this.#accounts.values();
    const [items] = inboxes?.values() ?? [];
    const [item] = items ?? [];
    return item;
  }

  /** Removes an item, and moves its inbox and account to the end of the turns. @returns false if it is not queued */
  remove(item: T): boolean {
    const [accountId, inboxId] = item.flow;
    const inboxes = this.#accounts.get(accountId);
    const items = inboxes?.get(inboxId);
    if (!inboxes || !items?.delete(item)) return false;
    inboxes.delete(inboxId);
    if (items.size > 0) inboxes.set(inboxId, items);
    this.#accounts.delete(accountId);
    if (inboxes.size > 0) this.#accounts.set(accountId, inboxes);
    return true;
  }
}

interface Thread {
  readonly worker: Worker;
  /** In the order in which the worker runs them. */
  readonly jobs: Job[];
  readonly outbox: Job[];
  /** Resolves when all earlier jobs are posted. Posting is asynchronous, because inputs are loaded and copied first. */
  posted: Promise<void>;
  results: number;
  readonly begun: WorkerData['begun'];
  /** Runs a slow job, and gets no further jobs until it has finished all of its own. */
  isSlow: boolean;
  /** The current job at the last check, and when it was first seen; monotonic milliseconds. */
  watched: Job | undefined;
  since: number;
}

export interface PoolLimits {
  threads: number;
  /** Limit of further workers that replace slow ones. When it is reached, the queue waits until one is terminated. */
  slow: number;
  /** Workers that are kept when idle. */
  warm: number;
  /** A job that takes longer is slow: those behind it move to another worker. */
  slowMs: number;
  timeLimitMs: number;
  idleMs: number;
  /** Limit of one worker's JavaScript heap, MiB. */
  heapMb: number;
}

/** Worker threads with a shared queue. Uses the system clock even in tests, because workers take real time. */
export class ParsePool {
  /** Jobs that a caller awaits are served before all others. */
  readonly #awaited = new Turns<Job>();
  readonly #others = new Turns<Job>();
  readonly #threads = new Set<Thread>();
  readonly #limits: PoolLimits;
  readonly #entry: URL;
  readonly #closed = new AbortController();
  #isWatching = false;
  /** Whether all workers were busy since the queue was empty. */
  #isBehind = false;
  #deferring: Promise<void> | undefined;

  constructor(entry: URL, limits: PoolLimits) {
    this.#entry = entry;
    this.#limits = limits;
  }

  get threads(): number {
    return this.#threads.size;
  }

  warmUp(): void {
    while (!this.#closed.signal.aborted && this.#threads.size < this.#limits.warm) this.#start();
  }

  /** Rejects if `load` rejects, or with the reason of `signal`. */
  async run(request: JobRequest): Promise<TaskResult | Failure> {
    const { signal, urgency } = request;
    signal?.throwIfAborted();
    if (this.#closed.signal.aborted) return 'closed';
    const job: Job = { ...request, ...Promise.withResolvers(), isSettled: false };
    urgency.onAwaited = () => {
      if (this.#others.remove(job)) this.#awaited.add(job);
      this.#dispatch();
    };
    const drop = (): void => {
      this.#remove(job);
      fail(job, signal?.reason);
    };
    signal?.addEventListener('abort', drop, { once: true });
    this.#add(job);
    this.#dispatch();
    void this.#watch();
    return job.promise.finally(() => signal?.removeEventListener('abort', drop));
  }

  async close(): Promise<void> {
    this.#closed.abort();
    const threads = [...this.#threads];
    this.#threads.clear();
    for (const job of threads.flatMap(({ jobs }) => jobs)) settle(job, 'closed');
    for (let job = this.#next(); job && this.#remove(job); job = this.#next()) settle(job, 'closed');
    await Promise.all(threads.map(({ worker }) => worker.terminate()));
  }

  #add(job: Job): void {
    (job.urgency.isAwaited ? this.#awaited : this.#others).add(job);
  }

  #next(): Job | undefined {
    return this.#awaited.next() ?? this.#others.next();
  }

  #remove(job: Job): boolean {
    return this.#awaited.remove(job) || this.#others.remove(job);
  }

  #dispatch(): void {
    for (let job = this.#next(); job && !this.#closed.signal.aborted; job = this.#next()) {
      if (this.#isBehind && !job.urgency.isAwaited && job.mayWait?.()) return void this.#dispatchLater();
      const thread = job.isSettled ? null : this.#threadFor(job);
      this.#isBehind ||= thread === undefined;
      if (thread === undefined) return;
      this.#remove(job);
      thread?.jobs.push(job);
      // setImmediate runs after the sockets were read, so mails that arrive in one turn share one message to
      // the worker.
      if (thread?.outbox.push(job) === 1) setImmediate(() => this.#post(thread));
    }
    this.#isBehind = false;
  }

  #dispatchLater(): void {
    this.#deferring ??= systemClock.sleep(DEFERRED_MS, this.#closed.signal).then(() => {
      this.#deferring = undefined;
      this.#dispatch();
    });
  }

  /** The worker with the fewest jobs, or a new one if all are busy and another is allowed. */
  #threadFor({ size }: Job): Thread | undefined {
    const { threads, slow } = this.#limits;
    const able = [...this.#threads].filter(({ isSlow }) => !isSlow);
    const [best] = able.sort((a, b) => a.jobs.length - b.jobs.length);
    if (best?.jobs.length === 0) return best;
    if (able.length < threads && this.#threads.size < threads + slow) return this.#start();
    if (!best || best.jobs.length >= JOBS_PER_WORKER) return undefined;
    const bytes = best.jobs.reduce((sum, job) => sum + job.size, size);
    return bytes <= MAX_BYTES_PER_WORKER ? best : undefined;
  }

  #start(): Thread {
    const begun = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const worker = new Worker(this.#entry, {
      name: 'parser',
      workerData: { begun } satisfies WorkerData,
      resourceLimits: {
        maxOldGenerationSizeMb: this.#limits.heapMb,
        maxYoungGenerationSizeMb: YOUNG_HEAP_MB,
      },
    });
    const thread: Thread = {
      worker,
      jobs: [],
      outbox: [],
      posted: Promise.resolve(),
      results: 0,
      begun,
      isSlow: false,
      watched: undefined,
      since: systemClock.monotonic(),
    };
    let failure: Failure = 'crash';
    worker.on('message', (results: FromWorker) => this.#receive(thread, results));
    // The thread ends after this event; earlier results arrive before it.
    worker.on('error', (error: Error & { code?: string }) => {
      if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') failure = 'memory';
    });
    worker.on('exit', () => this.#end(thread, failure));
    this.#threads.add(thread);
    return thread;
  }

  #post(thread: Thread): void {
    const jobs = thread.outbox.splice(0);
    const post = async (): Promise<void> => {
      const inputs = await Promise.all(jobs.map(inputOf));
      const tasks = jobs.map(({ operation, argument }, at) => [operation, inputs[at], argument]);
      thread.worker.postMessage(tasks as ToWorker, buffersToGive(inputs));
    };
    // RangeError: there is no memory for the copy.
    thread.posted = thread.posted.then(post).catch(() => this.#end(thread, 'memory'));
  }

  #receive(thread: Thread, results: FromWorker): void {
    thread.results += results.length;
    for (const result of results) settle(thread.jobs.shift(), result);
    if (thread.jobs.length === 0) {
      thread.isSlow = false;
      thread.since = systemClock.monotonic();
    }
    this.#dispatch();
  }

  /** Runs only while jobs are in progress, so that an idle server sets no timers. */
  async #watch(): Promise<void> {
    if (this.#isWatching) return;
    this.#isWatching = true;
    const { warm, slowMs } = this.#limits;
    const isNeeded = () =>
      this.#threads.size > warm || [...this.#threads].some(({ jobs }) => jobs.length > 0);
    while (!this.#closed.signal.aborted && isNeeded()) {
      await systemClock.sleep(slowMs, this.#closed.signal);
      for (const thread of [...this.#threads]) this.#check(thread);
    }
    this.#isWatching = false;
  }

  #check(thread: Thread): void {
    const { warm, slowMs, timeLimitMs, idleMs } = this.#limits;
    const current = thread.jobs[begunOf(thread) - 1];
    const now = systemClock.monotonic();
    const elapsed = now - thread.since;
    if (thread.jobs.length === 0) {
      if (this.#threads.size > warm && elapsed >= idleMs) this.#end(thread, 'closed');
    } else if (current !== thread.watched) {
      thread.watched = current;
      thread.since = now;
    } else if (current && elapsed >= timeLimitMs) this.#end(thread, 'time');
    else if (current && elapsed >= slowMs && !thread.isSlow) {
      thread.isSlow = true;
      // This worker runs them too, when the slow one has ended.
      this.#requeue(thread.jobs.filter((job) => job !== current));
    }
  }

  /** Removes a worker that ended or must be terminated: its current job fails, the others are requeued. */
  #end(thread: Thread, failure: Failure): void {
    if (!this.#threads.delete(thread)) return;
    void thread.worker.terminate();
    // If none was begun, the first one fails, so that workers which cannot start do not repeat all jobs forever.
    settle(thread.jobs[Math.max(0, begunOf(thread) - 1)], failure);
    if (Atomics.load(thread.begun, 0) > 0) this.warmUp();
    // Jobs of a slow worker may already run elsewhere; the first result counts.
    this.#requeue(thread.jobs);
  }

  /** They have had their turn, so they run before jobs that no caller awaits. */
  #requeue(jobs: readonly Job[]): void {
    for (const job of jobs) {
      if (job.isSettled) continue;
      job.urgency.isAwaited = true;
      this.#add(job);
    }
    this.#dispatch();
  }
}

function settle(job: Job | undefined, result: TaskResult | Failure): void {
  if (job) job.isSettled = true;
  job?.resolve(result);
}

function fail(job: Job, error: unknown): void {
  job.isSettled = true;
  job.reject(error);
}

const begunOf = ({ results, begun }: Thread): number => Atomics.load(begun, 0) - results;

/** Bytes that may be transferred to a worker; none for a job that has ended meanwhile. */
async function inputOf(job: Job): Promise<Uint8Array> {
  const isNeeded = () => !job.isSettled;
  try {
    const input = isNeeded() ? await job.load() : new Uint8Array();
    // The bytes of a mail are still needed here; other large inputs are transferred.
    return job.operation === 'parse' && isLarge(input) ? await copyInTurns(input, isNeeded) : input;
  } catch (error) {
    if (error instanceof RangeError) throw error;
    fail(job, error);
    return new Uint8Array();
  }
}
