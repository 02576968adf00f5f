import { write } from 'node:fs';
import { type Logger, pino } from 'pino';
import { type Clock, MINUTE_MS } from './clock.ts';

export type { Logger };

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Reports the first error at once, then at most one a minute, with the number of errors since the last report. */
export function oncePerMinute(clock: Pick<Clock, 'monotonic'>, write: (error: Error, count: number) => void) {
  let next = Number.NEGATIVE_INFINITY;
  let count = 0;
  return (error: Error) => {
    count++;
    if (clock.monotonic() < next) return;
    next = clock.monotonic() + MINUTE_MS;
    write(error, count);
    count = 0;
  };
}

const MAX_WAITING_BYTES = 256 * 1024;

/** Writes without blocking. @param done called once, with an error if the text was not written completely */
export type WriteLog = (text: string, done: (error?: Error | null) => void) => void;

/** Queues log lines for an output that may be slow, full or closed. Lines that do not fit are dropped and counted. */
export class LogOutput {
  readonly #write: WriteLog;
  #waiting: string[] = [];
  #waitingLength = 0;
  #writing = 0;
  #dropped = 0;
  #unreported = 0;
  #whenEmpty: (() => void)[] = [];

  constructor(write: WriteLog) {
    this.#write = write;
  }

  get dropped(): number {
    return this.#dropped;
  }

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

/** Writes in Node's thread pool. Only for regular files: a pipe without a reader would block a thread forever. */
export function writeToFile(descriptor: number): WriteLog {
  /** Whether the last write ended in the middle of a line, as on a full disk. */
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

const SECRETS = ['authorization', 'token', 'secret', '*.token', '*.secret'];
const REDACTED = ['req.headers', 'headers', 'err.client', ...SECRETS];

/** Creates a logger of JSON lines. Never log bodies, credentials or full webhook URLs: redaction misses some. */
export function createLog(level: LogLevel, output: LogOutput = new LogOutput(writeToFile(1))): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: REDACTED,
    },
    output,
  );
}
