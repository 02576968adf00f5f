import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { systemClock } from '../clock.ts';
import { AppError } from '../errors.ts';
import { type AttachmentList, type FullJson, readAttachmentList } from '../mail/full-json.ts';
import type { TransferEncoding } from '../mail/mime/transfer-encoding.ts';
import { buffersToGive, copyInTurns, isLarge, YOUNG_HEAP_MB } from '../memory.ts';
import type {
  FromWorker,
  Operation,
  ParsedBytes,
  TaskResult,
  Tasks,
  ToWorker,
  WorkerData,
} from './parse-worker.ts';

/** Time limit of one mail. The largest real mails take well under a second. */
const PARSE_TIME_LIMIT_MS = 5_000;
/**
 * Jobs that wait behind a slower one move to another worker. On a busy machine, any thread may wait 30 ms for the CPU.
 */
const SLOW_PARSE_MS = 50;
/** Limit of one worker's JavaScript heap, MiB. Strings of changePieces (mail/mime/clean.ts) and results are outside it. */
const PARSE_HEAP_MB = 256;
/** An idle extra worker uses tens of MiB. */
const IDLE_WORKER_MS = 30_000;
/** Larger mails are parsed by a separate worker. A mail of this size takes 100 ms at worst. */
export const LARGE_MAIL_BYTES = 1024 * 1024;
/** SLOW_PARSE_MS for large mails, behind which no small mails wait. */
const SLOW_LARGE_PARSE_MS = 1_000;
/**
 * Jobs that are posted to a worker in advance, so that it can start the next one without waiting for the main thread.
 */
const JOBS_PER_WORKER = 8;
/** Bytes of the jobs posted in advance: 2 ms of work, 10 ms at worst. A larger job is posted alone. */
const MAX_BYTES_PER_WORKER = 64 * 1024;
/** Extra workers that replace those busy with slow mails. */
const MAX_SLOW = 3;

/** Indexes of `numbers` in {@link WorkerData}: the last job that was begun, and the last one that may begin. */
const BEGUN = 0;
const LAST = 1;

/** Why a job ended without a result; `dropped`: the caller no longer needs the result. */
type Failure = 'time' | 'memory' | 'crash' | 'closed' | 'dropped';

const REASONS: Readonly<Record<Failure, string>> = {
  time: `Reading the mail took longer than ${PARSE_TIME_LIMIT_MS / 1000} seconds.`,
  memory: `Reading the mail needed more than ${PARSE_HEAP_MB} MiB of memory.`,
  crash: 'The parser ended unexpectedly.',
  closed: 'The server stopped before the mail was read.',
  dropped: 'The client disconnected before the mail was read.',
};

interface Job {
  operation: Operation;
  input: Uint8Array;
  /** Size of the input, which is empty after its transfer to a worker. */
  size: number;
  argument: unknown;
  flow: Flow;
  /** Whether its worker ended before it began any job. */
  wasLost: boolean;
  isSettled: boolean;
  settle(result: TaskResult | Failure): void;
}

interface Thread {
  worker: Worker;
  /** In the order in which the worker runs them. */
  jobs: Job[];
  /** The jobs that are not posted yet. */
  outbox: Job[];
  /** Resolves when all earlier jobs are posted. Posting is asynchronous, because large inputs are copied first. */
  posted: Promise<void>;
  /** Number of results received from this worker. */
  results: number;
  /** Shared with the worker, see {@link WorkerData}. */
  numbers: Int32Array;
  /** Busy with a slow mail; receives no job until it finishes. */
  isSlow: boolean;
  /** The current job at the last check, and when it was first seen; monotonic milliseconds. */
  watched: Job | undefined;
  since: number;
}

/** Scheduling key: accounts take turns, and the inboxes within an account do too. */
export type Flow = readonly [accountId: string, inboxId: string];

/**
 * Round-robin queue: serves an item of each account in turn, so that an account waits for at most one item of
 * each other account.
 */
