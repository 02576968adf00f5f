import { stat, statfs } from 'node:fs/promises';
import type { Registry } from 'prom-client';
import type { Clock } from '../clock.ts';
import type { Logger } from '../log.ts';
import type { Store } from '../store.ts';
import { VERSION } from '../version.ts';
import { Counter, Gauge } from './metrics.ts';

export interface DiskFigures {
  /** Size of the database with its write-ahead log. */
  databaseBytes: number;
  /** Available to this user on the file system of the database. */
  freeBytes: number;
  totalBytes: number;
}

const sizeOf = async (path: string): Promise<number> => {
  try {
    return (await stat(path)).size;
  } catch {
    // SQLite creates the log with the first write, and removes it at the last close.
    return 0;
  }
};

/** @param path the database file @throws Error of the file system */
export async function measureDisk(path: string): Promise<DiskFigures> {
  const { blocks, bavail, bsize } = await statfs(path);
  const databaseBytes = (await sizeOf(path)) + (await sizeOf(`${path}-wal`));
  return { databaseBytes, freeBytes: bavail * bsize, totalBytes: blocks * bsize };
}

/** Larger differences cause a warning. Clocks synchronized by NTP differ by milliseconds. */
const WARN_ABOVE_MS = 1_000;

interface Deps {
  store: Pick<Store, 'upkeep'>;
  clock: Clock;
}

/** @returns how far this machine's clock is ahead of the database's, and the maximum error of that value */
async function compareClocks({ store, clock }: Deps): Promise<{ aheadMs: number; errorMs: number }> {
  const asked = clock.now();
  const theirs = (await store.upkeep.time()) ?? asked;
  const answered = clock.now();
  return { aheadMs: (asked + answered) / 2 - theirs, errorMs: Math.abs(answered - asked) / 2 };
}

/** Warns when the clocks of this machine and the database differ by more than a second. */
export async function warnOfClock(deps: Deps & { log: Logger }): Promise<void> {
  const { aheadMs, errorMs } = await compareClocks(deps);
  if (Math.abs(aheadMs) - errorMs <= WARN_ABOVE_MS) return;
  const seconds = (Math.abs(aheadMs) / 1_000).toFixed(1);
  deps.log.warn(
    { aheadMs: Math.round(aheadMs) },
    `The clock of this machine is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} that of the database. Synchronize both, for example by NTP: each node ends inboxes and makes attempts of webhooks by its own clock.`,
  );
}

/** Values that gauges read for each request of the metrics; undefined for parts that do not run. */
export interface GaugeSources {
  clock: Clock;
  store: Pick<Store, 'upkeep' | 'ping'>;
  measureDisk(): Promise<DiskFigures>;
  /** Bytes of messages that are being received or stored. */
  smtpBytes?: () => number;
  parserJobs: () => number;
  senderChecks?: () => number;
  /** The time of webhook schedules; default: the clock. */
  scheduleNow?: () => number;
  writes: () => number;
  heldRequests?: () => number;
  droppedLogLines?: (() => number) | undefined;
  httpConnections?: () => number;
}

/** Gauges are at most this old. Counting the rows of a million inboxes takes less than 0.1 s, so one count a second is cheap. */
const MAX_AGE_MS = 1_000;

/** Caches a value; concurrent callers share one read. */
function cached<T>(clock: Clock, read: () => Promise<T>): () => Promise<T> {
  let value: Promise<T> | undefined;
  let until = 0;
  return () => {
    const now = clock.monotonic();
    if (value && now < until) return value;
    until = now + MAX_AGE_MS;
    value = read();
    return value;
  };
}

type Read = () => number | null | Promise<number | null>;
type AddGauge = (name: string, help: string, read: Read) => void;

export function addGauges(registry: Registry, sources: GaugeSources): void {
  const gauge: AddGauge = (name, help, read) => {
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        // A value that cannot be read is omitted; the other metrics are still served.
        const value = await Promise.resolve()
          .then(read)
          .catch(() => null);
        if (value === null) this.remove();
        else this.set(value);
      },
    });
  };
  addConstants(registry, sources);
  addQueues(gauge, sources);
  addFigures(gauge, sources);
  addDisk(gauge, sources);
}

function addConstants(registry: Registry, { droppedLogLines }: GaugeSources): void {
  new Gauge({
    name: 'mayfly_build_info',
    help: 'Always 1; the label is the version.',
    labelNames: ['version'],
    registers: [registry],
  }).set({ version: VERSION }, 1);
  new Counter({
    name: 'mayfly_log_lines_dropped_total',
    help: 'Log lines dropped because standard output did not take them: a full disk, or a reader that stopped.',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(droppedLogLines?.() ?? 0);
    },
  });
}

function addQueues(gauge: AddGauge, sources: GaugeSources): void {
  const count = (name: string, help: string, read: (() => number) | undefined): void => {
    if (read) gauge(name, help, read);
  };
  count(
    'mayfly_smtp_bytes_in_flight',
    'Bytes of messages that are being received or stored.',
    sources.smtpBytes,
  );
  count(
    'mayfly_parser_jobs',
    'Messages and attachments that wait for a parser or are being parsed.',
    sources.parserJobs,
  );
  count('mayfly_sender_checks', 'Messages whose sender is being checked.', sources.senderChecks);
  count(
    'mayfly_store_writes_pending',
    'Writes that the database has not completed. Mails that are stored together are one write.',
    sources.writes,
  );
  count('mayfly_http_connections_open', 'Connections to the API that are open.', sources.httpConnections);
  count('mayfly_http_requests_held', 'Waits and event streams that are held open.', sources.heldRequests);
}

type Figures = Awaited<ReturnType<Store['upkeep']['measure']>>;

function addFigures(gauge: AddGauge, sources: GaugeSources): void {
  const { clock, store } = sources;
  const figures = cached(clock, () => store.upkeep.measure(clock.now()));
  const figure = (name: string, help: string, of: (all: Figures) => number): void =>
    gauge(name, help, async () => of(await figures()));
  figure('mayfly_inboxes_live', 'Inboxes that have not expired.', (all) => all.liveInboxes);
  figure(
    'mayfly_webhook_deliveries_pending',
    'Webhook deliveries that wait for an attempt or are being attempted.',
    (all) => all.pendingDeliveries,
  );
  figure(
    'mayfly_webhook_overdue_seconds',
    'How long the delivery that is due first has been due; 0 when none is.',
    ({ firstDueAt }) => {
      const now = sources.scheduleNow?.() ?? clock.now();
      return Math.max(0, now - (firstDueAt ?? now)) / 1_000;
    },
  );
}

function addDisk(gauge: AddGauge, { clock, store, measureDisk }: GaugeSources): void {
  const disk = cached(clock, () => measureDisk());
  gauge('mayfly_disk_free_bytes', 'Free space where the database is.', async () => (await disk()).freeBytes);
  gauge('mayfly_disk_size_bytes', 'Size of that file system.', async () => (await disk()).totalBytes);
  gauge(
    'mayfly_database_size_bytes',
    'Size of the database and its write-ahead log.',
    async () => (await disk()).databaseBytes,
  );
  const isUp = cached(clock, () =>
    store.ping().then(
      () => 1,
      () => 0,
    ),
  );
  const ahead = cached(clock, async () => (await compareClocks({ store, clock })).aheadMs / 1_000);
  gauge(
    'mayfly_clock_ahead_seconds',
    'How far the clock of this machine is ahead of that of the database; negative when it is behind.',
    ahead,
  );
  gauge('mayfly_database_up', 'Whether the database can be written to: 1 or 0.', isUp);
}
