import { ensureFirstAccount } from './accounts/keys.ts';
import { createPlans } from './accounts/plans.ts';
import { type Clock, repeat, systemClock } from './clock.ts';
import {
  type Config,
  databasePath,
  explainListening,
  hasDevKey,
  type ListenerName,
} from './config/config.ts';
import { createSignInCodes } from './console/sign-in-codes.ts';
import { startSqlite } from './database/sqlite/open.ts';
import { createEventBus, type EventBus } from './events.ts';
import { divideByLiveNodes, RateLimit } from './http/access/admission.ts';
import { newSessionId, randomFraction } from './ids.ts';
import { ByteBudget, IN_FLIGHT_BYTES, TRACE_HEADROOM_BYTES } from './inbound/incoming-mail.ts';
import { Receiver } from './inbound/receiver.ts';
import { findCaptureTarget } from './inbound/smtp-credentials.ts';
import { ensureSink } from './inboxes/new-inbox.ts';
import { createLog, type Logger } from './log.ts';
import { addGauges, measureDisk, warnOfClock } from './operations/gauges.ts';
import { createMetrics, type Metrics } from './operations/metrics.ts';
import { Dispatcher } from './outgoing/dispatcher.ts';
import { createRelay } from './outgoing/relay.ts';
import { Parsing } from './reading/parsing.ts';
import { Readings } from './reading/readings.ts';
import { Authenticator } from './reading/sender-checks/authenticator.ts';
import { createReplays } from './recordings/replay.ts';
import { sweepUntil } from './retention/sweep.ts';
import type { Certificate, KeyPair } from './smtp/tls.ts';
import type { ReadSources } from './store.ts';
import { UsageMeter } from './usage/usage-meter.ts';
import { VERSION } from './version.ts';
import { createWaitLog } from './waits/wait-log.ts';
import { Deliverer } from './webhooks/deliverer.ts';
import { createNewWebhooks } from './webhooks/new-webhook.ts';
import { createResolve, type Resolve, systemResolve } from './webhooks/outbound/resolve.ts';
import { createSender } from './webhooks/outbound/send.ts';
import { createScheduleClock } from './webhooks/schedule-clock.ts';

export interface Overrides {
  clock?: Clock;
  log?: Logger;
  droppedLogLines?: () => number;
  resolve?: Resolve;
  retryDelays?: readonly number[];
  /** Parse workers that several apps of this process share. `createApp` does not close them. */
  parsing?: Parsing;
  isDurable?: boolean;
  /** If true, the server starts without the metrics port if the port cannot be opened, but logs this. */
  mayLackMetrics?: boolean;
}

export type RunningApp = Awaited<ReturnType<typeof startParts>>;
type OnFirstKey = (key: string) => void;

/** The app opens no file and no port before `start`. */
export function createApp(config: Config, overrides: Overrides = {}) {
  const clock = overrides.clock ?? systemClock;
  const log = overrides.log ?? createLog(config.logLevel);
  const opened = createOpened(log);
  const certificates: Certificate[] = [];

  return {
    /** @param onFirstKey gets the generated API key; the store has only its hash @throws Error with advice */
    async start(onFirstKey?: OnFirstKey): Promise<RunningApp> {
      try {
        return await startParts({ config, overrides, clock, log, opened, certificates }, onFirstKey);
      } catch (error) {
        await opened.closeAll();
        throw error;
      }
    },
    /** Reads the certificate again for new connections. After an error, logs it and keeps the old one. */
    reloadCertificate(read: () => KeyPair | null): void {
      try {
        const pair = read();
        if (!pair || certificates.length === 0)
          log.info('No SMTP certificate is configured; there is nothing to reload');
        else
          for (const certificate of certificates)
            log.info({ certificate: certificate.set(pair) }, 'The SMTP certificate was reloaded');
      } catch (err) {
        log.error({ err }, 'The new SMTP certificate cannot be used; the old one stays in use');
      }
    },
    /** Waits up to 8 s for work in progress, and closes everything. May be called twice. */
    stop: () => opened.closeAll(),
  };
}

interface Given {
  config: Config;
  overrides: Overrides;
  clock: Clock;
  log: Logger;
  opened: Opened;
  certificates: Certificate[];
}
type Parts = Awaited<ReturnType<typeof createParts>>;
type SmtpServer = Awaited<ReturnType<typeof createSmtp>>;
type HttpServer = Awaited<ReturnType<typeof createHttp>>;

