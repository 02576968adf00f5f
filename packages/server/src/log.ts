import { type Logger, pino } from 'pino';

export type { Logger };

/** The levels an operator may choose, most talkative first. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

const STANDARD_OUTPUT = 1;
/** Bytes of log lines that wait while standard output takes none, as on a full disk; later lines are dropped. */
const MAX_WAITING_BYTES = 1024 * 1024;

/**
 * The process's logger: one JSON line per event on standard output. Bodies, credentials and full webhook
 * URLs are never logged; the paths in `redact` catch mistakes.
 */
export function createLog(level: LogLevel): Logger {
  const output = pino.destination({ fd: STANDARD_OUTPUT, sync: true, maxLength: MAX_WAITING_BYTES });
  // A closed terminal (EIO), a full disk (ENOSPC) or a reader that is gone (EPIPE) must not end the server.
  output.on('error', () => undefined);
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: ['req.headers', 'headers', 'authorization', 'token', 'secret', '*.token', '*.secret'],
    },
    output,
  );
}
