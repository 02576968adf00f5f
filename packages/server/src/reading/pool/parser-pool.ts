import { availableParallelism } from 'node:os';
import { systemClock } from '../../clock.ts';
import { AppError } from '../../errors.ts';
import type { FullJson } from '../../mail/full-json.ts';
import { type AttachmentList, readAttachmentList } from '../../mail/full-json.ts';
import type { TransferEncoding } from '../../mail/mime/transfer-encoding.ts';
import type { Flow } from './fair-queue.ts';
import { JobQueue, type QueueLimits } from './job-queue.ts';
import type { Failure, Job } from './pool-worker.ts';
import type { Task } from './protocol.ts';

/** Time limit of one mail. The largest real mails take well under a second. */
const PARSE_TIME_LIMIT_MS = 5_000;
/** After this time, jobs behind a slow one move to another worker. On a busy machine, any thread may wait 30 ms for the CPU. */
const SLOW_PARSE_MS = 50;
/** Limit of one worker's JavaScript heap, MiB. Strings of changePieces (mail/mime/clean.ts) and results are outside it. */
const PARSE_HEAP_MB = 256;
/** An idle extra worker uses tens of MiB. */
const IDLE_WORKER_MS = 30_000;
/** Mails of a batch: few enough that the first are committed while the next are parsed. */
const MAX_BATCH = 4;
/** Larger mails are parsed by a worker of their own. A mail of this size takes 100 ms at worst. */
export const LARGE_MAIL_BYTES = 1024 * 1024;
/** SLOW_PARSE_MS for large mails, whose worker has no small mails that would wait. */
const SLOW_LARGE_PARSE_MS = 1_000;
/** Bytes of a batch without its first mail: 2 ms of work, 10 ms at worst. */
const MAX_BATCH_BYTES = 64 * 1024;
/** Workers that may be busy with slow mails while others continue. */
const MAX_STUCK = 3;

/** What the store keeps of a parsed mail: UTF-8 JSON of MailSummary and StoredContent. */
export interface ParsedBytes {
  summary: Uint8Array;
  content: Uint8Array;
  parseError: string | null;
}

export interface ParseRequest {
  flow?: Flow;
  /** Abort it when the result is no longer needed: a job that has not started is dropped. */
  signal?: AbortSignal | undefined;
  /** Abort it when a caller waits for the result: the job then runs before those for which no caller waits. */
  hastening?: AbortSignal | undefined;
}

export interface ParsingOptions {
  /** Workers for small mails; default: all cores but two, which SMTP and HTTP, and the writer use. */
  threads?: number;
  /** For tests: another worker file, and other limits than the constants here. */
  workerEntry?: URL;
  limits?: Partial<Pick<QueueLimits, 'slowMs' | 'timeLimitMs' | 'idleMs' | 'heapMb'>>;
}

interface TaskResult {
  first: Uint8Array | undefined;
  second: Uint8Array;
  parseError: string | null;
}

/** The flow of jobs without an account, which together get the share of one account. */
const OTHERS: Flow = ['others', ''];

const REASONS: Readonly<Record<Failure, string>> = {
  time: `Reading the mail took longer than ${PARSE_TIME_LIMIT_MS / 1000} seconds.`,
  memory: `Reading the mail needed more than ${PARSE_HEAP_MB} MiB of memory.`,
  crash: 'The parser ended unexpectedly.',
  closed: 'The server stopped before the mail was read.',
  dropped: 'The client disconnected before the mail was read.',
};

/**
 * All methods throw the reason of an aborted `signal`; all but `parse` throw AppError `unavailable` when the worker was
 * terminated. Its time limits use the system clock even in tests, because worker threads take real time.
 */
export class Parsing {
  private readonly limits: QueueLimits;
  private readonly small: JobQueue;
  /** Large mails have their own worker, so that their tens of milliseconds never delay a small one. */
  private readonly large: JobQueue;
  private readonly stop = new AbortController();
  private isWatching = false;
  private unsettled = 0;

  constructor({ threads, workerEntry, limits }: ParsingOptions = {}) {
    this.limits = {
      threads: threads ?? Math.max(1, availableParallelism() - 2),
      stuck: MAX_STUCK,
      batch: MAX_BATCH,
      batchBytes: MAX_BATCH_BYTES,
      ahead: 2,
      warm: 1,
      slowMs: SLOW_PARSE_MS,
      timeLimitMs: PARSE_TIME_LIMIT_MS,
      idleMs: IDLE_WORKER_MS,
      heapMb: PARSE_HEAP_MB,
      ...limits,
    };
    const entry = workerEntry ?? new URL('./worker.ts', import.meta.url);
    const onWork = () => void this.watch();
    const forLarge: QueueLimits = {
      ...this.limits,
      ...{ threads: 1, stuck: 1, batch: 1, ahead: 1, warm: 0 },
      slowMs: Math.max(this.limits.slowMs, SLOW_LARGE_PARSE_MS),
    };
    this.small = new JobQueue(entry, this.limits, onWork);
    this.large = new JobQueue(entry, forLarge, onWork);
  }

  /** Starts the workers that are kept when idle; without it, the first mail starts one. */
  warmUp(): void {
    this.small.warmUp();
  }

