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

export async function measureDisk(path: string): Promise<DiskFigures> {
  const { blocks, bavail, bsize } = await statfs(path);
  // SQLite creates the write-ahead log with the first write, and removes it at the last close.
  const sizes = [path, `${path}-wal`].map((file) =>
    stat(file)
      .then(({ size }) => size)
      .catch(() => 0),
  );
  const [main = 0, log = 0] = await Promise.all(sizes);
  return { databaseBytes: main + log, freeBytes: bavail * bsize, totalBytes: blocks * bsize };
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

export async function warnOfClock(deps: Deps & { log: Logger }): Promise<void> {
  const { aheadMs, errorMs } = await compareClocks(deps);
  if (Math.abs(aheadMs) - errorMs <= WARN_ABOVE_MS) return;
  const seconds = (Math.abs(aheadMs) / 1_000).toFixed(1);
  deps.log.warn(
    { aheadMs: Math.round(aheadMs) },
    `The clock of this machine is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} that of the database. Synchronize both, for example by NTP: each node ends inboxes and makes attempts of webhooks by its own clock.`,
  );
}

export interface GaugeSources {
  clock: Clock;
  store: Pick<Store, 'upkeep' | 'ping' | 'pendingWrites'>;
  /** Undefined if the database may be on another machine. */
  measureDisk: (() => Promise<DiskFigures>) | undefined;
  scheduleNow: () => number;
  smtpBytes?: () => number;
  parserJobs: () => number;
  senderChecks: () => number;
  heldRequests?: () => number;
  httpConnections?: () => number;
  droppedLogLines: (() => number) | undefined;
}

async function measure({ clock, store, measureDisk }: GaugeSources) {
  const orNothing = <T>(value: Promise<T> | undefined) => value?.catch(() => undefined);
  const [figures, disk, clocks, isUp] = await Promise.all([
    orNothing(store.upkeep.measure(clock.now())),
    orNothing(measureDisk?.()),
    orNothing(compareClocks({ store, clock })),
    store.ping().then(
      () => true,
      () => false,
    ),
  ]);
  return { ...figures, ...disk, ...clocks, isUp };
}

type Measured = Awaited<ReturnType<typeof measure>>;
type Read = (from: Measured & GaugeSources) => number | undefined;

const GAUGES: Readonly<Record<string, readonly [help: string, read: Read]>> = {
  mayfly_smtp_bytes_in_flight: [
    'Bytes of messages that are being received or stored.',
    ({ smtpBytes }) => smtpBytes?.(),
  ],
  mayfly_parser_jobs: [
    'Messages and attachments that wait for a parser or are being parsed.',
    ({ parserJobs }) => parserJobs(),
  ],
  mayfly_sender_checks: ['Messages whose sender is being checked.', ({ senderChecks }) => senderChecks()],
  mayfly_store_writes_pending: [
    'Writes that the database has not completed. Mails that are stored together are one write.',
    ({ store }) => store.pendingWrites(),
  ],
  mayfly_http_connections_open: [
    'Connections to the API that are open.',
    ({ httpConnections }) => httpConnections?.(),
  ],
  mayfly_http_requests_held: [
    'Waits and event streams that are held open.',
    ({ heldRequests }) => heldRequests?.(),
  ],
  mayfly_inboxes_live: ['Inboxes that have not expired.', ({ liveInboxes }) => liveInboxes],
  mayfly_webhook_deliveries_pending: [
    'Webhook deliveries that wait for an attempt or are being attempted.',
    ({ pendingDeliveries }) => pendingDeliveries,
  ],
  mayfly_webhook_overdue_seconds: [
    'How long the delivery that is due first has been due; 0 when none is.',
    ({ firstDueAt, scheduleNow: now }) =>
      firstDueAt === undefined ? undefined : Math.max(0, now() - (firstDueAt ?? now())) / 1_000,
  ],
  mayfly_disk_free_bytes: ['Free space where the database is.', ({ freeBytes }) => freeBytes],
  mayfly_disk_size_bytes: ['Size of that file system.', ({ totalBytes }) => totalBytes],
  mayfly_database_size_bytes: [
    'Size of the database and its write-ahead log.',
    ({ databaseBytes }) => databaseBytes,
  ],
  mayfly_clock_ahead_seconds: [
    'How far the clock of this machine is ahead of that of the database; negative when it is behind.',
    ({ aheadMs }) => (aheadMs === undefined ? undefined : aheadMs / 1_000),
  ],
  mayfly_database_up: ['Whether the database can be written to: 1 or 0.', ({ isUp }) => (isUp ? 1 : 0)],
};

/** Figures are at most this old. Counting the rows of a million inboxes takes less than 0.1 s. */
const MAX_AGE_MS = 1_000;

export function addGauges(registry: Registry, sources: GaugeSources): void {
  let measured: Promise<Measured> | undefined;
  let until = 0;
  for (const [name, [help, read]] of Object.entries(GAUGES))
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        const now = sources.clock.monotonic();
        if (!measured || now >= until) {
          until = now + MAX_AGE_MS;
          measured = measure(sources);
        }
        const value = read({ ...sources, ...(await measured) });
        if (value === undefined) this.remove();
        else this.set(value);
      },
    });
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
      this.inc(sources.droppedLogLines?.() ?? 0);
    },
  });
}
