import { Worker } from 'node:worker_threads';
import type { Clock } from '../../clock.ts';
import { buffersToGive, copyIfLarge } from '../../memory.ts';
import { type BatchResult, DONE, type JobBatch, QUEUED, STARTED, TAKEN } from './protocol.ts';

/** What one mail leaves behind is soon garbage; with room to grow it would take ten times this before it is looked at. */
const YOUNG_HEAP_MB = 12;

/** Why a job ended without a result. */
export type Failure = 'time' | 'memory' | 'crash' | 'closed';

export interface Job {
  raw: Uint8Array;
  /** The attachment to decode; null to parse. */
  attachmentId: string | null;
  /** The second worker that dies over a job without being seen to read it is enough. */
  deaths: number;
  settled: boolean;
  done(first: Uint8Array | undefined, second: Uint8Array, parseError: string | null): void;
  failed(failure: Failure): void;
}

export interface LaneLimits {
  /** Workers that may be at work at the same time, those stuck in a slow mail not counted. */
  threads: number;
  /** Workers that may be stuck in slow mails besides; when all are, the lane waits for their end. */
  stuck: number;
  /** Jobs of one posted message. */
  batch: number;
  /** Batches that a worker has at most: with two, it never waits for the main thread. */
  ahead: number;
  /** Kept running when idle. */
  warm: number;
  slowMs: number;
  timeLimitMs: number;
  idleMs: number;
  heapMb: number;
}

interface Batch {
  jobs: Job[];
  states: Int32Array;
}

/** One worker thread with what it was given. */
interface Crew {
  worker: Worker;
  batches: Batch[];
  /** The job that it was seen at last, and since when (epoch ms). */
  watched: { job: Job; since: number } | undefined;
  /** In a slow mail: gets nothing more until it is through. */
  stuck: boolean;
  idleSince: number;
  /** It answered once; a worker that dies before cannot work at all, and another would not either. */
  proven: boolean;
}

/** Worker threads that share one queue. Nothing here sleeps: {@link tick} is called while {@link watching}. */
export class Lane {
  private readonly queue: Job[] = [];
  private readonly crews = new Set<Crew>();
  private readonly limits: LaneLimits;
  private readonly entry: URL;
  private readonly clock: Pick<Clock, 'now'>;
  private readonly onWork: () => void;
  private scheduled = false;
  private closed = false;

  /**
   * @param entry the worker's file
   * @param onWork called when there is something to watch
   */
  constructor(entry: URL, limits: LaneLimits, clock: Pick<Clock, 'now'>, onWork: () => void) {
    this.entry = entry;
    this.limits = limits;
    this.clock = clock;
    this.onWork = onWork;
    for (let i = 0; i < limits.warm; i++) this.spawn();
  }

  /** How many worker threads live. */
  get threads(): number {
    return this.crews.size;
  }

  /** True while {@link tick} must be called. */
  get watching(): boolean {
    if (this.queue.length > 0 || this.crews.size > this.limits.warm) return true;
    for (const crew of this.crews) if (crew.batches.length > 0) return true;
    return false;
  }

  add(job: Job): void {
    if (this.closed) {
      job.settled = true;
      job.failed('closed');
      return;
    }
    this.queue.push(job);
    if (this.scheduled) return;
    this.scheduled = true;
    // After the sockets of this turn were read: the mails that ended in one turn make one batch.
    setImmediate(() => {
      this.scheduled = false;
      this.dispatch();
      this.onWork();
    });
  }

  /** Looks after the workers: takes jobs from behind slow mails, ends those past the limit, sends idle ones home. */
  tick(): void {
    const now = this.clock.now();
    for (const crew of [...this.crews]) {
      if (crew.batches.length === 0) {
        const extra = this.crews.size > this.limits.warm;
        if (extra && now - crew.idleSince >= this.limits.idleMs) this.retire(crew);
        continue;
      }
      const running = runningJob(crew);
      if (running === undefined || crew.watched?.job !== running) {
        crew.watched = running && { job: running, since: now };
        continue;
      }
      const elapsed = now - crew.watched.since;
      if (elapsed >= this.limits.timeLimitMs) this.bury(crew, 'time');
      else if (elapsed >= this.limits.slowMs && !crew.stuck) this.rescue(crew);
    }
    this.dispatch();
  }

  async close(): Promise<void> {
    this.closed = true;
    const crews = [...this.crews];
    this.crews.clear();
    const left = [
      ...this.queue.splice(0),
      ...crews.flatMap((crew) => crew.batches.flatMap(({ jobs }) => jobs)),
    ];
    for (const job of left) fail(job, 'closed');
    await Promise.all(crews.map((crew) => crew.worker.terminate()));
  }

