import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RunningApp } from '../../app.ts';
import type { Config } from '../../config/config.ts';
import type { Logger } from '../../log.ts';
import { VERSION } from '../../version.ts';
import type { StopReason, StopSignal } from './stop-request.ts';

/** Reports the start and the stop of a server to the operator: text in `dev`, log lines in `serve`. */
export interface Announcer {
  warning(text: string): void;
  /** Called with the generated key of the first account. After that, the start may still fail. */
  firstKey(key: string): void;
  started(running: RunningApp): void;
  stopping(reason: StopReason): void;
  stopped(ms: number): void;
  stoppedByForce(reason: StopSignal | 'time limit'): void;
}

/** Writes log lines without secrets. They appear at every log level but `silent`, because they name the ports. */
export function createServeAnnouncer(config: Config, log: Logger): Announcer {
  const lifecycle = config.logLevel === 'silent' ? log : log.child({}, { level: 'info' });
  return {
    warning: (text) => lifecycle.warn(text),
    firstKey(key) {
      const path = join(config.dataDir, 'first-api-key');
      try {
        // Delete an existing file: it may have other permissions, or the key of an older database.
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
    started({ http, smtp, pop3, metrics }) {
      const { domains, roles, dataDir } = config;
      const listening = { http, smtp, ...(pop3 && { pop3 }), metrics };
      lifecycle.info({ version: VERSION, ...listening, domains, roles, dataDir }, 'Mayfly is ready');
    },
    stopping: (reason) => lifecycle.info({ reason }, 'Mayfly is stopping'),
    stopped: (ms) => lifecycle.info({ ms }, 'Mayfly has stopped'),
    stoppedByForce: (reason) =>
      lifecycle.warn({ reason }, 'Mayfly ends at once. Messages that were acknowledged are stored.'),
  };
}
