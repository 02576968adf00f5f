import type { FirstStart } from './accounts/first-start.ts';
import { systemClock } from './clock.ts';
import type { Config } from './config/config.ts';
import { createSignInCodes } from './console/sign-in-codes.ts';
import { createLog } from './log.ts';
import { giveBackMemory } from './memory.ts';
import type { SmtpServer } from './smtp/server.ts';
import type { Overrides } from './start/deps.ts';
import { type HttpEndpoint, startHttp } from './start/http.ts';
import { startMetrics } from './start/metrics.ts';
import { createOpened, type Opened } from './start/opened.ts';
import { openReceiving } from './start/receiving.ts';
import { openShared } from './start/shared.ts';
import { type SmtpEndpoint, startSmtp } from './start/smtp.ts';
import { startWorker } from './start/worker.ts';

/** What a started app can be reached by; a role that is off is null. */
export interface RunningApp {
  http: HttpEndpoint | null;
  smtp: SmtpEndpoint | null;
  /** The listener for metrics alone. */
  metrics: { url: string } | null;
  firstStart: FirstStart;
  /** A code for one sign-in to the console, with the newest key of the first account. */
  makeSignInCode(): string;
}

export interface App {
  /**
   * @param onFirstKey called with the generated key of the first account as soon as it exists: whatever
   *   fails later, only its hash is stored. Not called for a key that was configured.
   * @throws Error, with what to do about it, when a part does not start; all is freed then
   */
  start(onFirstKey?: (key: string) => void): Promise<RunningApp>;
  /**
   * Uses another SMTP certificate for new connections; when that fails, the error is logged and the old one
   * stays in use.
   * @param read returns the certificate, null for none; may throw
   */
  reloadCertificate(read: () => { cert: string; key: string } | null): void;
  /** Stops accepting, finishes what is in flight, frees everything; within 10 s, safe to call twice. */
  stop(): Promise<void>;
}

/**
 * Constructs the whole system; nothing is opened before `start`.
 *
 * A message comes in over SMTP (`smtp/`) or HTTP, the receiver (`inbound/`) decides who gets it and has it
 * parsed (`mail/`), and the store keeps it and its webhook deliveries in one transaction. Then the event bus
 * wakes the requests that wait for it (`messages/`) and the deliverer (`webhooks/`). A process has one or more
 * of the roles `smtp`, `http` and `worker`; processes with different roles share a PostgreSQL database.
 */
export function createApp(config: Config, overrides: Overrides = {}): App {
  const clock = overrides.clock ?? systemClock;
  const log = overrides.log ?? createLog(config.logLevel);
  const opened = createOpened(log);
  let smtpServer: SmtpServer | undefined;

  const start = async (onFirstKey?: (key: string) => void): Promise<RunningApp> => {
    const has = (role: Config['roles'][number]) => config.roles.includes(role);
    const shared = await openShared({ config, overrides, clock, log, opened }, onFirstKey);
    const receiving = openReceiving(shared);
    const smtp = has('smtp') ? await startSmtp(shared, receiving) : null;
    smtpServer = smtp?.server;
    const codes = createSignInCodes();
    const http = has('http') ? await startHttp(shared, receiving, smtp, codes) : null;
    if (has('worker')) await startWorker(shared);
    const metrics = await startMetrics(shared);
    giveBackMemoryLater(opened);
    const { firstStart } = shared;
    const makeSignInCode = () => codes.make(firstStart.account.id);
    return { http, smtp: smtp?.endpoint ?? null, metrics, firstStart, makeSignInCode };
  };

  return {
    async start(onFirstKey) {
      try {
        return await start(onFirstKey);
      } catch (error) {
        await opened.closeAll();
        throw error;
      }
    },
    reloadCertificate(read) {
      try {
        const pair = read();
        if (!pair || !smtpServer) log.info('No SMTP certificate is configured; there is nothing to reload');
        else log.info({ certificate: smtpServer.useCertificate(pair) }, 'The SMTP certificate was reloaded');
      } catch (err) {
        log.error({ err }, 'The new SMTP certificate cannot be used; the old one stays in use');
      }
    },
    stop: opened.closeAll,
  };
}

/** The collection takes 0.1 s: the first requests of a test run, right after the start, must not wait for it. */
const SETTLE_MS = 2_000;

function giveBackMemoryLater(opened: Opened): void {
  const stopped = new AbortController();
  opened.onClose(async () => stopped.abort());
  void systemClock.sleep(SETTLE_MS, stopped.signal).then(() => {
    if (!stopped.signal.aborted) giveBackMemory();
  });
}