class Turns<T> {
  /** In the order of the turns; the inboxes within an account likewise. */
  private readonly accounts = new Map<string, Map<string, T[]>>();

  add(item: T, [accountId, inboxId]: Flow): void {
    const inboxes = this.accounts.get(accountId) ?? new Map<string, T[]>();
    const items = inboxes.get(inboxId) ?? [];
    items.push(item);
    inboxes.set(inboxId, items);
    this.accounts.set(accountId, inboxes);
  }

  next(): { item: T; flow: Flow } | undefined {
    for (const [accountId, inboxes] of this.accounts) {
      for (const [inboxId, [item]] of inboxes) {
        if (item !== undefined) return { item, flow: [accountId, inboxId] };
      }
    }
    return undefined;
  }

  /**
   * Removes an item, and moves its inbox and account to the end of the turns. @returns false if it is not queued
   */
  remove(item: T, [accountId, inboxId]: Flow): boolean {
    const inboxes = this.accounts.get(accountId);
    const items = inboxes?.get(inboxId);
    const at = items?.indexOf(item) ?? -1;
    if (!inboxes || !items || at < 0) return false;
    items.splice(at, 1);
    inboxes.delete(inboxId);
    if (items.length > 0) inboxes.set(inboxId, items);
    this.accounts.delete(accountId);
    if (inboxes.size > 0) this.accounts.set(accountId, inboxes);
    return true;
  }
}

/** Serves items that a caller awaits before all others; within both kinds, accounts take turns. */
export class FairQueue<T> {
  private readonly awaited = new Turns<T>();
  private readonly others = new Turns<T>();
  private count = 0;

  get size(): number {
    return this.count;
  }

  add(item: T, flow: Flow): void {
    this.others.add(item, flow);
    this.count += 1;
  }

  /** Moves a queued item before those that no caller awaits. */
  hasten(item: T, flow: Flow): void {
    if (this.others.remove(item, flow)) this.awaited.add(item, flow);
  }

  peek(): T | undefined {
    return (this.awaited.next() ?? this.others.next())?.item;
  }

  shift(): T | undefined {
    const next = this.awaited.next() ?? this.others.next();
    if (next) this.remove(next.item, next.flow);
    return next?.item;
  }

  /** @returns false if the item is not queued */
  remove(item: T, flow: Flow): boolean {
    const isRemoved = this.others.remove(item, flow) || this.awaited.remove(item, flow);
    if (isRemoved) this.count -= 1;
    return isRemoved;
  }
}

interface PoolLimits {
  /** Limit of concurrent workers, not counting those busy with a slow mail. */
  threads: number;
  /**
   * Limit of further workers that are busy with slow mails. When it is reached, the queue waits until one is
   * terminated.
   */
  slow: number;
  /** Jobs that a worker may have. */
  jobs: number;
  /** Workers that are kept when idle. */
  warm: number;
  slowMs: number;
  timeLimitMs: number;
  idleMs: number;
  heapMb: number;
}

/** Worker threads with a shared queue. Uses the system clock even in tests, because workers take real time. */
class Pool {
  readonly #queue = new FairQueue<Job>();
  /** Jobs taken back from a worker; they run before queued jobs. */
  readonly #requeued: Job[] = [];
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