  get threads(): number {
    return this.small.threads + this.large.threads;
  }

  /** Jobs queued or running. */
  get jobs(): number {
    return this.unsettled;
  }

  /**
   * Parses a whole mail. When the worker was terminated (time, memory, a crash, or {@link close}), the result has
   * only the first header fields, and `parseError` says why.
   */
  async parse(raw: Uint8Array, request: ParseRequest = {}): Promise<ParsedBytes> {
    const result = await this.run(raw, ['parse'], false, request);
    if (typeof result === 'string') return parseHere(raw, REASONS[result]);
    const { first: summary, second: content, parseError } = result;
    return { summary: summary ?? new Uint8Array(), content, parseError };
  }

  async decode(bytes: Uint8Array, encoding: TransferEncoding, request?: ParseRequest): Promise<Uint8Array> {
    return (await this.result(bytes, ['decode', encoding], false, request)).first ?? new Uint8Array();
  }

  /** @param raw may be transferred, so do not use it after the call @returns UTF-8 JSON of `LintFinding[]` */
  lint(raw: Uint8Array, request?: ParseRequest): Promise<Uint8Array> {
    return this.given(raw, ['lint'], request);
  }

  /** @param imagesUrl the URL of an image of the mail without its attachment id */
  async preview(
    raw: Uint8Array,
    imagesUrl: string,
    request?: ParseRequest,
  ): Promise<{ page: Uint8Array; remoteCount: number }> {
    const task: Task = ['preview', imagesUrl];
    const { first: page = new Uint8Array(), second } = await this.result(raw, task, true, request);
    return { page, ...JSON.parse(new TextDecoder().decode(second)) };
  }

  async attachments(raw: Uint8Array, request?: ParseRequest): Promise<AttachmentList> {
    return readAttachmentList(await this.given(raw, ['attachments'], request));
  }

  /** UTF-8 JSON of a message in full. */
  fullJson(raw: Uint8Array, about: FullJson, request?: ParseRequest): Promise<Uint8Array> {
    return this.given(raw, ['fullJson', about], request);
  }

  /** See `jsonLines` of serve.ts; `problem` says why the document cannot be read. */
  async jsonLines(document: Uint8Array, array: string): Promise<{ lines: Uint8Array; problem: string }> {
    const task: Task = ['jsonLines', array];
    const { first: lines = new Uint8Array(), second } = await this.result(document, task, true);
    return { lines, problem: new TextDecoder().decode(second) };
  }

  /** Terminates the workers; unfinished jobs end as if they had failed. */
  async close(): Promise<void> {
    this.stop.abort();
    await Promise.all([this.small.close(), this.large.close()]);
  }

  private async given(input: Uint8Array, task: Task, request?: ParseRequest): Promise<Uint8Array> {
    return (await this.result(input, task, true, request)).first ?? new Uint8Array();
  }

  private async result(
    input: Uint8Array,
    task: Task,
    isGiven: boolean,
    request: ParseRequest = {},
  ): Promise<TaskResult> {
    const result = await this.run(input, task, isGiven, request);
    if (typeof result === 'string') throw new AppError('unavailable', REASONS[result]);
    return result;
  }

  /** @param isGiven whether `input` may be transferred to the worker */
  private async run(
    input: Uint8Array,
    task: Task,
    isGiven: boolean,
    { flow = OTHERS, signal, hastening }: ParseRequest,
  ): Promise<TaskResult | Failure> {
    signal?.throwIfAborted();
    const { promise, resolve } = Promise.withResolvers<TaskResult | Failure>();
    const job: Job = {
      ...{ input, task, flow, isGiven, deaths: 0, settled: false },
      done: (first, second, parseError) => resolve({ first, second, parseError }),
      failed: resolve,
    };
    const queue = input.length > LARGE_MAIL_BYTES ? this.large : this.small;
    const drop = () => queue.drop(job);
    this.unsettled += 1;
    queue.add(job);
    signal?.addEventListener('abort', drop, { once: true });
    hastening?.addEventListener('abort', () => queue.hasten(job), { once: true });
    try {
      const result = await promise;
      if (result === 'dropped') throw signal?.reason;
      return result;
    } finally {
      this.unsettled -= 1;
      signal?.removeEventListener('abort', drop);
    }
  }

  /** Runs only while a queue has something to watch, so that an idle server sets no timers. */
  private async watch(): Promise<void> {
    if (this.isWatching) return;
    this.isWatching = true;
    while (!this.stop.signal.aborted && (this.small.isWatching || this.large.isWatching)) {
      await systemClock.sleep(this.limits.slowMs, this.stop.signal);
      this.small.tick();
      this.large.tick();
    }
    this.isWatching = false;
  }
}

async function parseHere(raw: Uint8Array, reason: string): Promise<ParsedBytes> {
  // Imported here because nothing else on the main thread needs it.
  const { parseHeaderOnly } = await import('../../mail/parse.ts');
  const { summary, content, parseError } = parseHeaderOnly(raw, reason);
  return {
    summary: Buffer.from(JSON.stringify(summary)),
    content: Buffer.from(JSON.stringify(content)),
    parseError,
  };
}
