import { join } from 'node:path';
import { checkSetup } from './accounts/check-setup.ts';
import { ensureFirstAccount, type FirstStart } from './accounts/first-start.ts';
import { createPlans } from './accounts/plans.ts';
import { createSignInCodes, type SignInCodes } from './accounts/sessions.ts';
import { ensureSink } from './accounts/sink.ts';
import { type Clock, systemClock } from './clock.ts';
import type { Config } from './config/config.ts';
import { explainListening, type ListenerName } from './config/explain-listening.ts';
import { createEventBus, type EventBus } from './events.ts';
import { recheckUntil } from './http/access/held-requests.ts';
import { newSessionId, randomFraction } from './ids.ts';
import { Authenticator } from './inbound/authentication/authenticator.ts';
import { ByteBudget, IN_FLIGHT_BYTES } from './inbound/in-flight/byte-budget.ts';
import { createInjection } from './inbound/injection.ts';
import { createParsing } from './inbound/parsing/parser-pool.ts';
import { TRACE_HEADROOM_BYTES } from './inbound/received-line.ts';
import { createReceiver } from './inbound/receiver.ts';
import { createReplays } from './inbound/replay.ts';
import { createFindCaptureTarget } from './inbound/smtp-credentials.ts';
import { createLog, type Logger } from './log.ts';
import { giveBackMemory } from './memory.ts';
import { createWaitLog } from './messages/wait/wait-log.ts';
import { warnOfClock } from './monitoring/clock-difference.ts';
import { addGauges, type GaugeSources } from './monitoring/gauges.ts';
import { createMetrics } from './monitoring/metrics.ts';
import { createRateLimit, type RateLimit } from './quota/rate-limit.ts';
import { SharedRates } from './quota/shared-rates.ts';
import { UsageMeter } from './quota/usage-meter.ts';
import type { SmtpServer } from './smtp/server.ts';
import { openPostgres } from './store/postgres/open.ts';
import { measureDisk } from './store/sqlite/disk-figures.ts';
import { openSqlite } from './store/sqlite/open.ts';
import { sweepUntil } from './store/sweeper.ts';
import { VERSION } from './version.ts';
import { createDeliverer } from './webhooks/deliverer.ts';
import { isAllowedAddress, parseCidrs } from './webhooks/outbound/address-guard.ts';
import { createResolve, type Resolve, systemResolve } from './webhooks/outbound/resolve.ts';
import { createSender } from './webhooks/outbound/send.ts';
import { createWebhooks } from './webhooks/registry.ts';
import { createScheduleClock } from './webhooks/schedule-clock.ts';

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
  /** How many lines the log has dropped because its output did not take them. */
  droppedLogLines?: () => number;
  /** How host names of webhooks are looked up. */
  resolve?: Resolve;
  /** Waits between the attempts of a webhook delivery, milliseconds. */
  retryDelays?: readonly number[];
  /** True where a metrics port that is in use is only logged: `mayfly dev` opens one by default. */
  mayLackMetrics?: boolean;
}

/** What a started app can be reached by; a role that is off is null. */
export interface RunningApp {
  http: {
    url: string;
    /** Null where the console is off. */
    consoleUrl: string | null;
  } | null;
  smtp: { host: string; port: number; tlsPort: number | null } | null;
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

/** What is open, to be closed in reverse order. */
interface Opened {
  /** Run backwards at the end: what was opened last is closed first. */
  closers: (() => Promise<void>)[];
  /** Stopped together, before the closers run. */
  listeners: { stop(deadlineMs: number): Promise<void> }[];
}

/** What the parts are made from. */
interface Given {
  config: Config;
  overrides: Overrides;
  clock: Clock;
  log: Logger;
  opened: Opened;
}

type Shared = Awaited<ReturnType<typeof openShared>>;
type Parts = Shared & { receiver: ReturnType<typeof openReceiver> };

/** IPv6 literals stand in brackets in a URL (RFC 3986 section 3.2.2). */
const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host);

const firstDomain = ({ domains }: Config): string => domains[0] ?? 'localhost';

/** Explains why a listener could not start, with the setting to change. */
const listening = <T>(name: ListenerName, config: Config, started: Promise<T>): Promise<T> =>
  started.catch((error) => {
    throw explainListening(error, name, config);
  });

