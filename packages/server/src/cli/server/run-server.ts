import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { App, RunningApp } from '../../app.ts';
import type { Clock } from '../../clock.ts';
import type { Config } from '../../config/config.ts';
import type { Logger } from '../../log.ts';
import { VERSION } from '../../version.ts';
import type { StopReason, StopRequest, StopSignal } from './stop-request.ts';

/** Reports the start and the stop of a server to the operator: text in `dev`, log lines in `serve`. */
export interface Announcer {
  /** An unknown or ignored setting. */
  warning(text: string): void;
  /** The generated key of the first account. Called before the listeners start: the start may still fail. */
  firstKey(key: string): void;
  started(running: RunningApp): void;
  stopping(reason: StopReason): void;
  /** @param ms duration of the stop, whole milliseconds */
  stopped(ms: number): void;
  /** A second signal or the time limit ends the process at once. */
  stoppedByForce(reason: StopSignal | 'time limit'): void;
}

/** The process must end within 10 s, even if a part does not stop. */
const STOP_LIMIT_MS = 9_500;

export interface RunDeps {
  announcer: Announcer;
  stop: StopRequest;
  clock: Clock;
  exit(code: number): void;
}

/**
 * Starts the app and stops it on request, at the earliest once it has started, within {@link STOP_LIMIT_MS}.
 * @throws what {@link App.start} throws
 */
export async function runServer(app: App, { announcer, stop, clock, exit }: RunDeps): Promise<void> {
  const ended = new AbortController();
  const begun = stop.requested.then((reason) => {
    announcer.stopping(reason);
    void clock.sleep(STOP_LIMIT_MS, ended.signal).then(() => {
      if (ended.signal.aborted) return;
      announcer.stoppedByForce('time limit');
      exit(1);
    });
    return clock.monotonic();
  });
  try {
    announcer.started(await app.start(announcer.firstKey));
    const begunAt = await begun;
    await app.stop();
    announcer.stopped(Math.round(clock.monotonic() - begunAt));
  } finally {
    ended.abort();
  }
}

/** A file in the data folder that only the user that runs the server can read. */
const FIRST_KEY_FILE = 'first-api-key';

/**
 * Announces as log lines, without secrets, because many people read logs. Written at every log level but `silent`,
 * because they contain the port of settings such as `MAYFLY_HTTP_PORT=0`, and the reason of a stop.
 */
export function createServeAnnouncer(config: Config, log: Logger): Announcer {
  const lifecycle = config.logLevel === 'silent' ? log : log.child({}, { level: 'info' });
  return {
    warning: (text) => lifecycle.warn(text),
    firstKey(key) {
      const path = join(config.dataDir, FIRST_KEY_FILE);
      try {
        // An existing file may be of an older database, or have other permissions.
        rmSync(path, { force: true });
        writeFileSync(path, `${key}\n`, { mode: 0o600, flag: 'wx', flush: true });
        lifecycle.info(
          { path },
          'The first API key was written to this file. Read it, then delete the file. "mayfly key create" creates another key.',
        );
      } catch (err) {
        // Not fatal: the account exists, and the operator can create another key.
        lifecycle.error(
          { err, path },
          'The first API key could not be written to this file and is lost. Run "mayfly key create" for another one.',
        );
      }
    },
    started: ({ http, smtp, pop3, metrics }) =>
      lifecycle.info(
        {
          version: VERSION,
          http,
          smtp,
          ...(pop3 && { pop3 }),
          metrics,
          domains: config.domains,
          roles: config.roles,
          dataDir: config.dataDir,
        },
        'Mayfly is ready',
      ),
    stopping: (reason) => lifecycle.info({ reason }, 'Mayfly is stopping'),
    stopped: (ms) => lifecycle.info({ ms }, 'Mayfly has stopped'),
    stoppedByForce: (reason) =>
      lifecycle.warn({ reason }, 'Mayfly ends at once. Messages that were acknowledged are stored.'),
  };
}
