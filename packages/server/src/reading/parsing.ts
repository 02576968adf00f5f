import { availableParallelism } from 'node:os';
import { AppError } from '../errors.ts';
import { type Failure, type Flow, type JobRequest, ParsePool, type PoolLimits } from './parse-pool.ts';
import type { Operation, ParsedBytes, Tasks } from './parse-worker.ts';

/** Time limit of one mail. The largest ordinary mails take well under a second. */
const PARSE_TIME_LIMIT_MS = 5_000;
/** `slowMs` of {@link PoolLimits}: above the 30 ms that a job may wait for the CPU on a busy machine. */
const SLOW_PARSE_MS = 50;
const SLOW_LARGE_PARSE_MS = 1_000;
/** Heap limit of a parse worker. Results and long strings (see mail/mime/clean.ts) are outside the heap. */
const PARSE_HEAP_MB = 256;
/** Time after which an idle worker is ended, because each worker takes tens of MiB. */
const IDLE_WORKER_MS = 30_000;
/** Workers for small mails by default: one for each core but two, which SMTP, HTTP and the store need. */
export const PARSE_THREADS = Math.max(1, availableParallelism() - 2);
/** A separate worker parses larger mails. A mail of this size takes 100 ms at worst. */
const LARGE_MAIL_BYTES = 1024 * 1024;

const REASONS: Readonly<Record<Failure, string>> = {
  time: `Reading the mail took longer than ${PARSE_TIME_LIMIT_MS / 1000} seconds.`,
  memory: `Reading the mail needed more than ${PARSE_HEAP_MB} MiB of memory.`,
  crash: 'The parser ended unexpectedly.',
  closed: 'The server stopped before the mail was read.',
};

export type ParseRequest = Partial<Pick<JobRequest, 'flow' | 'signal' | 'urgency'>>;

type LazyMail = Pick<JobRequest, 'size' | 'load'>;

export interface ParsingOptions {
  /** Workers for small mails. Default: {@link PARSE_THREADS}. */
  threads?: number;
  workerEntry?: URL;
  limits?: Partial<Pick<PoolLimits, 'slowMs' | 'timeLimitMs' | 'idleMs' | 'heapMb'>>;
}

/** Scheduling key of jobs without an account: all of them together are scheduled like one account. */
const OTHERS: Flow = ['others', ''];

export class Parsing {
  readonly #small: ParsePool;
  readonly #large: ParsePool;
  #unsettled = 0;

  constructor({ threads, workerEntry, limits }: ParsingOptions = {}) {
    const forSmall: PoolLimits = {
      threads: threads ?? PARSE_THREADS,
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

  warmUp(): void {
    this.#small.warmUp();
  }

  get threads(): number {
    return this.#small.threads + this.#large.threads;
  }

  get jobs(): number {
    return this.#unsettled;
  }

  /**
   * If the worker was terminated, the result has only the first header fields, and `parseError` says why.
   * @param mail large bytes of `load` are transferred; it is called again if they are needed once more
   * @throws the reason of an aborted `signal`
   */
  async parse(mail: LazyMail, request?: ParseRequest): Promise<ParsedBytes> {
    const result = await this.#run('parse', mail, undefined, request);
    return typeof result === 'string' ? parseHere(await mail.load(), REASONS[result]) : result;
  }

  /**
   * Runs another operation of parse-worker.ts. May transfer `input`: do not use it after the call.
   * @throws AppError `unavailable` if the worker was terminated; the reason of an aborted `signal`
   */
  async run<Name extends Operation>(
    operation: Name,
    [input, argument]: Parameters<Tasks[Name]>,
    request?: ParseRequest,
  ): Promise<ReturnType<Tasks[Name]>> {
    const lazy = { size: input.length, load: () => input };
    const result = await this.#run(operation, lazy, argument, request);
    if (typeof result === 'string') throw new AppError('unavailable', REASONS[result]);
    return result;
  }

  async close(): Promise<void> {
    await Promise.all([this.#small.close(), this.#large.close()]);
  }

  async #run<Name extends Operation>(
    operation: Name,
    mail: LazyMail,
    argument: unknown,
    request?: ParseRequest,
  ): Promise<ReturnType<Tasks[Name]> | Failure> {
    const pool = mail.size > LARGE_MAIL_BYTES ? this.#large : this.#small;
    this.#unsettled += 1;
    try {
      const urgency = { isAwaited: true };
      const job = { flow: OTHERS, urgency, ...request, ...mail, operation, argument };
      return (await pool.run(job)) as ReturnType<Tasks[Name]> | Failure;
    } finally {
      this.#unsettled -= 1;
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