/** Opens the store: the embedded one, or PostgreSQL, whose other nodes publish on the event bus of this one. */
function openStore({ config, clock, log }: Given, events: EventBus, onWriting: (change: 1 | -1) => void) {
  if (config.databaseUrl === null) {
    return openSqlite({
      path: databasePath(config.dataDir),
      onWriting,
      onCrash: (err) => log.error({ err }, 'a thread of the database died; its next call starts it again'),
    });
  }
  return openPostgres({
    url: config.databaseUrl,
    directUrl: config.databaseDirectUrl,
    notify: config.databaseNotify === 'on',
    onError: (err) => log.warn({ err }, 'a connection to the database failed; the next call opens a new one'),
    hints: {
      clock,
      node: newSessionId(),
      waiting: events.subscribed,
      onHint(hint) {
        if (hint.kind === 'message') events.publish(hint);
        else if (hint.kind === 'inbox') events.publishInboxChange(hint.inboxId);
        else if (hint.kind === 'deliveries') events.publishDeliveries();
        else events.publishAll();
      },
    },
  });
}

/** On PostgreSQL the disk is not of this machine, and its figures are absent (NaN). */
const NO_DISK = { databaseBytes: Number.NaN, freeBytes: Number.NaN, totalBytes: Number.NaN };

/** Opens the store and the parts that all roles share. */
async function openShared(given: Given, onFirstKey?: (key: string) => void) {
  const { config, clock, log, opened } = given;
  const events = createEventBus();
  let writes = 0;
  const store = await openStore(given, events, (change) => {
    writes += change;
  });
  opened.closers.push(() => store.close());
  const firstStart = await ensureFirstAccount(store, config.apiKey, clock.now());
  if (firstStart.made && config.apiKey === null) onFirstKey?.(firstStart.key);
  if (config.sink === 'on') await ensureSink(store, firstDomain(config), clock.now());

  const plans = createPlans(config.plans);
  const usage = new UsageMeter({ store, clock, log });
  usage.start();
  opened.closers.push(() => usage.stop());
  await checkSetup({ store, plans, domains: config.domains, log });
  await warnOfClock({ store, clock, log });
  const metrics = createMetrics();
  const parsing = createParsing({ clock });
  opened.closers.push(() => parsing.close());
  const schedule = createScheduleClock(clock, () => store.upkeep.time());
  const gauges: GaugeSources = {
    clock,
    scheduleNow: schedule.now,
    store,
    measureDisk: async () =>
      config.databaseUrl === null ? measureDisk(databasePath(config.dataDir)) : NO_DISK,
    droppedLogLines: given.overrides.droppedLogLines,
    parserJobs: () => parsing.jobs,
    writes: () => writes,
  };
  const guard = webhookGuard(given);
  const waitLog = createWaitLog(store.reports, clock, (err) =>
    log.error({ err }, 'Ended waits could not be stored'),
  );
  opened.closers.push(() => waitLog.flushed());
  const webhooks = createWebhooks({ store, guard, events, clock, plans });
  // A recorded message that is imported has a Received line already.
  const budget = new ByteBudget({
    capacity: IN_FLIGHT_BYTES + TRACE_HEADROOM_BYTES,
    largest: plans.largestMessageBytes + TRACE_HEADROOM_BYTES,
    clock,
  });
  return {
    ...given,
    ...{
      store,
      firstStart,
      plans,
      usage,
      events,
      metrics,
      parsing,
      gauges,
      guard,
      schedule,
      webhooks,
      budget,
      waitLog,
    },
  };
}

/** Where webhooks may go, and how their names are resolved. */
function webhookGuard({ config, overrides }: Given) {
  const allow = parseCidrs(config.webhookAllow.join(','));
  // Names of a private network matter only where the operator allows webhooks into one.
  const resolve =
    overrides.resolve ??
    createResolve({
      ...(config.dnsServers && { servers: config.dnsServers }),
      ...(allow.length > 0 && { fallback: systemResolve }),
    });
  // With open sign-up, messages must not show strangers which addresses names have in our network.
  return { allow, resolve, namesAddresses: config.signUpPlan === null };
}

