import { Worker } from 'node:worker_threads';
import { systemClock } from '../../clock.ts';
import { YOUNG_HEAP_MB } from '../../memory.ts';
import { FairQueue } from './fair-queue.ts';
import { currentJob, type Failure, fail, type Job, type PoolWorker, send, settle } from './pool-worker.ts';
import { type BatchResult, DONE, QUEUED, TAKEN } from './protocol.ts';

export interface QueueLimits {
  /** Workers that may run at the same time, not counting those that are busy with a slow mail. */
  threads: number;
  /** Further workers that may be busy with slow mails; when all are, the queue waits until one is terminated. */
  stuck: number;
  /** Jobs that are posted to a worker in one message. */
  batch: number;
  /** Bytes of one posted message without its first job; bounds how long a small mail at its end waits. */
  batchBytes: number;
  /** Batches that a worker has at most; with two, it need not wait for the main thread. */
  ahead: number;
  /** Workers kept when idle. */
  warm: number;
  slowMs: number;
  timeLimitMs: number;
  idleMs: number;
  heapMb: number;
}

/** Worker threads that share one queue. Sets no timers: {@link tick} is called while {@link isWatching}. */
export class JobQueue {
  private readonly queue = new FairQueue<Job>();
  /** Jobs taken back from a worker; they run before queued jobs. */
  private readonly requeued: Job[] = [];
  private readonly workers = new Set<PoolWorker>();
  private readonly limits: QueueLimits;
  private readonly entry: URL;
  private readonly onWork: () => void;
  private isScheduled = false;
  private isClosed = false;

  /**
   * @param entry the worker's file
   * @param onWork called when {@link tick} must be called from now on
   */
  constructor(entry: URL, limits: QueueLimits, onWork: () => void) {
    this.entry = entry;
    this.limits = limits;
    this.onWork = onWork;
  }

  warmUp(): void {
    while (!this.isClosed && this.workers.size < this.limits.warm) this.spawn();
  }

  get threads(): number {
    return this.workers.size;
  }

  /** True while {@link tick} must be called. */
  get isWatching(): boolean {
    if (this.waiting > 0 || this.workers.size > this.limits.warm) return true;
    for (const worker of this.workers) if (worker.batches.length > 0) return true;
    return false;
  }

  add(job: Job): void {
    if (this.isClosed) {
      job.settled = true;
      job.failed('closed');
      return;
    }
    this.queue.add(job, job.flow);
    if (this.isScheduled) return;
    this.isScheduled = true;
    // setImmediate runs after the sockets were read, so mails that arrive in one turn of the event loop share a batch.
    setImmediate(() => {
      this.isScheduled = false;
      this.dispatch();
      this.onWork();
    });
  }

  /** Moves a job that no worker has yet before those for which no caller waits. */
  hasten(job: Job): void {
    this.queue.hasten(job, job.flow);
  }

  /** Ends a job without a result. A worker that has started it finishes it, and the result is discarded. */
  drop(job: Job): void {
    if (job.settled) return;
    this.queue.remove(job, job.flow);
    for (const { batches } of this.workers) {
      for (const { jobs, states } of batches) {
        const index = jobs.indexOf(job);
        if (index >= 0) Atomics.compareExchange(states, index, QUEUED, TAKEN);
      }
    }
    fail(job, 'dropped');
  }

  /** Requeues jobs behind slow mails, terminates workers past the time limit, and ends idle ones. */
  tick(): void {
    const now = systemClock.monotonic();
    for (const worker of [...this.workers]) {
      if (worker.batches.length > 0) this.watch(worker, now);
      else if (this.workers.size > this.limits.warm && now - worker.idleSince >= this.limits.idleMs) {
        this.retire(worker);
      }
    }
    this.dispatch();
  }

  private watch(worker: PoolWorker, now: number): void {
    const current = currentJob(worker);
    if (current === undefined || worker.watched?.job !== current) {
      worker.watched = current && { job: current, since: now };
      return;
    }
    const elapsed = now - worker.watched.since;
    if (elapsed >= this.limits.timeLimitMs) this.terminate(worker, 'time');
    else if (elapsed >= this.limits.slowMs && !worker.isStuck) this.requeueOthers(worker);
  }

  async close(): Promise<void> {
    this.isClosed = true;
    const workers = [...this.workers];
    this.workers.clear();
    const left = [
      ...this.requeued.splice(0),
      ...workers.flatMap(({ batches }) => batches.flatMap(({ jobs }) => jobs)),
    ];
    for (let job = this.queue.shift(); job !== undefined; job = this.queue.shift()) left.push(job);
    for (const job of left) fail(job, 'closed');
    await Promise.all(workers.map(({ thread }) => thread.terminate()));
  }

