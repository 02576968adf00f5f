import { availableParallelism } from 'node:os';
import { AppError } from '../errors.ts';
import { type AttachmentList, type FullJson, readAttachmentList } from '../mail/full-json.ts';
import type { TransferEncoding } from '../mail/mime/transfer-encoding.ts';
import type { Flow } from './fair-queue.ts';
import { type Failure, type Job, ParsePool, type PoolLimits } from './parse-pool.ts';
import type { Operation, ParsedBytes, Tasks } from './parse-worker.ts';

/** Time limit of one mail. The largest real mails take well under a second. */
const PARSE_TIME_LIMIT_MS = 5_000;
/** On a busy machine, any thread may wait 30 ms for the CPU. */
const SLOW_PARSE_MS = 50;
const SLOW_LARGE_PARSE_MS = 1_000;
/** Strings of changePieces (mail/mime/clean.ts) and results are outside the heap. */
const PARSE_HEAP_MB = 256;
/** An idle extra worker uses tens of MiB. */
const IDLE_WORKER_MS = 30_000;
/** Larger mails are parsed by a separate worker. A mail of this size takes 100 ms at worst. */
const LARGE_MAIL_BYTES = 1024 * 1024;

const REASONS: Readonly<Record<Failure, string>> = {
  time: `Reading the mail took longer than ${PARSE_TIME_LIMIT_MS / 1000} seconds.`,
  memory: `Reading the mail needed more than ${PARSE_HEAP_MB} MiB of memory.`,
  crash: 'The parser ended unexpectedly.',
  closed: 'The server stopped before the mail was read.',
};

/** Whether a caller awaits a result: the job then runs before those that no caller awaits. */
export interface Urgency {
  isAwaited: boolean;
  onAwaited?: () => void;
}

export function hasten(urgency: Urgency): void {
  urgency.isAwaited = true;
  urgency.onAwaited?.();
}

export interface ParseRequest {
  flow?: Flow;
  /** Abort it when the result is no longer needed: a job that has not begun is dropped. */
  signal?: AbortSignal | undefined;
  /** Default: a caller awaits the result. */
  urgency?: Urgency;
  /** See {@link Job.mayWait}. */
  mayWait?: (() => boolean) | undefined;
}

/** A mail that is loaded when a worker is free for it. `load` may be called again, when that worker has ended. */
export type LazyMail = Pick<Job, 'size' | 'load'>;

export interface ParsingOptions {
  /** Workers for small mails. Default: all cores but two, which are left to SMTP and HTTP, and to the writer. */
  threads?: number;
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
  readonly #small: ParsePool;
  /** Large mails have a separate worker, so that their tens of milliseconds never delay a small one. */
  readonly #large: ParsePool;
  #unsettled = 0;

  constructor({ threads, workerEntry, limits }: ParsingOptions = {}) {
    const forSmall: PoolLimits = {
      threads: threads ?? Math.max(1, availableParallelism() - 2),
      slow: 3,
      warm: 1,
      slowMs: SLOW_PARSE_MS,
      timeLimitMs: PARSE_TIME_LIMIT_MS,
      idleMs: IDLE_WORKER_MS,
      heapMb: PARSE_HEAP_MB,
      ...limits,
    };
    const slowMs = Math.max(forSmall.slowMs, SLOW_LARGE_PARSE_MS);
    const entry = workerEntry ?? new URL('./parse-worker.ts', import.meta.url);
    this.#small = new ParsePool(entry, forSmall);
    this.#large = new ParsePool(entry, { ...forSmall, threads: 1, slow: 1, warm: 0, slowMs });
  }

  /** Starts the workers that are kept when idle. Without this call, the first mail starts one. */
  warmUp(): void {
    this.#small.warmUp();
  }

  get threads(): number {
    return this.#small.threads + this.#large.threads;
  }

  get jobs(): number {
    return this.#unsettled;
  }

  /** If the worker was terminated, the result has only the first header fields, and `parseError` gives the reason. */
  async parse(mail: Uint8Array | LazyMail, request?: ParseRequest): Promise<ParsedBytes> {
    const lazy = mail instanceof Uint8Array ? { size: mail.length, load: () => mail } : mail;
    const result = await this.#run('parse', lazy, undefined, request);
    return typeof result === 'string' ? parseHere(await lazy.load(), REASONS[result]) : result;
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

  fullJson(raw: Uint8Array, about: FullJson, request?: ParseRequest): Promise<Uint8Array> {
    return this.#result('fullJson', [raw, about], request);
  }

  /** See `jsonLines` of parse-worker.ts. `problem` says why the document is invalid. */
  jsonLines(document: Uint8Array, array: string): Promise<{ lines: Uint8Array; problem: string }> {
    return this.#result('jsonLines', [document, array]);
  }

  async close(): Promise<void> {
    await Promise.all([this.#small.close(), this.#large.close()]);
  }

  async #result<Name extends Operation>(
    operation: Name,
    [input, argument]: Parameters<Tasks[Name]>,
    request?: ParseRequest,
  ): Promise<ReturnType<Tasks[Name]>> {
    const lazy = { size: input.length, load: () => input };
    const result = await this.#run(operation, lazy, argument, request);
    if (typeof result === 'string') throw new AppError('unavailable', REASONS[result]);
    return result;
  }

  async #run<Name extends Operation>(
    operation: Name,
    { size, load }: LazyMail,
    argument: unknown,
    { flow = OTHERS, signal, urgency = { isAwaited: true }, mayWait }: ParseRequest = {},
  ): Promise<ReturnType<Tasks[Name]> | Failure> {
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const job: Job = {
      operation,
      size,
      load,
      argument,
      flow,
      mayWait,
      isSettled: false,
      settle(result) {
        this.isSettled = true;
        resolve(result);
      },
      fail(error) {
        this.isSettled = true;
        reject(error);
      },
    };
    const pool = size > LARGE_MAIL_BYTES ? this.#large : this.#small;
    const drop = () => pool.drop(job, signal?.reason);
    this.#unsettled += 1;
    pool.add(job);
    urgency.onAwaited = () => pool.hasten(job);
    if (urgency.isAwaited) urgency.onAwaited();
    signal?.addEventListener('abort', drop, { once: true });
    try {
      return (await promise) as ReturnType<Tasks[Name]> | Failure;
    } finally {
      this.#unsettled -= 1;
      signal?.removeEventListener('abort', drop);
    }
  }
}

async function parseHere(raw: Uint8Array, reason: string): Promise<ParsedBytes> {
  const { parseHeaderOnly } = await import('../mail/parse.ts');
  const { summary, content, parseError } = parseHeaderOnly(raw, reason);
  return {
    summary: Buffer.from(JSON.stringify(summary)),
    content: Buffer.from(JSON.stringify(content)),
    parseError,
  };
}