/** @returns the started parts; null for each part that the settings switch off */
async function startParts(given: Given, onFirstKey?: OnFirstKey) {
  const { roles, pop3Port } = given.config;
  const parts = await createParts(given);
  // The database opens in a thread. Meanwhile, this thread loads modules and adds routes.
  const [firstStart, { smtp, http }] = await Promise.all([
    prepareData(parts, onFirstKey),
    createServers(parts),
  ]);
  const smtpEndpoint = smtp && (await listening('smtp', given.config, smtp.start()));
  const httpEndpoint = http && (await startHttp(parts, http));
  const pop3 = http && pop3Port !== null ? await startPop3(parts, http) : null;
  if (roles.includes('worker')) await startWorker(parts);
  const metrics = await startMetrics(parts, smtp, http);
  parts.parsing.warmUp();
  return {
    http: httpEndpoint,
    smtp: smtpEndpoint,
    pop3,
    metrics,
    firstStart,
    /** Returns a code that signs in to the console with the first account's newest key of scope `full`. */
    makeSignInCode: () => parts.signInCodes.make(firstStart.account.id),
  };
}

/** Creates the parts. None of them may use the database before `databaseOpened` has resolved. */
async function createParts(given: Given) {
  const { config, overrides, clock, log, opened } = given;
  const domain = config.domains[0] ?? 'localhost';
  const hostname = config.smtpName ?? domain;
  const events = createEventBus();
  const plans = createPlans(config.plans);
  // The store and `readings`, which parses mails, need each other. No mail is parsed before both exist.
  let readings: Readings | undefined;
  const database = await startDatabase(given, events, async (sources) => readings?.ensure(sources));
  const { store } = database;
  opened.onClose(() => store.close());
  const usage = new UsageMeter({ store, clock, log });
  const metrics = createMetrics();
  const parsing = overrides.parsing ?? new Parsing();
  if (!overrides.parsing) opened.onClose(() => parsing.close());
  const authenticating = config.mailAuth === 'on' ? openSenderChecks(given, metrics) : null;
  const isShared = config.databaseUrl !== null;
  readings = new Readings({ store, parsing, authenticating, events, clock, log, isShared });
  opened.onClose(async () => readings?.close());
  const base = { ...given, domain, hostname, store, events, plans, readings };
  const receiver = new Receiver({
    ...base,
    domains: config.domains,
    sink: config.sink === 'on',
    onRefusalsLost: (err) => log.error({ err }, 'Refusals could not be stored'),
  });
  opened.onClose(() => receiver.settled());
  // An imported message may exceed the plan's limit by the Received line that it got when it was received.
  const budget = new ByteBudget({
    capacity: IN_FLIGHT_BYTES + TRACE_HEADROOM_BYTES,
    largest: plans.largestMessageBytes + TRACE_HEADROOM_BYTES,
    clock,
  });
  return {
    ...base,
    databaseOpened: database.opened,
    usage,
    metrics,
    parsing,
    authenticating,
    receiver,
    budget,
    guard: webhookGuard(given),
    signInCodes: createSignInCodes(),
    schedule: createScheduleClock(clock, () => store.upkeep.time()),
  };
}

/** Waits for the database. Creates the first account and the sink (for mail without an inbox) if missing. */
async function prepareData(parts: Parts, onFirstKey?: OnFirstKey) {
  const { config, store, usage, clock, opened } = parts;
  await parts.databaseOpened;
  const firstStart = await ensureFirstAccount(store, config.apiKey, clock.now());
  if (firstStart.key !== null && config.apiKey === null) onFirstKey?.(firstStart.key);
  if (config.sink === 'on') await ensureSink(store, parts.domain, clock.now());
  usage.start();
  opened.onClose(() => usage.stop());
  await warnOfClock(parts);
  void parts.readings.start();
  return firstStart;
}

function webhookGuard({ config, overrides }: Given) {
  const allow = config.webhookAllow;
  // The system's resolver also knows private names. It is used only if webhooks may call private networks.
  const resolve =
    overrides.resolve ??
    createResolve({
      ...(config.dnsServers && { servers: config.dnsServers }),
      ...(allow.length > 0 && { fallback: systemResolve }),
    });
  // With open sign-up, error messages must not reveal addresses of the operator's network.
  return { allow, resolve, namesAddresses: config.signupPlan === null };
}

