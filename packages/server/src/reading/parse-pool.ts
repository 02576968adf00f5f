import { Worker } from 'node:worker_threads';
import { systemClock } from '../clock.ts';
import { buffersToGive, YOUNG_HEAP_MB } from '../memory.ts';
import type { FromWorker, Operation, TaskResult, ToWorker, WorkerData } from './parse-worker.ts';

/** Limit of jobs that are posted to a worker in advance, so that it need not wait for the main thread. */
export const JOBS_PER_WORKER = 8;
/** Limit of the input bytes of these jobs: 2 to 10 ms of work. A larger job is posted to an idle worker. */
const MAX_BYTES_PER_WORKER = 64 * 1024;

/** Scheduling key. Accounts take turns, and so do the inboxes of one account. */
export type Flow = readonly [accountId: string, inboxId: string];

/** Priority of a job: a job whose result a caller awaits runs before all other jobs. */
export interface Urgency {
  isAwaited: boolean;
  onAwaited?: () => void;
}

export function hasten(urgency: Urgency): void {
  urgency.isAwaited = true;
  urgency.onAwaited?.();
}

export type Failure = 'time' | 'memory' | 'crash' | 'closed';

export interface JobRequest {
  operation: Operation;
  /** Size of the input, bytes. */
  size: number;
  /** Loads the input when a worker is free, and again if the job is repeated. A large input is transferred. */
  load: () => Promise<Uint8Array> | Uint8Array;
  argument?: unknown;
  flow: Flow;
  urgency: Urgency;
  /** Aborted when no caller needs the result any more. A job that has not begun is then dropped. */
  signal?: AbortSignal | undefined;
}

type Job = JobRequest & PromiseWithResolvers<TaskResult | Failure> & { isSettled: boolean };

/** A queue with round robin over accounts: an account waits for at most one item of each other account. */
export class Turns<T extends { readonly flow: Flow }> {
  readonly #accounts = new Map<string, Map<string, Set<T>>>();

  add(item: T): void {
    const [accountId, inboxId] = item.flow;
    const inboxes = this.#accounts.get(accountId) ?? new Map<string, Set<T>>();
    this.#accounts.set(accountId, inboxes);
    inboxes.set(inboxId, (inboxes.get(inboxId) ?? new Set()).add(item));
  }

  next(): T | undefined {
    const [inboxes] = this.#accounts.values();
    const [items] = inboxes?.values() ?? [];
    const [item] = items ?? [];
    return item;
  }

  /** Removes an item. Its inbox and its account become the last in turn. @returns false if not queued */
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

class Thread {
  readonly worker: Worker;
  readonly jobs: Job[] = [];
  readonly outbox: Job[] = [];
  /** Resolves when all earlier jobs are posted, which takes time because their inputs are loaded first. */
  posted = Promise.resolve();
  results = 0;
  /** Whether the current job is slow. The worker then receives no new jobs until all its jobs have ended. */
  isSlow = false;
  /** The current job at the last check. `since`: when it was first seen or idle time began (monotonic ms). */
  watched: Job | undefined;
  since = systemClock.monotonic();
  readonly #begun = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

  constructor(entry: URL, maxOldGenerationSizeMb: number) {
    this.worker = new Worker(entry, {
      name: 'parser',
      workerData: { begun: this.#begun } satisfies WorkerData,
      resourceLimits: { maxOldGenerationSizeMb, maxYoungGenerationSizeMb: YOUNG_HEAP_MB },
    });
  }

  /** Number of jobs that the worker has begun since it started. */
  get begun(): number {
    return Atomics.load(this.#begun, 0);
  }

  get current(): Job | undefined {
    return this.jobs[this.begun - this.results - 1];
  }
}

export interface PoolLimits {
  threads: number;
  /** Limit of extra workers that replace slow ones. At the limit, jobs wait until a slow worker ends. */
  slow: number;
  warm: number;
  /** A job that takes longer is slow. Other workers then take over the jobs that wait behind it. */
  slowMs: number;
  timeLimitMs: number;
  idleMs: number;
  /** Limit of the JavaScript heap of each worker, MiB. */
  heapMb: number;
}

/** Worker threads with a shared queue. Uses the system clock even in tests: workers take real time. */
export class ParsePool {
  readonly #awaited = new Turns<Job>();
  readonly #others = new Turns<Job>();
  readonly #threads = new Set<Thread>();
  readonly #limits: PoolLimits;
  readonly #entry: URL;
  readonly #closed = new AbortController();
  #isWatching = false;

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

  /** @throws the error of `load`, or the reason of an aborted `signal` */
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
      const thread = job.isSettled ? null : this.#threadFor(job);
      if (thread === undefined) return;
      this.#remove(job);
      thread?.jobs.push(job);
      // setImmediate runs after all sockets were read, so mails that arrive together are posted together.
      if (thread?.outbox.push(job) === 1) setImmediate(() => this.#post(thread));
    }
  }

  /** Returns the worker with the fewest jobs. If all are busy and the limits allow it, starts another worker. */
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
    const thread = new Thread(this.#entry, this.#limits.heapMb);
    const { worker } = thread;
    let failure: Failure = 'crash';
    worker.on('message', (results: FromWorker) => this.#receive(thread, results));
    // Results that the worker sent earlier have arrived by now, so the job without a result caused the error.
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
    // Loading or posting throws a RangeError if there is no memory for a copy of the input.
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

  /** Runs only while there are jobs or surplus workers, so that an idle server has no timers. */
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
    const { current } = thread;
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
      // This worker also runs these jobs, after its slow job. The first result of a job counts.
      this.#requeue(thread.jobs.filter((job) => job !== current));
    }
  }

  /** Removes a worker that ended or must be terminated: its current job fails, the others are requeued. */
  #end(thread: Thread, failure: Failure): void {
    if (!this.#threads.delete(thread)) return;
    void thread.worker.terminate();
    const hasStarted = thread.begun > 0;
    // If it could not start, the first job fails, so that it is not replaced forever.
    settle(hasStarted ? thread.current : thread.jobs[0], failure);
    if (hasStarted) this.warmUp();
    this.#requeue(thread.jobs);
  }

  /** Requeues jobs that have already waited once. They run before jobs that no caller awaits. */
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

/** Loads the input; an empty array if the job has already ended. */
async function inputOf(job: Job): Promise<Uint8Array> {
  try {
    return job.isSettled ? new Uint8Array() : await job.load();
  } catch (error) {
    if (error instanceof RangeError) throw error;
    fail(job, error);
    return new Uint8Array();
  }
}