  private get waiting(): number {
    return this.requeued.length + this.queue.size;
  }

  private dispatch(): void {
    while (!this.isClosed && this.waiting > 0) {
      const worker = this.freeWorker();
      if (worker === undefined) return;
      const jobs = this.nextBatch();
      if (jobs.length > 0) send(worker, jobs);
    }
  }

  private nextBatch(): Job[] {
    const jobs: Job[] = [];
    let bytes = 0;
    while (jobs.length < this.limits.batch) {
      const next = this.requeued[0] ?? this.queue.peek();
      if (next === undefined) break;
      bytes += next.input.length;
      if (jobs.length > 0 && bytes > this.limits.batchBytes) break;
      if (next === this.requeued[0]) this.requeued.shift();
      else this.queue.shift();
      if (!next.settled) jobs.push(next);
    }
    return jobs;
  }

  /** The worker with the fewest batches; a new one where all are busy and another is allowed. */
  private freeWorker(): PoolWorker | undefined {
    let best: PoolWorker | undefined;
    let working = 0;
    for (const worker of this.workers) {
      if (worker.isStuck) continue;
      working++;
      if (best === undefined || worker.batches.length < best.batches.length) best = worker;
    }
    const load = best?.batches.length ?? Number.POSITIVE_INFINITY;
    const { threads, stuck, ahead } = this.limits;
    if (load > 0 && working < threads && this.workers.size < threads + stuck) return this.spawn();
    return load < ahead ? best : undefined;
  }

  private spawn(): PoolWorker {
    const thread = new Worker(this.entry, {
      name: 'parser',
      resourceLimits: { maxOldGenerationSizeMb: this.limits.heapMb, maxYoungGenerationSizeMb: YOUNG_HEAP_MB },
    });
    const worker: PoolWorker = {
      thread,
      batches: [],
      watched: undefined,
      isStuck: false,
      idleSince: systemClock.monotonic(),
      isProven: false,
    };
    thread.on('message', (result: BatchResult) => this.finish(worker, result));
    // The thread ends after an error; which error it was decides only the text of parseError.
    thread.on('error', (error: Error & { code?: string }) => {
      this.terminate(worker, error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'memory' : 'crash');
    });
    thread.on('exit', () => this.terminate(worker, 'crash'));
    this.workers.add(worker);
    return worker;
  }

  private finish(worker: PoolWorker, result: BatchResult): void {
    const index = worker.batches.findIndex(({ id }) => id === result.id);
    const [batch] = worker.batches.splice(index, index < 0 ? 0 : 1);
    if (batch === undefined) return;
    worker.isStuck = false;
    worker.isProven = true;
    worker.idleSince = systemClock.monotonic();
    settle(batch, result);
    this.dispatch();
  }

  /** Takes back all jobs but the current one: those not started, and those finished whose result was not sent. */
  private requeueOthers(worker: PoolWorker): void {
    worker.isStuck = true;
    for (const { jobs, states } of worker.batches) {
      jobs.forEach((job, index) => {
        const before = Atomics.compareExchange(states, index, QUEUED, TAKEN);
        if (!job.settled && (before === QUEUED || before === DONE)) this.requeued.unshift(job);
      });
    }
  }

  /** Removes a worker that ended or is to be ended: its current job fails, the others are requeued. */
  private terminate(worker: PoolWorker, failure: Failure): void {
    if (!this.workers.delete(worker)) return;
    const current = currentJob(worker);
    for (const { jobs, states } of worker.batches) {
      jobs.forEach((job, index) => {
        if (job === current) fail(job, failure);
        else if (Atomics.exchange(states, index, TAKEN) !== TAKEN)
          this.requeue(job, current === undefined, failure);
      });
    }
    void worker.thread.terminate();
    if (worker.isProven && this.workers.size < this.limits.warm && !this.isClosed) this.spawn();
    this.dispatch();
  }

  /** @param isSuspect true when it is unknown which job ended the worker */
  private requeue(job: Job, isSuspect: boolean, failure: Failure): void {
    if (job.settled) return;
    // The input was transferred to the ended worker, so the job cannot run again.
    const isLost = job.isGiven && job.input.length === 0;
    if (isLost || (isSuspect && ++job.deaths > 1)) fail(job, failure);
    else this.requeued.unshift(job);
  }

  private retire(worker: PoolWorker): void {
    this.workers.delete(worker);
    void worker.thread.terminate();
  }
}