/** The rules of receiving, and the checks of senders where mail comes in over SMTP. */
function openReceiver(shared: Shared) {
  const { config, clock, log, opened, store, parsing, events, plans, metrics, gauges } = shared;
  const authenticating =
    config.mailAuth === 'on' && config.roles.includes('smtp')
      ? new Authenticator({
          clock,
          dnsServers: config.dnsServers,
          onThreadLost: (err) => log.warn({ err }, 'The thread that checks senders was terminated'),
          onChecked: metrics.authentication,
        })
      : null;
  if (authenticating) {
    opened.closers.push(() => authenticating.close());
    gauges.senderChecks = () => authenticating.checks;
  }
  const receiver = createReceiver({
    store,
    parsing,
    authenticating,
    events,
    clock,
    plans,
    hostname: config.smtpName ?? firstDomain(config),
    domains: config.domains,
    sink: config.sink === 'on',
    onRefusalsLost: (err) => log.error({ err }, 'Refusals could not be stored'),
  });
  opened.closers.push(() => receiver.settled());
  return receiver;
}

/** Frees the space of what has expired or was deleted. */
function startSweeper({ store, clock, log, opened }: Parts): void {
  const sweeping = new AbortController();
  const swept = sweepUntil(sweeping.signal, { upkeep: store.upkeep, clock, log });
  opened.closers.push(() => {
    sweeping.abort();
    return swept;
  });
}

