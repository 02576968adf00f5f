import { availableParallelism } from 'node:os';
import type { Clock } from '../../clock.ts';
import { AppError } from '../../errors.ts';
import { LARGE_BYTES } from '../../memory.ts';
import { type Failure, type Job, Lane, type LaneLimits } from './worker-lane.ts';

/** A mail that takes longer is hostile: the largest allowed ones take well under a second. */
export const PARSE_TIME_LIMIT_MS = 5_000;
/** After so long the mails behind a slow one go to another worker. */
export const SLOW_PARSE_MS = 25;
/** JavaScript heap of one worker, MiB: several times the largest mail, once as text and once as JSON. */
export const PARSE_HEAP_MB = 256;
/** An extra worker without work goes after so long: it holds tens of MiB. */
const IDLE_WORKER_MS = 30_000;
/** Mails of one message to a worker: enough to make its cost small, few enough that the first are committed while the next are read. */
const MAX_BATCH = 4;
/** Workers that may be stuck in hostile mails while others go on. */
const MAX_STUCK = 3;

/** What the store keeps of a parsed mail: UTF-8 JSON of MailSummary and MailContent. */
export interface ParsedBytes {
  summary: Uint8Array;
  content: Uint8Array;
  parseError: string | null;
}

export interface Parsing {
  /**
   * Reads a mail on a worker. Never rejects: when the worker had to be ended (time, memory, a crash, or
   * {@link close}) the answer holds what the first header lines tell, and `parseError` says why.
   * @param raw the whole mail
   */
  parse(raw: Uint8Array): Promise<ParsedBytes>;
  /**
   * The decoded bytes of one attachment, by the id that the parsed mail gives it; undefined when it has
   * none such.
   * @throws AppError `unavailable` when the worker had to be ended
   */
  attachment(raw: Uint8Array, id: string): Promise<Uint8Array | undefined>;
  /** How many worker threads live now. */
  readonly threads: number;
  /** Messages and attachments that wait for a worker or are on one. */
  readonly jobs: number;
  /** Ends the workers; what they had not finished is answered as if they had failed. */
  close(): Promise<void>;
}

export interface ParsingOptions {
  clock: Clock;
  /** Workers for small mails that run side by side; by default the cores but two: talking and writing. */
  threads?: number;
  /** For tests: another worker file, and other limits than the constants here. */
  workerEntry?: URL;
  limits?: Partial<Pick<LaneLimits, 'slowMs' | 'timeLimitMs' | 'idleMs' | 'heapMb'>>;
}

const REASONS: Readonly<Record<Failure, string>> = {
  time: `Reading the mail took longer than ${PARSE_TIME_LIMIT_MS / 1000} seconds.`,
  memory: `Reading the mail needed more than ${PARSE_HEAP_MB} MiB of memory.`,
  crash: 'The parser ended unexpectedly.',
  closed: 'The server stopped before the mail was read.',
};

/** Starts the parsing pool; one worker is started at once, others when they are needed. */
export function createParsing(options: ParsingOptions): Parsing {
  const { clock } = options;
  const entry = options.workerEntry ?? new URL('./worker.ts', import.meta.url);
  const shared: LaneLimits = {
    threads: options.threads ?? Math.max(1, availableParallelism() - 2),
    stuck: MAX_STUCK,
    batch: MAX_BATCH,
    ahead: 2,
    warm: 1,
    slowMs: SLOW_PARSE_MS,
    timeLimitMs: PARSE_TIME_LIMIT_MS,
    idleMs: IDLE_WORKER_MS,
    heapMb: PARSE_HEAP_MB,
    ...options.limits,
  };
  const stop = new AbortController();
  let watching = false;
  let jobs = 0;

  /** Runs only while a lane has something to watch, so that an idle server sets no timers. */
  const watch = async (): Promise<void> => {
    if (watching) return;
    watching = true;
    while (!stop.signal.aborted && lanes.some((lane) => lane.watching)) {
      await clock.sleep(shared.slowMs, stop.signal);
      for (const lane of lanes) lane.tick();
    }
    watching = false;
  };
  const begin = () => void watch();
  const small = new Lane(entry, shared, clock, begin);
  const large = new Lane(entry, { ...shared, threads: 1, batch: 1, ahead: 1, warm: 0 }, clock, begin);
  const lanes = [small, large];

  // Large mails have a worker of their own, so that their tens of milliseconds never hold a small one.
  const start = (raw: Uint8Array, attachmentId: string | null, ends: Pick<Job, 'done' | 'failed'>): void => {
    const lane = raw.length >= LARGE_BYTES ? large : small;
    jobs += 1;
    lane.add({
      raw,
      attachmentId,
      deaths: 0,
      settled: false,
      done: (...result) => {
        jobs -= 1;
        ends.done(...result);
      },
      failed: (failure) => {
        jobs -= 1;
        ends.failed(failure);
      },
    });
  };

  return {
    parse: (raw) =>
      new Promise((resolve) => {
        start(raw, null, {
          done: (summary = new Uint8Array(), content, parseError) =>
            resolve({ summary, content, parseError }),
          failed: (failure) => resolve(glance(raw, REASONS[failure])),
        });
      }),
    attachment: (raw, id) =>
      new Promise((resolve, reject) => {
        start(raw, id, {
          done: (bytes) => resolve(bytes),
          failed: (failure) => reject(new AppError('unavailable', REASONS[failure])),
        });
      }),
    get threads() {
      return small.threads + large.threads;
    },
    get jobs() {
      return jobs;
    },
    close: async () => {
      stop.abort();
      await Promise.all(lanes.map((lane) => lane.close()));
    },
  };
}

async function glance(raw: Uint8Array, reason: string): Promise<ParsedBytes> {
  // Workers read mails; the main thread reads one only where a worker died.
  const { parseHeaderOnly } = await import('../../mail/parse.ts');
  const { summary, content, parseError } = await parseHeaderOnly(raw, reason);
  return {
    summary: Buffer.from(JSON.stringify(summary)),
    content: Buffer.from(JSON.stringify(content)),
    parseError,
  };
}