  add(job: Job): void {
    if (this.#closed.signal.aborted) job.settle('closed');
    else this.#queue.add(job, job.flow);
    this.#dispatch();
    void this.#watch();
  }

  /** Moves a job that no worker has yet before those that no caller awaits. */
  hasten(job: Job): void {
    this.#queue.hasten(job, job.flow);
  }

  /** Ends a job without a result. If a worker already has it, its result is discarded. */
  drop(job: Job): void {
    this.#queue.remove(job, job.flow);
    job.settle('dropped');
  }

  async close(): Promise<void> {
    this.#closed.abort();
    const threads = [...this.#threads];
    this.#threads.clear();
    const left = [...this.#requeued.splice(0), ...threads.flatMap(({ jobs }) => jobs)];
    for (let job = this.#queue.shift(); job; job = this.#queue.shift()) left.push(job);
    for (const job of left) job.settle('closed');
    await Promise.all(threads.map(({ worker }) => worker.terminate()));
  }

  #next(): Job | undefined {
    while (this.#requeued[0]?.isSettled) this.#requeued.shift();
    return this.#requeued[0] ?? this.#queue.peek();
  }

  #dispatch(): void {
    for (let job = this.#next(); job && !this.#closed.signal.aborted; job = this.#next()) {
      const thread = this.#threadFor(job);
      if (!thread) return;
      if (job === this.#requeued[0]) this.#requeued.shift();
      else this.#queue.shift();
      thread.jobs.push(job);
      thread.outbox.push(job);
      // setImmediate runs after the sockets were read, so mails that arrive in one turn share one message to
      // the worker.
      if (thread.outbox.length === 1) setImmediate(() => this.#post(thread));
    }
  }

  /** The worker with the fewest jobs, or a new one if all are busy and another is allowed. */
  #threadFor({ size }: Job): Thread | undefined {
    const { threads, slow, jobs } = this.#limits;
    let best: Thread | undefined;
    let able = 0;
    for (const thread of this.#threads) {
      if (thread.isSlow) continue;
      able += 1;
      if (!best || thread.jobs.length < best.jobs.length) best = thread;
    }
    if (best?.jobs.length === 0) return best;
    if (able < threads && this.#threads.size < threads + slow) return this.#start();
    if (!best || best.jobs.length >= jobs) return undefined;
    const bytes = best.jobs.reduce((sum, job) => sum + job.size, size);
    return bytes <= MAX_BYTES_PER_WORKER ? best : undefined;
  }

  #start(): Thread {
    const numbers = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
    const worker = new Worker(this.#entry, {
      name: 'parser',
      workerData: { numbers } satisfies WorkerData,
      resourceLimits: {
        maxOldGenerationSizeMb: this.#limits.heapMb,
        maxYoungGenerationSizeMb: YOUNG_HEAP_MB,
      },
    });
    const thread: Thread = {
      ...{ worker, jobs: [], outbox: [], posted: Promise.resolve(), results: 0, numbers },
      ...{ isSlow: false, watched: undefined, since: systemClock.monotonic() },
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
      const tasks: ToWorker = [];
      for (const job of jobs) {
        const { operation, input, argument } = job;
        // The bytes of a mail are still needed here if parsing fails; other large inputs are transferred.
        const isKept = operation === 'parse' && isLarge(input);
        const bytes = isKept ? await copyInTurns(input, () => !job.isSettled) : input;
        tasks.push([operation, bytes, argument]);
      }
      thread.worker.postMessage(tasks, buffersToGive(tasks.map(([, input]) => input)));
    };
    // RangeError: there is no memory for the copy.
    thread.posted = thread.posted.then(post).catch(() => this.#end(thread, 'memory', jobs[0]));
  }

  #receive(thread: Thread, results: FromWorker): void {
    thread.results += results.length;
    for (const [index, job] of thread.jobs.splice(0, results.length).entries()) {
      const result = results[index];
      if (result) job.settle(result);
    }
    if (thread.jobs.length === 0) {
      thread.isSlow = false;
      thread.since = systemClock.monotonic();
      Atomics.store(thread.numbers, LAST, 0);
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
    const current = inProgress(thread);
    const now = systemClock.monotonic();
    const elapsed = now - thread.since;
    if (thread.jobs.length === 0) {
      if (this.#threads.size > warm && elapsed >= idleMs) this.#end(thread, 'closed');
    } else if (current !== thread.watched) {
      thread.watched = current;
      thread.since = now;
    } else if (!current) return;
    else if (elapsed >= timeLimitMs) this.#end(thread, 'time');
    else if (elapsed >= slowMs && !thread.isSlow) this.#takeBack(thread, current);
  }

  /** Requeues all jobs except the current one: those not begun, and those whose result was not sent. */
  #takeBack(thread: Thread, current: Job): void {
    thread.isSlow = true;
    Atomics.store(thread.numbers, LAST, Atomics.load(thread.numbers, BEGUN));
    this.#requeue(thread.jobs.filter((job) => job !== current));
  }

  /** Removes a worker that ended or must be terminated: its current job fails, the others are requeued. */
  #end(thread: Thread, failure: Failure, culprit = inProgress(thread)): void {
    if (!this.#threads.delete(thread)) return;
    void thread.worker.terminate();
    culprit?.settle(failure);
    const canWork = Atomics.load(thread.numbers, BEGUN) > 0;
    for (const job of thread.jobs) {
      const isGone = job.input.length < job.size;
      if (!culprit && (isGone || job.wasLost)) job.settle(failure);
      job.wasLost ||= !culprit;
    }
    if (canWork) this.warmUp();
    // The jobs of a slow worker were requeued earlier.
    this.#requeue(thread.isSlow ? [] : thread.jobs);
  }

  #requeue(jobs: readonly Job[]): void {
    this.#requeued.unshift(...jobs.filter(({ isSettled }) => !isSettled));
    this.#dispatch();
  }
}

const inProgress = ({ jobs, results, numbers }: Thread): Job | undefined =>
  jobs[Atomics.load(numbers, BEGUN) - results - 1];

export interface ParseRequest {
  flow?: Flow;
  /** Abort it when the result is no longer needed: a job that has not begun is dropped. */
  signal?: AbortSignal | undefined;
  /** Abort it when a caller awaits the result: the job then runs before those that no caller awaits. */
  hastening?: AbortSignal | undefined;
}

export interface ParsingOptions {
  /** Workers for small mails. Default: all cores but two, which are left to SMTP and HTTP, and to the writer. */
  threads?: number;
  /** For tests: another worker file and other limits. */
  workerEntry?: URL;
  limits?: Partial<Pick<PoolLimits, 'slowMs' | 'timeLimitMs' | 'idleMs' | 'heapMb'>>;
}

/** The flow of jobs without an account. Together they get the share of one account. */
const OTHERS: Flow = ['others', ''];

/**
 * Runs mail parsing on worker threads. All methods throw the reason of an aborted `signal`. All but `parse`
 * throw AppError `unavailable` if the worker was terminated, and may transfer their input, which must not be
 * used after the call.
 */
export class Parsing {
  readonly #small: Pool;
  /** Large mails have a separate worker, so that their tens of milliseconds never delay a small one. */
  readonly #large: Pool;
  #unsettled = 0;

  constructor({ threads, workerEntry, limits }: ParsingOptions = {}) {
    const forSmall: PoolLimits = {
      threads: threads ?? Math.max(1, availableParallelism() - 2),
      ...{ slow: MAX_SLOW, jobs: JOBS_PER_WORKER, warm: 1 },
      slowMs: SLOW_PARSE_MS,
      timeLimitMs: PARSE_TIME_LIMIT_MS,
      idleMs: IDLE_WORKER_MS,
      heapMb: PARSE_HEAP_MB,
      ...limits,
    };
    const slowMs = Math.max(forSmall.slowMs, SLOW_LARGE_PARSE_MS);
    const entry = workerEntry ?? new URL('./parse-worker.ts', import.meta.url);
    this.#small = new Pool(entry, forSmall);
    this.#large = new Pool(entry, { ...forSmall, threads: 1, slow: 1, jobs: 1, warm: 0, slowMs });
  }

  /** Starts the workers that are kept when idle. Without this call, the first mail starts one. */
  warmUp(): void {
    this.#small.warmUp();
  }

  get threads(): number {
    return this.#small.threads + this.#large.threads;
  }

  /** Jobs queued or running. */
  get jobs(): number {
    return this.#unsettled;
  }

  /**
   * Parses a whole mail. If the worker was terminated (time, memory, a crash, or {@link close}), the result
   * has only the first header fields, and `parseError` gives the reason.
   */
  async parse(raw: Uint8Array, request?: ParseRequest): Promise<ParsedBytes> {
    const result = await this.#run('parse', [raw], request);
    return typeof result === 'string' ? parseHere(raw, REASONS[result]) : result;
  }

  decode(bytes: Uint8Array, encoding: TransferEncoding, request?: ParseRequest): Promise<Uint8Array> {
    return this.#result('decode', [bytes, encoding], request);
  }

  /** @returns UTF-8 JSON of a `LintReport` */
  lint(raw: Uint8Array, request?: ParseRequest): Promise<Uint8Array> {
    return this.#result('lint', [raw], request);
  }

  /** @param imagesUrl the URL of an image of the mail without its attachment id */
  preview(raw: Uint8Array, imagesUrl: string, request?: ParseRequest) {
    return this.#result('preview', [raw, imagesUrl], request);
  }

  async attachments(raw: Uint8Array, request?: ParseRequest): Promise<AttachmentList> {
    return readAttachmentList(await this.#result('attachments', [raw], request));
  }

  /** UTF-8 JSON of a full message. */
  fullJson(raw: Uint8Array, about: FullJson, request?: ParseRequest): Promise<Uint8Array> {
    return this.#result('fullJson', [raw, about], request);
  }

  /** See `jsonLines` of parse-worker.ts. `problem` says why the document is invalid. */
  jsonLines(document: Uint8Array, array: string): Promise<{ lines: Uint8Array; problem: string }> {
    return this.#result('jsonLines', [document, array]);
  }

  /** Terminates the workers; unfinished jobs fail. */
  async close(): Promise<void> {
    await Promise.all([this.#small.close(), this.#large.close()]);
  }

  async #result<Name extends Operation>(
    operation: Name,
    args: Parameters<Tasks[Name]>,
    request?: ParseRequest,
  ): Promise<ReturnType<Tasks[Name]>> {
    const result = await this.#run(operation, args, request);
    if (typeof result === 'string') throw new AppError('unavailable', REASONS[result]);
    return result;
  }

  async #run<Name extends Operation>(
    operation: Name,
    args: Parameters<Tasks[Name]>,
    { flow = OTHERS, signal, hastening }: ParseRequest = {},
  ): Promise<ReturnType<Tasks[Name]> | Failure> {
    signal?.throwIfAborted();
    const [input, argument] = args as [Uint8Array, unknown];
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const job: Job = {
      ...{ operation, input, size: input.length, argument, flow, wasLost: false, isSettled: false },
      settle(result) {
        this.isSettled = true;
        resolve(result);
      },
    };
    const pool = input.length > LARGE_MAIL_BYTES ? this.#large : this.#small;
    const drop = () => pool.drop(job);
    this.#unsettled += 1;
    pool.add(job);
    signal?.addEventListener('abort', drop, { once: true });
    hastening?.addEventListener('abort', () => pool.hasten(job), { once: true });
    try {
      const result = (await promise) as ReturnType<Tasks[Name]> | Failure;
      if (result === 'dropped') throw signal?.reason;
      return result;
    } finally {
      this.#unsettled -= 1;
      signal?.removeEventListener('abort', drop);
    }
  }
}

async function parseHere(raw: Uint8Array, reason: string): Promise<ParsedBytes> {
  // Imported here because nothing else on the main thread needs it.
  const { parseHeaderOnly } = await import('../mail/parse.ts');
  const { summary, content, parseError } = parseHeaderOnly(raw, reason);
  return {
    summary: Buffer.from(JSON.stringify(summary)),
    content: Buffer.from(JSON.stringify(content)),
    parseError,
  };
}