async function startSmtp(parts: Parts): Promise<{ server: SmtpServer; smtp: RunningApp['smtp'] }> {
  const { config, store, plans, receiver, budget, metrics, gauges, clock, log, opened } = parts;
  const { createSmtpServer } = await import('./smtp/server.ts');
  const { smtpTlsCert: cert, smtpTlsKey: key } = config;
  const server = createSmtpServer(
    {
      host: config.smtpHost,
      port: config.smtpPort,
      tlsPort: config.smtpsPort,
      domains: config.domains,
      name: config.smtpName ?? firstDomain(config),
      tls: cert && key ? { cert, key } : null,
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
  opened.listeners.push(server);
  gauges.smtpBytes = () => server.bytesInFlight;
  return { server, smtp: { host: config.smtpHost, ...(await listening('smtp', config, server.start())) } };
}

/** The rate limit of this node, on PostgreSQL together with those of other nodes. */
function openRateLimit({ config, store, clock, log, opened }: Parts): RateLimit {
  const rate = createRateLimit(clock);
  if (config.databaseUrl === null) return rate;
  const shared = new SharedRates({ rate, store, clock, log });
  shared.start();
  opened.closers.push(() => shared.stop());
  return rate;
}

async function startHttp(
  parts: Parts,
  smtp: RunningApp['smtp'],
  signInCodes: SignInCodes,
): Promise<RunningApp['http']> {
  const { config, guard, receiver, budget, metrics, gauges, clock, log, opened } = parts;
  const { createHttpServer } = await import('./http/server.ts');
  const replays = createReplays({ clock, log });
  opened.closers.push(() => replays.stop());
  const server = createHttpServer(
    {
      host: config.httpHost,
      port: config.httpPort,
      domains: config.domains,
      publicUrl: config.publicUrl,
      corsOrigins: config.corsOrigins,
      signUpPlan: config.signUpPlan,
      webhookExample: isAllowedAddress('127.0.0.1', guard.allow) ? LOOPBACK_HOOK : undefined,
      sink: config.sink === 'on',
      metrics: config.metrics === 'on',
      smtp,
      console: config.console === 'on' ? { signInCodes } : null,
      limits: { maxConnectionsPerAddress: config.httpMaxConnectionsPerAddress },
    },
    {
      store: parts.store,
      parsing: parts.parsing,
      events: parts.events,
      webhooks: parts.webhooks,
      scheduleNow: parts.schedule.now,
      waitLog: parts.waitLog,
      plans: parts.plans,
      rate: openRateLimit(parts),
      usage: parts.usage,
      refusalsWritten: () => receiver.refusalsWritten(),
      injection: createInjection({ receiver, budget, clock }),
      replays,
      clock,
      log,
      metrics: metrics.registry,
    },
  );
  opened.listeners.push(server);
  gauges.heldRequests = () => server.heldRequests;
  gauges.httpConnections = () => server.connections;
  const rechecking = new AbortController();
  opened.closers.push(async () => rechecking.abort());
  void recheckUntil(rechecking.signal, { recheck: () => server.recheckHeld(), clock, log });
  const { port } = await listening('http', config, server.start());
  const url = config.publicUrl ?? `http://${bracketed(config.httpHost)}:${port}`;
  return { url, consoleUrl: config.console === 'on' ? `${url}/` : null };
}

/** @param http where the API listens in this process; null where it does not */
async function startDeliverer(parts: Parts, http: RunningApp['http']): Promise<void> {
  const { config, overrides, store, schedule, guard, events, metrics, clock, log, opened } = parts;
  // The embedded store has one server: no other process holds these leases.
  if (config.databaseUrl === null) await store.deliveries.releaseAll(clock.now());
  const deliverer = createDeliverer({
    store,
    schedule,
    sender: createSender({ ...guard, clock, userAgent: `Mayfly/${VERSION}` }),
    events,
    clock,
    log,
    metrics: metrics.webhooks,
    random: randomFraction,
    publicUrl: config.publicUrl ?? http?.url ?? `http://${bracketed(config.httpHost)}:${config.httpPort}`,
    domain: firstDomain(config),
    retryDelays: overrides.retryDelays,
  });
  deliverer.start();
  opened.listeners.push(deliverer);
}

async function startMetrics(parts: Parts): Promise<RunningApp['metrics']> {
  const { config, overrides, metrics, gauges, log, opened } = parts;
  addGauges(metrics.registry, gauges);
  if (config.metricsPort === null) return null;
  const { createMetricsServer } = await import('./monitoring/metrics-server.ts');
  const server = createMetricsServer(
    { host: config.metricsHost, port: config.metricsPort },
    { registry: metrics.registry, log },
  );
  try {
    const { port } = await listening('metrics', config, server.start());
    opened.listeners.push(server);
    return { url: `http://${bracketed(config.metricsHost)}:${port}/metrics` };
  } catch (error) {
    if (!overrides.mayLackMetrics) throw error;
    log.info({ err: error }, 'The metrics are not served on a port of their own');
    return null;
  }
}

/** The collection takes 0.1 s: the first requests of a test run, right after the start, must not wait for it. */
const SETTLE_MS = 2_000;

function giveBackMemoryLater({ closers }: Opened): void {
  const stopped = new AbortController();
  closers.push(async () => stopped.abort());
  void systemClock.sleep(SETTLE_MS, stopped.signal).then(() => {
    if (!stopped.signal.aborted) giveBackMemory();
  });
}

/** Stops the listeners together, then closes the rest. Failures are logged, so that each part is closed. */
async function closeAll({ listeners, closers }: Opened, log: Logger): Promise<void> {
  const close = async (part: () => Promise<void>): Promise<void> => {
    try {
      await part();
    } catch (err) {
      log.error({ err }, 'a part did not stop cleanly');
    }
  };
  await Promise.all(listeners.splice(0).map((server) => close(() => server.stop(DRAIN_MS))));
  for (let closer = closers.pop(); closer; closer = closers.pop()) await close(closer);
}

/** Constructs the whole system: the parts that all roles share, then each role of the configuration. */
export function createApp(config: Config, overrides: Overrides = {}): App {
  const clock = overrides.clock ?? systemClock;
  const log = overrides.log ?? createLog(config.logLevel);
  const opened: Opened = { closers: [], listeners: [] };
  let smtpServer: SmtpServer | undefined;
  const stop = () => closeAll(opened, log);

  const start = async (onFirstKey?: (key: string) => void): Promise<RunningApp> => {
    const shared = await openShared({ config, overrides, clock, log, opened }, onFirstKey);
    const parts: Parts = { ...shared, receiver: openReceiver(shared) };
    const has = (role: Config['roles'][number]) => config.roles.includes(role);
    if (has('worker')) startSweeper(parts);
    const smtp = has('smtp') ? await startSmtp(parts) : null;
    smtpServer = smtp?.server;
    const codes = createSignInCodes();
    const http = has('http') ? await startHttp(parts, smtp?.smtp ?? null, codes) : null;
    if (has('worker')) await startDeliverer(parts, http);
    const metrics = await startMetrics(parts);
    giveBackMemoryLater(opened);
    const { firstStart } = parts;
    const makeSignInCode = () => codes.make(firstStart.account.id);
    return { http, smtp: smtp?.smtp ?? null, metrics, firstStart, makeSignInCode };
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
