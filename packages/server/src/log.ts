import { write } from 'node:fs';
import { type Logger, pino } from 'pino';
import { type Clock, MINUTE_MS } from './clock.ts';

export type { Logger };

/** The levels an operator may choose, the most detailed first. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/**
 * Reports an error that repeats: the first one at once, later ones once a minute.
 * @param write logs the last error, and how many there were since it was called before
 */
export function oncePerMinute(
  clock: Pick<Clock, 'monotonic'>,
  write: (error: Error, count: number) => void,
): (error: Error) => void {
  let next = Number.NEGATIVE_INFINITY;
  let count = 0;
  return (error) => {
    count++;
    if (clock.monotonic() < next) return;
    next = clock.monotonic() + MINUTE_MS;
    write(error, count);
    count = 0;
  };
}

/** Bytes of log lines that wait while the output takes none, as on a full disk; later lines are dropped. */
const MAX_WAITING_BYTES = 256 * 1024;

/**
 * Writes text to the log's destination without blocking.
 * @param done called once, when the text is written, or with the reason why it is not, in whole or in part
 */
export type WriteLog = (text: string, done: (error?: Error | null) => void) => void;

/**
 * Queues log lines for an output that may be slow, full or gone, so that logging never blocks the process.
 * Lines that do not fit into the queue or cannot be written are dropped and counted; when lines can be written
 * again, a line says how many were dropped.
 */
export class LogOutput {
  readonly #write: WriteLog;
  #waiting: string[] = [];
  #waitingLength = 0;
  /** Lines that are being written. */
  #writing = 0;
  #dropped = 0;
  /** Dropped lines that no line of the log has reported yet. */
  #unreported = 0;
  #whenEmpty: (() => void)[] = [];

  constructor(write: WriteLog) {
    this.#write = write;
  }

  /** Lines that were dropped since the start. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Adds a line. Called by pino. */
  write(line: string): void {
    if (this.#waitingLength + line.length > MAX_WAITING_BYTES) {
      this.#drop(1);
      return;
    }
    this.#waiting.push(line);
    this.#waitingLength += line.length;
    if (this.#writing === 0) this.#flush();
  }

  /** Resolves when all lines are written or dropped. */
  flushed(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#writing === 0) resolve();
      else this.#whenEmpty.push(resolve);
    });
  }

  #flush(): void {
    const lines = this.#waiting;
    this.#waiting = [];
    this.#waitingLength = 0;
    const reported = this.#unreported;
    if (reported > 0) lines.push(droppedLine(reported));
    this.#writing = lines.length;
    this.#write(lines.join(''), (error) => {
      this.#writing = 0;
      if (error) this.#drop(reported > 0 ? lines.length - 1 : lines.length);
      else this.#unreported -= reported;
      if (this.#waiting.length > 0) this.#flush();
      else for (const resolve of this.#whenEmpty.splice(0)) resolve();
    });
  }

  #drop(lines: number): void {
    this.#dropped += lines;
    this.#unreported += lines;
  }
}

const droppedLine = (count: number): string =>
  `{"level":"warn"${pino.stdTimeFunctions.isoTime()},"dropped":${count},"msg":"Log lines were dropped because the output did not take them."}\n`;

/**
 * Writes to a file descriptor on Node's thread pool: for a regular file, where a write ends soon whatever
 * happens. A pipe without a reader would block a thread, and with it the end of the process.
 */
export function writeToFile(descriptor: number): WriteLog {
  /** The last write ended within a line: on a full disk. */
  let isCut = false;
  const writeRest = (bytes: Uint8Array, done: (error?: Error | null) => void): void => {
    write(descriptor, bytes, (error, written) => {
      isCut = error ? isCut : written < bytes.length;
      if (error || !isCut) done(error);
      else writeRest(bytes.subarray(written), done);
    });
  };
  return (text, done) => writeRest(Buffer.from(isCut ? `\n${text}` : text), done);
}

const STANDARD_OUTPUT = 1;

/**
 * The logger of the process: one JSON line per event on standard output. Bodies, credentials and full webhook
 * URLs are never logged; the paths in `redact` catch mistakes.
 */
export function createLog(
  level: LogLevel,
  output: LogOutput = new LogOutput(writeToFile(STANDARD_OUTPUT)),
): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: [
        'req.headers',
        'headers',
        'authorization',
        'token',
        'secret',
        '*.token',
        '*.secret',
        'err.client',
      ],
    },
    output,
  );
}
