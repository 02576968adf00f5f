import { type Logger, pino } from 'pino';

export type { Logger };

/** The levels an operator may choose, most talkative first. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/**
 * The process's logger: one JSON line an event on standard output. Bodies, credentials and full
 * webhook URLs never go in; the paths below are the second lock on that promise.
 */
export function createLog(level: LogLevel): Logger {
  return pino({
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: ['req.headers', 'headers', 'authorization', 'token', 'secret', '*.token', '*.secret'],
  });
}