/** @returns the store, which may be called once `opened` has resolved */
async function startDatabase({ config, overrides, clock, log }: Given, events: EventBus, read: ReadSources) {
  const onCrash = (err: Error) =>
    log.error({ err }, 'A thread of the database ended unexpectedly; its next call starts it again');
  if (config.databaseUrl === null) {
    const path = databasePath(config.dataDir);
    const onDamage = (err: Error) =>
      log.error(
        { err, path },
        'The database is damaged, as "err" says. "mayfly check" finds out what is affected',
      );
    const onEmptied = () =>
      log.warn(
        { path },
        'The database file is empty or missing, though a server has run on it before: this start makes a new one, without mail, accounts and keys. If that was not intended, stop the server and restore a backup with "mayfly restore"',
      );
    const { isDurable } = overrides;
    return startSqlite({ path, read, onCrash, onDamage, onEmptied, isDurable });
  }
  const { openPostgres } = await import('./database/postgres/open.ts');
  const store = await openPostgres({
    url: config.databaseUrl,
    read,
    onCrash,
    onDamage: (err) => log.error({ err }, 'The database is damaged. "pg_amcheck" finds out what is affected'),
    onError: (err) => log.warn({ err }, 'A connection to the database failed; the next call opens a new one'),
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
  return { store, opened: Promise.resolve() };
}

function openSenderChecks({ config, clock, log, opened }: Given, metrics: Metrics): Authenticator {
  const authenticator = new Authenticator({
    clock,
    dnsServers: config.dnsServers,
    onThreadLost: (err) => log.warn({ err }, 'The thread that checks senders was terminated'),
    onChecked: metrics.authentication,
  });
  opened.onClose(() => authenticator.close());
  return authenticator;
}

async function createServers(parts: Parts) {
  const { roles } = parts.config;
  const smtp = roles.includes('smtp') ? await createSmtp(parts) : null;
  return { smtp, http: roles.includes('http') ? await createHttp(parts, smtp) : null };
}

async function createSmtp(parts: Parts) {
  const { config, metrics, opened, certificates } = parts;
  const { createSmtpServer } = await import('./smtp/server.ts');
  const server = createSmtpServer(config, {
    ...parts,
    maxMessageBytes: parts.plans.largestMessageBytes,
    findCaptureTarget: (credentials) => findCaptureTarget(parts, credentials),
    metrics: metrics.smtp,
  });
  opened.addListener(server);
  certificates.push(server.certificate);
  return server;
}

/** Interval of the check that ends open waits and streams whose API key was revoked. */
const RECHECK_EVERY_MS = 500;

async function createHttp(parts: Parts, smtp: SmtpServer | null) {
  const { config, store, receiver, metrics, log, clock, opened } = parts;
  const { createHttpServer } = await import('./http/server.ts');
  const onLost = (err: unknown) => log.error({ err }, 'Ended waits could not be stored');
  const waitLog = createWaitLog(store.waits, clock, onLost);
  opened.onClose(() => waitLog.flushed());
  const replays = createReplays(parts);
  opened.onClose(() => replays.stop());
  const rate = new RateLimit(clock);
  const server = await createHttpServer(config, {
    ...parts,
    rate,
    waitLog,
    replays,
    newWebhooks: createNewWebhooks(parts),
    scheduleNow: parts.schedule.now,
    refusalsWritten: () => receiver.refusalsWritten(),
    smtp,
    // With PostgreSQL, other nodes may receive mail too, and this process does not know their SMTP clients.
    receivesAll: smtp !== null && config.databaseUrl === null,
    repliedAt: (messageId) => receiver.repliedAt(messageId),
    metrics: metrics.registry,
    hasDevKey: hasDevKey(config) || config.devKey === 'open',
  });
  opened.addListener(server);
  return { ...server, rate };
}

async function startHttp(parts: Parts, server: HttpServer) {
  const { config, clock, log, opened } = parts;
  if (config.databaseUrl !== null) opened.onClose(await divideByLiveNodes(server.rate, parts));
  const recheck = (): Promise<void> =>
    server.built.held
      .recheck()
      .catch((err) => log.warn({ err }, 'The keys of held requests could not be checked'));
  const endRechecks = repeat(clock, RECHECK_EVERY_MS, recheck);
  // Not awaited, because a database that does not answer would delay the stop.
  opened.onClose(async () => void endRechecks());
  const { port } = await listening('http', config, server.start());
  const url = config.publicUrl ?? urlOf(config.httpHost, port);
  return { url, consoleUrl: config.console === 'on' ? `${url}/` : null };
}

async function startPop3(parts: Parts, http: HttpServer) {
  const { config, opened, certificates } = parts;
  const { createPop3Server } = await import('./http/routes/pop3.ts');
  const server = createPop3Server(config, {
    ...parts,
    built: http.built,
    findInbox: (credentials) => findCaptureTarget(parts, credentials),
  });
  opened.addListener(server);
  const { port } = await listening('pop3', config, server.start());
  certificates.push(server.certificate);
  return { host: config.smtpHost, port };
}

async function startWorker(parts: Parts): Promise<void> {
  const { config, overrides, hostname, store, clock, log, opened } = parts;
  const sweeping = new AbortController();
  const swept = sweepUntil(sweeping.signal, { upkeep: store.upkeep, clock, log });
  opened.onClose(() => {
    sweeping.abort();
    return swept;
  });
  // Only one server uses the embedded store, so all leases in it were left by a process that has ended.
  if (config.databaseUrl === null)
    await Promise.all([store.deliveries.releaseAll(clock.now()), store.outgoing.releaseAll()]);
  const sender = createSender({ ...parts.guard, clock, userAgent: `Mayfly/${VERSION}` });
  const deps = { ...parts, sender, random: randomFraction, retryDelays: overrides.retryDelays };
  const deliverer = new Deliverer({
    ...deps,
    metrics: parts.metrics.webhooks,
    // Not the address of this node as a default: another node that retries must send the same bytes.
    publicUrl: config.publicUrl ?? '',
  });
  deliverer.start();
  const relay = config.replySmtp && createRelay(config.replySmtp, hostname);
  const dispatcher = new Dispatcher({ ...deps, relay });
  dispatcher.start();
  opened.addListener(deliverer);
  opened.addListener(dispatcher);
}

async function startMetrics(parts: Parts, smtp: SmtpServer | null, http: HttpServer | null) {
  const { config, overrides, log, opened } = parts;
  const { registry } = parts.metrics;
  addGauges(registry, {
    ...parts,
    scheduleNow: parts.schedule.now,
    measureDisk: config.databaseUrl === null ? () => measureDisk(databasePath(config.dataDir)) : undefined,
    droppedLogLines: overrides.droppedLogLines,
    live: {
      parserJobs: () => parts.parsing.jobs,
      senderChecks: () => parts.authenticating?.checks ?? 0,
      writes: () => parts.store.pendingWrites(),
      ...(smtp && { smtpBytes: () => parts.budget.held }),
      ...(http && {
        heldRequests: () => http.built.held.count,
        connections: () => http.built.listener.connections(),
      }),
    },
  });
  if (config.metricsPort === null) return null;
  const { createMetricsServer } = await import('./operations/metrics-server.ts');
  const server = createMetricsServer(
    { host: config.metricsHost, port: config.metricsPort },
    { registry, log },
  );
  try {
    const { port } = await listening('metrics', config, server.start());
    opened.addListener(server);
    return { url: `${urlOf(config.metricsHost, port)}/metrics` };
  } catch (error) {
    if (!overrides.mayLackMetrics) throw error;
    log.info({ err: error }, 'The metrics are not served on a port of their own');
    return null;
  }
}

const urlOf = (host: string, port: number): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`;

const listening = <T>(name: ListenerName, config: Config, started: Promise<T>): Promise<T> =>
  started.catch((error) => {
    throw explainListening(error, name, config);
  });

/** Time to finish work in progress: less than the 10 s within which the process ends after SIGTERM. */
const DRAIN_MS = 8_000;

type Opened = ReturnType<typeof createOpened>;

/** Each part is added as soon as it is open, so that a failed start closes all of them. */
function createOpened(log: Logger) {
  const closers: (() => Promise<void>)[] = [];
  const listeners: { stop(graceMs: number): Promise<void> }[] = [];
  const close = (part: () => Promise<void>): Promise<void> =>
    part().catch((err) => log.error({ err }, 'A part did not stop cleanly'));
  return {
    /** The part that was added last is closed first, after all listeners have stopped. */
    onClose: (closer: () => Promise<void>) => void closers.push(closer),
    /** Parts that accept or start work, such as SMTP and webhooks. They stop first, concurrently. */
    addListener: (listener: (typeof listeners)[number]) => void listeners.push(listener),
    async closeAll(): Promise<void> {
      await Promise.all(listeners.splice(0).map((listener) => close(() => listener.stop(DRAIN_MS))));
      for (let closer = closers.pop(); closer; closer = closers.pop()) await close(closer);
    },
  };
}
