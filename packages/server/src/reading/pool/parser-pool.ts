import { availableParallelism } from 'node:os';
import type { Clock } from '../../clock.ts';
import { AppError } from '../../errors.ts';
import { type AttachmentList, readAttachmentList } from '../../mail/attachment-list.ts';
import type { FullJson } from '../../mail/full-json.ts';
import type { TransferEncoding } from '../../mail/mime/transfer-encoding.ts';
import { isLarge } from '../../memory.ts';
import type { Flow } from './fair-queue.ts';
import { JobQueue, type QueueLimits } from './job-queue.ts';
import type { Failure, Job } from './pool-worker.ts';
import type { Task } from './protocol.ts';

/** Milliseconds. The largest real mails take well under a second. */
const PARSE_TIME_LIMIT_MS = 5_000;
/**
 * Milliseconds after which the mails behind a slow one go to another worker. On a busy machine any thread waits
 * 30 ms for the CPU, and another worker would only add load.
 */
const SLOW_PARSE_MS = 50;
/** JavaScript heap of one worker, MiB. Long texts are outside of it (`changePieces`), and so are results. */
const PARSE_HEAP_MB = 256;
/** Milliseconds after which an idle extra worker is ended: it uses tens of MiB. */
const IDLE_WORKER_MS = 30_000;
/**
 * Mails of one message to a worker: enough to make its cost small, few enough that the first are committed while
 * the next are read.
 */
const MAX_BATCH = 4;
/**
 * The same for large mails: their worker has nothing else, so this is for mails that take seconds. More
 * workers would only take the CPU from the threads that others wait for.
 */
const SLOW_LARGE_PARSE_MS = 1_000;
/** Bytes of one message to a worker beside its first mail: two milliseconds of work, ten of the worst kind. */
const MAX_BATCH_BYTES = 64 * 1024;
/** Workers that may be busy with slow mails while others continue. */
const MAX_STUCK = 3;

/** What the store keeps of a parsed mail: UTF-8 JSON of MailSummary and StoredContent. */
export interface ParsedBytes {
  summary: Uint8Array;
  content: Uint8Array;
  parseError: string | null;
}

/** For whom a mail is read. */
export interface ParseRequest {
  /** Account, source address, connection: workers take turns between them. */
  flow?: Flow;
  /** Aborted when the result is no longer needed: a mail that no worker has started is not read. */
  signal?: AbortSignal | undefined;
}

export interface Parsing {
  /**
   * Reads a mail on a worker. When the worker was terminated (time, memory, a crash, or {@link close}) the
   * result has the fields of the first header lines, and `parseError` says why.
   * @param raw the whole mail
   * @throws the reason of `signal`, once it is aborted; nothing else
   */
  parse(raw: Uint8Array, request?: ParseRequest): Promise<ParsedBytes>;
  /**
   * The decoded bytes of one attachment, found by reading the mail once more; undefined when it has none
   * with that id. For messages stored without an index.
   * @throws AppError `unavailable` when the worker was terminated
   */
  attachment(raw: Uint8Array, id: string, request?: ParseRequest): Promise<Uint8Array | undefined>;
  /**
   * The bytes of a part without their transfer encoding.
   * @throws AppError `unavailable` when the worker was terminated
   */
  decode(bytes: Uint8Array, encoding: TransferEncoding, request?: ParseRequest): Promise<Uint8Array>;
  /**
   * What is wrong with a mail.
   * @param raw given to the pool: it must not be read after the call, nor may its memory have other uses
   * @returns UTF-8 JSON of findings (`mail/lint/finding.ts`)
   * @throws AppError `unavailable` when the worker was terminated; the reason of the request's `signal`
   */
  lint(raw: Uint8Array, request?: ParseRequest): Promise<Uint8Array>;
  /**
   * The page that shows the HTML of a mail, and how many resources on other servers it names.
   * @param imagesUrl the URL of an image of the mail without its attachment id
   * @throws as {@link lint}
   */
  preview(
    raw: Uint8Array,
    imagesUrl: string,
    request?: ParseRequest,
  ): Promise<{ page: Uint8Array; remoteCount: number }>;
  /** The attachments of a mail whose list is not stored. @throws as {@link lint} */
  attachments(raw: Uint8Array, request?: ParseRequest): Promise<AttachmentList>;
  /** UTF-8 JSON of a message in full. @throws as {@link lint} */
  fullJson(raw: Uint8Array, about: FullJson, request?: ParseRequest): Promise<Uint8Array>;
  /**
   * Reads a JSON document, and cuts it into lines; see `json-lines.ts`.
   * @returns the lines, or why it cannot be read
   * @throws as {@link lint}
   */
  jsonLines(document: Uint8Array, array: string): Promise<{ lines: Uint8Array; problem: string }>;
  /** Number of live worker threads. */
  readonly threads: number;
  /** Messages and attachments that wait for a worker or are on one. */
  readonly jobs: number;
  /** Terminates the workers; unfinished jobs end as if they had failed. */
  close(): Promise<void>;
}

export interface ParsingOptions {
  clock: Clock;
  /** Workers for small mails that run side by side; by default the cores but two: SMTP and HTTP, and the writer. */
  threads?: number;
  /** For tests: another worker file, and other limits than the constants here. */
  workerEntry?: URL;
  limits?: Partial<Pick<QueueLimits, 'slowMs' | 'timeLimitMs' | 'idleMs' | 'heapMb'>>;
}

/** What a worker made of one input; see `BatchResult`. */
interface TaskResult {
  first: Uint8Array | undefined;
  second: Uint8Array;
  parseError: string | null;
}

