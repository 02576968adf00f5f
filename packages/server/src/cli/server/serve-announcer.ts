import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import type { Logger } from '../../log.ts';
import { VERSION } from '../../version.ts';
import type { Announcer } from './run-server.ts';

/** In the data folder; only the user that runs the server can read it. */
const FIRST_KEY_FILE = 'first-api-key';
const OWNER_ONLY = 0o600;

/**
 * Log lines, without secrets, because many people read logs. Written at every log level but `silent`, because they
 * contain the port of settings such as `MAYFLY_HTTP_PORT=0`, and the reason of a stop.
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
        writeFileSync(path, `${key}\n`, { mode: OWNER_ONLY, flag: 'wx', flush: true });
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
    started: ({ http, smtp, metrics }) =>
      lifecycle.info(
        {
          version: VERSION,
          http,
          smtp,
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