  private dispatch(): void {
    while (!this.closed && this.queue.length > 0) {
      const crew = this.freeCrew();
      if (crew === undefined) return;
      const jobs = this.queue.splice(0, this.limits.batch).filter((job) => !job.settled);
      if (jobs.length > 0) send(crew, jobs);
    }
  }

  /** The worker with the least to do; a new one where all are busy and another is allowed. */
  private freeCrew(): Crew | undefined {
    let best: Crew | undefined;
    let working = 0;
    for (const crew of this.crews) {
      if (crew.stuck) continue;
      working++;
      if (best === undefined || crew.batches.length < best.batches.length) best = crew;
    }
    const load = best?.batches.length ?? Number.POSITIVE_INFINITY;
    const { threads, stuck, ahead } = this.limits;
    if (load > 0 && working < threads && this.crews.size < threads + stuck) return this.spawn();
    return load < ahead ? best : undefined;
  }

  private spawn(): Crew {
    const worker = new Worker(this.entry, {
      resourceLimits: { maxOldGenerationSizeMb: this.limits.heapMb, maxYoungGenerationSizeMb: YOUNG_HEAP_MB },
    });
    const crew: Crew = {
      worker,
      batches: [],
      watched: undefined,
      stuck: false,
      idleSince: this.clock.now(),
      proven: false,
    };
    worker.on('message', (result: BatchResult) => this.finish(crew, result));
    // The thread is over after an error; which one decides only the words of parseError.
    worker.on('error', (error: Error & { code?: string }) => {
      this.bury(crew, error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'memory' : 'crash');
    });
    worker.on('exit', () => this.bury(crew, 'crash'));
    this.crews.add(crew);
    return crew;
  }

  private finish(crew: Crew, result: BatchResult): void {
    const batch = crew.batches.shift();
    if (batch === undefined) return;
    crew.stuck = false;
    crew.proven = true;
    crew.idleSince = this.clock.now();
    let at = 0;
    batch.jobs.forEach((job, index) => {
      const first = result.lengths[2 * index] ?? -1;
      const second = result.lengths[2 * index + 1] ?? 0;
      const start = at;
      at += Math.max(first, 0) + second;
      const taken = Atomics.load(batch.states, index) === TAKEN;
      if (job.settled || taken) return;
      job.settled = true;
      const middle = start + Math.max(first, 0);
      job.done(
        first < 0 ? undefined : result.bytes.slice(start, middle),
        result.bytes.slice(middle, at),
        result.errors[index] ?? null,
      );
    });
    this.dispatch();
  }

  /** Gives all but the running job of a slow worker to others: what it has not begun, and what it has not sent. */
  private rescue(crew: Crew): void {
    crew.stuck = true;
    for (const { jobs, states } of crew.batches) {
      jobs.forEach((job, index) => {
        const before = Atomics.compareExchange(states, index, QUEUED, TAKEN);
        if (before === QUEUED || before === DONE) this.queue.unshift(job);
      });
    }
  }

  /** A worker is dead, or is to be: its running job fails, the others go to the next worker. */
  private bury(crew: Crew, failure: Failure): void {
    if (!this.crews.delete(crew)) return;
    const culprit = runningJob(crew);
    for (const { jobs, states } of crew.batches) {
      jobs.forEach((job, index) => {
        if (job === culprit) fail(job, failure);
        else if (Atomics.exchange(states, index, TAKEN) !== TAKEN)
          this.again(job, culprit === undefined, failure);
      });
    }
    void crew.worker.terminate();
    if (crew.proven && this.crews.size < this.limits.warm && !this.closed) this.spawn();
    this.dispatch();
  }

  private again(job: Job, blameless: boolean, failure: Failure): void {
    if (job.settled) return;
    if (blameless && ++job.deaths > 1) fail(job, failure);
    else this.queue.unshift(job);
  }

  private retire(crew: Crew): void {
    this.crews.delete(crew);
    void crew.worker.terminate();
  }
}

function send(crew: Crew, jobs: Job[]): void {
  const states = new Int32Array(new SharedArrayBuffer(4 * jobs.length));
  crew.batches.push({ jobs, states });
  const raws = jobs.map(({ raw }) => copyIfLarge(raw));
  const batch: JobBatch = { states, raws, attachmentIds: jobs.map((job) => job.attachmentId) };
  crew.worker.postMessage(batch, buffersToGive(raws));
}

function fail(job: Job, failure: Failure): void {
  if (job.settled) return;
  job.settled = true;
  job.failed(failure);
}

function runningJob(crew: Crew): Job | undefined {
  for (const { jobs, states } of crew.batches) {
    const index = jobs.findIndex((_, i) => Atomics.load(states, i) === STARTED);
    if (index >= 0) return jobs[index];
  }
  return undefined;
}