/** The flow of work without an account; it gets the turns of one account. */
const OTHERS: Flow = ['others'];

const REASONS: Readonly<Record<Failure, string>> = {
  time: `Reading the mail took longer than ${PARSE_TIME_LIMIT_MS / 1000} seconds.`,
  memory: `Reading the mail needed more than ${PARSE_HEAP_MB} MiB of memory.`,
  crash: 'The parser ended unexpectedly.',
  closed: 'The server stopped before the mail was read.',
  dropped: 'The client disconnected before the mail was read.',
};

/** Starts the parser pool; one worker is started at once, others when they are needed. */
export function createParsing(options: ParsingOptions): Parsing {
  return new ParserPool(options);
}

class ParserPool implements Parsing {
  private readonly clock: Clock;
  private readonly limits: QueueLimits;
  private readonly small: JobQueue;
  /** Large mails have a worker of their own, so that their tens of milliseconds never delay a small one. */
  private readonly large: JobQueue;
  private readonly stop = new AbortController();
  private isWatching = false;
  private unsettled = 0;

  constructor({ clock, threads, workerEntry, limits }: ParsingOptions) {
    this.clock = clock;
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
    this.small = new JobQueue(entry, this.limits, clock, onWork);
    this.large = new JobQueue(entry, forLarge, clock, onWork);
  }

  get threads(): number {
    return this.small.threads + this.large.threads;
  }

  get jobs(): number {
    return this.unsettled;
  }

  async parse(raw: Uint8Array, request: ParseRequest = {}): Promise<ParsedBytes> {
    const result = await this.run(raw, 'parse', false, request);
    if (typeof result === 'string') return parseHere(raw, REASONS[result]);
    const { first: summary, second: content, parseError } = result;
    return { summary: summary ?? new Uint8Array(), content, parseError };
  }

  async attachment(
    raw: Uint8Array,
    attachmentId: string,
    request?: ParseRequest,
  ): Promise<Uint8Array | undefined> {
    return (await this.result(raw, { attachment: attachmentId }, false, request)).first;
  }

  async decode(bytes: Uint8Array, encoding: TransferEncoding, request?: ParseRequest): Promise<Uint8Array> {
    return (await this.result(bytes, { decode: encoding }, false, request)).first ?? new Uint8Array();
  }

  lint(raw: Uint8Array, request?: ParseRequest): Promise<Uint8Array> {
    return this.given(raw, 'lint', request);
  }

  async preview(
    raw: Uint8Array,
    imagesUrl: string,
    request?: ParseRequest,
  ): Promise<{ page: Uint8Array; remoteCount: number }> {
    const task = { preview: { imagesUrl } };
    const { first: page = new Uint8Array(), second } = await this.result(raw, task, true, request);
    return { page, ...JSON.parse(new TextDecoder().decode(second)) };
  }

  async attachments(raw: Uint8Array, request?: ParseRequest): Promise<AttachmentList> {
    return readAttachmentList(await this.given(raw, 'attachments', request));
  }

  fullJson(raw: Uint8Array, about: FullJson, request?: ParseRequest): Promise<Uint8Array> {
    return this.given(raw, { fullJson: about }, request);
  }

  async jsonLines(document: Uint8Array, array: string): Promise<{ lines: Uint8Array; problem: string }> {
    const { first: lines = new Uint8Array(), second } = await this.result(
      document,
      { jsonLines: array },
      true,
    );
    return { lines, problem: new TextDecoder().decode(second) };
  }

  async close(): Promise<void> {
    this.stop.abort();
    await Promise.all([this.small.close(), this.large.close()]);
  }

  /** The first part of what a task makes of bytes that are given to the pool. */
  private async given(input: Uint8Array, task: Task, request?: ParseRequest): Promise<Uint8Array> {
    return (await this.result(input, task, true, request)).first ?? new Uint8Array();
  }

  /** As {@link run}. @throws AppError `unavailable` when the worker was terminated */
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

  /**
   * Runs a task on a worker.
   * @param isGiven whether the bytes are the pool's from now on
   * @returns the result, or why there is none
   * @throws the reason of the request's `signal`, once it is aborted
   */
  private async run(
    input: Uint8Array,
    task: Task,
    isGiven: boolean,
    { flow = OTHERS, signal }: ParseRequest,
  ): Promise<TaskResult | Failure> {
    signal?.throwIfAborted();
    const { promise, resolve } = Promise.withResolvers<TaskResult | Failure>();
    const job: Job = {
      ...{ input, task, flow, isGiven, deaths: 0, settled: false },
      done: (first, second, parseError) => resolve({ first, second, parseError }),
      failed: resolve,
    };
    const queue = isLarge(input) ? this.large : this.small;
    const drop = () => queue.drop(job);
    this.unsettled += 1;
    queue.add(job);
    signal?.addEventListener('abort', drop, { once: true });
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
      await this.clock.sleep(this.limits.slowMs, this.stop.signal);
      this.small.tick();
      this.large.tick();
    }
    this.isWatching = false;
  }
}

/** The first header lines, read on the main thread where a worker was terminated. */
async function parseHere(raw: Uint8Array, reason: string): Promise<ParsedBytes> {
  // Loaded here because nothing else on the main thread needs it.
  const { parseHeaderOnly } = await import('../../mail/parse.ts');
  const { summary, content, parseError } = parseHeaderOnly(raw, reason);
  return {
    summary: Buffer.from(JSON.stringify(summary)),
    content: Buffer.from(JSON.stringify(content)),
    parseError,
  };
}
