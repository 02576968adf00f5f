import { join } from 'node:path';
import type { Registry } from 'prom-client';
import { checkSetup } from './accounts/check-setup.ts';
import { ensureFirstAccount, type FirstStart } from './accounts/first-start.ts';
import { createPlans } from './accounts/plans.ts';
import { ensureSink } from './accounts/sink.ts';
import { type Clock, systemClock } from './clock.ts';
import type { Config } from './config/config.ts';
import { explainListening, type ListenerName } from './config/explain-listening.ts';
import { createNews } from './events.ts';
import { recheckUntil } from './http/access/held-requests.ts';
import { randomFraction } from './ids.ts';
import { createAuthenticating } from './inbound/authentication/authenticator.ts';
import { ByteBudget, IN_FLIGHT_BYTES } from './inbound/in-flight/byte-budget.ts';
import { createInjection } from './inbound/injection.ts';
import { createParsing } from './inbound/parsing/parser-pool.ts';
import { createReceiver } from './inbound/receiver.ts';
import { createFindCaptureTarget } from './inbound/smtp-credentials.ts';
import { createLog, type Logger } from './log.ts';
import { giveBackMemory } from './memory.ts';
import { createMetrics } from './metrics.ts';
import { addGauges, type GaugeSources } from './monitoring/gauges.ts';
import { createMetricsServer } from './monitoring/metrics-server.ts';
import { createRateLimit } from './quota/rate-limit.ts';
import { UsageMeter } from './quota/usage-meter.ts';
import type { SmtpServer } from './smtp/server.ts';
import { measureDisk } from './store/sqlite/disk-figures.ts';
import { openSqlite } from './store/sqlite/open.ts';
import { sweepUntil } from './store/sweeper.ts';
import { VERSION } from './version.ts';
import { createDeliverer } from './webhooks/deliverer.ts';
import { isAllowedAddress, parseCidrs } from './webhooks/outbound/address-guard.ts';
import { createResolve, type Resolve, systemResolve } from './webhooks/outbound/resolve.ts';
import { createSender } from './webhooks/outbound/send.ts';
import { createWebhooks } from './webhooks/registry.ts';

/** SIGTERM to exit is promised within 10 s; what is in flight gets most of it. */
const DRAIN_MS = 8_000;
const DATABASE_FILE = 'mayfly.db';
/** The webhook URL of examples where loopback is allowed: an application on the developer's machine. */
const LOOPBACK_HOOK = 'http://127.0.0.1:3000/hooks/mayfly';

/** Where the embedded store keeps its database inside the data folder. */
export const databasePath = (dataDir: string): string => join(dataDir, DATABASE_FILE);

/** What differs from the configuration, mostly for tests. */
export interface Overrides {
  clock?: Clock;
  log?: Logger;
  /** How host names of webhooks are looked up. */
  resolve?: Resolve;
  /** Waits between the attempts of a webhook delivery, milliseconds. */
  retryDelays?: readonly number[];
  /** A port for metrics that is in use is a warning: `mayfly dev` runs without one that nobody asked for. */
  mayLackMetrics?: boolean;
}

