import { hasDevKey } from '../config/config.ts';
import type { SignInCodes } from '../console/sign-in-codes.ts';
import { recheckUntil } from '../http/access/held-requests.ts';
import { createInjection } from '../inbound/injection.ts';
import { createReplays } from '../recordings/replay.ts';
import type { SmtpServer } from '../smtp/server.ts';
import { createRateLimit, type RateLimit } from '../usage/rate-limit.ts';
import { SharedRates } from '../usage/shared-rates.ts';
import { createWaitLog } from '../waits/wait-log.ts';
import { createWebhooks } from '../webhooks/registry.ts';
import { listening, urlOf } from './deps.ts';
import type { Receiving } from './receiving.ts';
import type { Shared } from './shared.ts';
import type { SmtpEndpoint } from './smtp.ts';

export interface HttpEndpoint {
  url: string;
  /** Null where the console is off. */
  consoleUrl: string | null;
}

/**
 * Starts the API and the console. They are loaded only by processes with this role.
 * @param smtp where this process takes mail; null where it does not
 */
export async function startHttp(
  shared: Shared,
  { receiver, budget }: Receiving,
  smtp: { server: SmtpServer; endpoint: SmtpEndpoint } | null,
  signInCodes: SignInCodes,
): Promise<HttpEndpoint> {
  const { config, store, guard, events, plans, metrics, gauges, clock, log, opened } = shared;
  const { createHttpServer } = await import('../http/server.ts');
  const waitLog = createWaitLog(store.waits, clock, (err) =>
    log.error({ err }, 'Ended waits could not be stored'),
  );
  opened.onClose(() => waitLog.flushed());
  const replays = createReplays({ clock, log });
  opened.onClose(() => replays.stop());
  const server = createHttpServer(
    {
      host: config.httpHost,
      port: config.httpPort,
      domains: config.domains,
      publicUrl: config.publicUrl,
      corsOrigins: config.corsOrigins,
      signUpPlan: config.signUpPlan,
      sink: config.sink === 'on',
      metrics: config.metrics === 'on',
      smtp: smtp?.endpoint ?? null,
      console: config.console === 'on' ? { signInCodes } : null,
      limits: { maxConnectionsPerAddress: config.httpMaxConnectionsPerAddress },
    },
    {
      store,
      parsing: shared.parsing,
      events,
      webhooks: createWebhooks({ store, guard, events, clock, plans }),
      scheduleNow: shared.schedule.now,
      waitLog,
      plans,
      rate: openRateLimit(shared),
      usage: shared.usage,
      refusalsWritten: () => receiver.refusalsWritten(),
      visits: smtp?.server.visits ?? null,
      // Other nodes may share a PostgreSQL database.
      receivesAll: smtp !== null && config.databaseUrl === null,
      repliedAt: (messageId) => receiver.repliedAt(messageId),
      injection: createInjection({ receiver, budget, clock }),
      replays,
      clock,
      log,
      metrics: metrics.registry,
      devAccountId: hasDevKey(config) ? shared.firstStart.account.id : undefined,
    },
  );
  opened.addListener(server);
  gauges.heldRequests = () => server.heldRequests;
  gauges.httpConnections = () => server.connections;
  const rechecking = new AbortController();
  opened.onClose(async () => rechecking.abort());
  void recheckUntil(rechecking.signal, { recheck: () => server.recheckHeld(), clock, log });
  const { port } = await listening('http', config, server.start());
  const url = config.publicUrl ?? urlOf(config.httpHost, port);
  return { url, consoleUrl: config.console === 'on' ? `${url}/` : null };
}

/** The rate limit of this node, on PostgreSQL together with those of other nodes. */
function openRateLimit({ config, store, clock, log, opened }: Shared): RateLimit {
  const rate = createRateLimit(clock);
  if (config.databaseUrl === null) return rate;
  const shared = new SharedRates({ rate, store, clock, log });
  shared.start();
  opened.onClose(() => shared.stop());
  return rate;
}