/** What a started app can be reached by; a role that is off is null. */
export interface RunningApp {
  http: { url: string } | null;
  smtp: { host: string; port: number; tlsPort: number | null } | null;
  /** The listener for metrics alone. */
  metrics: { url: string } | null;
  firstStart: FirstStart;
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

/** Constructs the whole system, top to bottom in the order in which parts need each other. */
export function createApp(config: Config, overrides: Overrides = {}): App {
  const clock = overrides.clock ?? systemClock;
  const log = overrides.log ?? createLog(config.logLevel);
  // Run backwards at the end: what was opened last is closed first. Listeners stop before, together.
  const closers: (() => Promise<void>)[] = [];
  const listeners: { stop(deadlineMs: number): Promise<void> }[] = [];
  let smtpServer: SmtpServer | undefined;

  const listening = <T>(name: ListenerName, started: Promise<T>): Promise<T> =>
    started.catch((error) => {
      throw explainListening(error, name, config);
    });

  const startMetrics = async (registry: Registry): Promise<RunningApp['metrics']> => {
    if (config.metricsPort === null) return null;
    const server = createMetricsServer(
      { host: config.metricsHost, port: config.metricsPort },
      { registry, log },
    );
    try {
      const { port } = await listening('metrics', server.start());
      listeners.push(server);
      return { url: `http://${bracketed(config.metricsHost)}:${port}/metrics` };
    } catch (error) {
      if (!overrides.mayLackMetrics) throw error;
      log.info({ err: error }, 'The metrics are not served on a port of their own');
      return null;
    }
  };

  const start = async (onFirstKey?: (key: string) => void): Promise<RunningApp> => {
    const path = databasePath(config.dataDir);
    let writes = 0;
    const store = await openSqlite({
      path,
      onWriting: (change) => {
        writes += change;
      },
      onCrash: (err) => log.error({ err }, 'a thread of the database died; its next call starts it again'),
    });
    closers.push(() => store.close());
    const firstStart = await ensureFirstAccount(store, config.apiKey, clock.now());
    if (firstStart.made && config.apiKey === null) onFirstKey?.(firstStart.key);
    if (config.sink === 'on') await ensureSink(store, config.domains[0] ?? 'localhost', clock.now());

    const plans = createPlans(config.plans);
    const usage = new UsageMeter({ store, clock, log });
    usage.start();
    closers.push(() => usage.stop());
    await checkSetup({ store, plans, domains: config.domains, log });
    const news = createNews();
    const metrics = createMetrics();
    const parsing = createParsing({ clock });
    closers.push(() => parsing.close());
    const gauges: GaugeSources = {
      clock,
      store,
      measureDisk: () => measureDisk(path),
      parserJobs: () => parsing.jobs,
      writes: () => writes,
    };

    if (config.roles.includes('worker')) {
      const sweeping = new AbortController();
      const swept = sweepUntil(sweeping.signal, { upkeep: store.upkeep, clock, log });
      closers.push(() => {
        sweeping.abort();
        return swept;
      });
    }

    const allow = parseCidrs(config.webhookAllow.join(','));
    // Names of a private network matter only where the operator lets webhooks into one.
    const resolve =
      overrides.resolve ??
      createResolve({
        ...(config.dnsServers && { servers: config.dnsServers }),
        ...(allow.length > 0 && { fallback: systemResolve }),
      });
    // With open sign-up, messages must not show strangers what addresses names have in our network.
    const guard = { allow, resolve, namesAddresses: config.signUpPlan === null };
    const webhooks = createWebhooks({ store, guard, news, clock, plans });

    const hostname = config.smtpName ?? config.domains[0] ?? 'localhost';
    const takesSmtp = config.roles.includes('smtp');
    const authenticating =
      config.mailAuth === 'on' && takesSmtp
        ? createAuthenticating({
            clock,
            dnsServers: config.dnsServers,
            onThreadLost: (err) => log.warn({ err }, 'the thread that checks senders was ended'),
            onChecked: metrics.authentication,
          })
        : null;
    if (authenticating) {
      closers.push(() => authenticating.close());
      gauges.senderChecks = () => authenticating.checks;
    }
    const receiver = createReceiver({
      store,
      parsing,
      authenticating,
      news,
      clock,
      plans,
      hostname,
      domains: config.domains,
      sink: config.sink === 'on',
      onRefusalsLost: (err) => log.error({ err }, 'refusals were not kept'),
    });
    closers.push(() => receiver.settled());
    const budget = new ByteBudget(IN_FLIGHT_BYTES, plans.largestMessageBytes);

    let smtp: RunningApp['smtp'] = null;
    if (takesSmtp) {
      const { createSmtpServer } = await import('./smtp/server.ts');
      const server = createSmtpServer(
        {
          host: config.smtpHost,
          port: config.smtpPort,
          tlsPort: config.smtpsPort,
          domains: config.domains,
          name: hostname,
          tls:
            config.smtpTlsCert && config.smtpTlsKey
              ? { cert: config.smtpTlsCert, key: config.smtpTlsKey }
              : null,
          startTls: config.smtpStartTls,
          auth: config.smtpAuth,
          authPlaintext: config.smtpAuthPlaintext === 'on',
          proxyFrom: config.smtpProxyFrom,
          bareLineEndings: config.smtpBareLineEndings,
          maxMessageBytes: plans.largestMessageBytes,
          maxConnections: config.smtpMaxConnections,
          maxConnectionsPerAddress: config.smtpMaxConnectionsPerAddress,
          postmaster: config.postmaster,
        },
        {
          receiver,
          budget,
          findCaptureTarget: createFindCaptureTarget({ store, clock }),
          clock,
          log,
          metrics: metrics.smtp,
        },
      );
      listeners.push(server);
      smtpServer = server;
      gauges.smtpBytes = () => server.bytesInFlight;
      smtp = { host: config.smtpHost, ...(await listening('smtp', server.start())) };
    }

    let http: RunningApp['http'] = null;
    if (config.roles.includes('http')) {
      const { createHttpServer } = await import('./http/server.ts');
      const server = createHttpServer(
        {
          host: config.httpHost,
          port: config.httpPort,
          domains: config.domains,
          publicUrl: config.publicUrl,
          corsOrigins: config.corsOrigins,
          signUpPlan: config.signUpPlan,
          webhookExample: isAllowedAddress('127.0.0.1', allow) ? LOOPBACK_HOOK : undefined,
          sink: config.sink === 'on',
          metrics: config.metrics === 'on',
        },
        {
          store,
          parsing,
          news,
          webhooks,
          plans,
          rate: createRateLimit(clock),
          usage,
          refusalsWritten: () => receiver.refusalsWritten(),
          injection: createInjection({ receiver, budget }),
          clock,
          log,
          metrics: metrics.registry,
        },
      );
      listeners.push(server);
      gauges.heldRequests = () => server.heldRequests;
      const rechecking = new AbortController();
      closers.push(async () => rechecking.abort());
      void recheckUntil(rechecking.signal, { recheck: () => server.recheckHeld(), clock, log });
      const { port } = await listening('http', server.start());
      http = { url: config.publicUrl ?? `http://${bracketed(config.httpHost)}:${port}` };
    }
    if (config.roles.includes('worker')) {
      // The embedded store has one server: whoever held these is gone.
      await store.deliveries.releaseAll(clock.now());
      const deliverer = createDeliverer({
        store,
        sender: createSender({ ...guard, clock, userAgent: `Mayfly/${VERSION}` }),
        news,
        clock,
        log,
        metrics: metrics.webhooks,
        random: randomFraction,
        publicUrl: config.publicUrl ?? http?.url ?? `http://${bracketed(config.httpHost)}:${config.httpPort}`,
        domain: config.domains[0] ?? 'localhost',
        retryDelays: overrides.retryDelays,
      });
      deliverer.start();
      listeners.push(deliverer);
    }
    addGauges(metrics.registry, gauges);
    const metricsListener = await startMetrics(metrics.registry);
    giveBackMemory();
    return { http, smtp, metrics: metricsListener, firstStart };
  };

  const quietly = async (close: () => Promise<void>): Promise<void> => {
    try {
      await close();
    } catch (err) {
      log.error({ err }, 'a part did not stop cleanly');
    }
  };

  const stop = async (): Promise<void> => {
    await Promise.all(listeners.splice(0).map((server) => quietly(() => server.stop(DRAIN_MS))));
    for (let close = closers.pop(); close; close = closers.pop()) await quietly(close);
  };

  return {
    async start(onFirstKey) {
      try {
        return await start(onFirstKey);
      } catch (error) {
        await stop();
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
    stop,
  };
}

/** IPv6 literals stand in brackets in a URL (RFC 3986 section 3.2.2). */
const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host);
