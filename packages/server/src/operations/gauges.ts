import { stat, statfs } from 'node:fs/promises';
import type { Registry } from 'prom-client';
import type { Clock } from '../clock.ts';
import type { Logger } from '../log.ts';
import type { Store } from '../store.ts';
import { VERSION } from '../version.ts';
import { Counter, Gauge } from './metrics.ts';

/** Returns the size of the database with its write-ahead log, and the free and total space of its file system. */
export async function measureDisk(path: string) {
  const { blocks, bavail, bsize } = await statfs(path);
  const sizeOf = async (file: string): Promise<number> => (await stat(file).catch(() => ({ size: 0 }))).size;
  const [main, log] = await Promise.all([sizeOf(path), sizeOf(`${path}-wal`)]);
  return { databaseBytes: main + log, freeBytes: bavail * bsize, totalBytes: blocks * bsize };
}

/** A larger difference means that a clock is not synchronized: with NTP, clocks differ by milliseconds. */
const WARN_ABOVE_MS = 1_000;

type Deps = Pick<GaugeSources, 'store' | 'clock'>;

/** @returns how far this machine's clock is ahead of the database's, and the maximum error of that value */
async function compareClocks({ store, clock }: Deps) {
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

/** Figures of this process. Those of a role that it does not have, such as SMTP, are missing. */
type Live = Partial<
  Record<
    'smtpBytes' | 'parserJobs' | 'senderChecks' | 'writes' | 'heldRequests' | 'connections',
    () => number
  >
>;

export interface GaugeSources {
  clock: Clock;
  store: Pick<Store, 'upkeep' | 'ping'>;
  /** Undefined if the database may be on another machine. */
  measureDisk: (() => ReturnType<typeof measureDisk>) | undefined;
  scheduleNow: () => number;
  live: Live;
  droppedLogLines: (() => number) | undefined;
}

async function measure({ clock, store, measureDisk, scheduleNow }: GaugeSources) {
  const orNothing = <T>(value: Promise<T> | undefined) => value?.catch(() => undefined);
  const [counts, disk, clocks, isUp] = await Promise.all([
    orNothing(store.upkeep.measure(clock.now())),
    orNothing(measureDisk?.()),
    orNothing(compareClocks({ store, clock })),
    store.ping().then(
      () => 1,
      () => 0,
    ),
  ]);
  const now = scheduleNow();
  const overdueSeconds = counts && Math.max(0, now - (counts.firstDueAt ?? now)) / 1_000;
  const { liveInboxes, pendingDeliveries } = counts ?? {};
  return {
    ...{ liveInboxes, pendingDeliveries, overdueSeconds, isUp, ...disk },
    aheadSeconds: clocks && clocks.aheadMs / 1_000,
  };
}

type Measured = Awaited<ReturnType<typeof measure>>;

// biome-ignore format: a table
const GAUGES: Readonly<Record<string, readonly [help: string, figure: keyof Live | keyof Measured]>> = {
  mayfly_smtp_bytes_in_flight: ['Bytes of messages that are being received or stored.', 'smtpBytes'],
  mayfly_parser_jobs: ['Messages and attachments that wait for a parser or are being parsed.', 'parserJobs'],
  mayfly_sender_checks: ['Messages whose sender is being checked.', 'senderChecks'],
  mayfly_store_writes_pending: ['Writes that the database has not completed. Mails that are stored together are one write.', 'writes'],
  mayfly_http_connections_open: ['Connections to the API that are open.', 'connections'],
  mayfly_http_requests_held: ['Waits and event streams that are held open.', 'heldRequests'],
  mayfly_inboxes_live: ['Inboxes that have not expired.', 'liveInboxes'],
  mayfly_webhook_deliveries_pending: ['Webhook deliveries that wait for an attempt or are being attempted.', 'pendingDeliveries'],
  mayfly_webhook_overdue_seconds: ['How long the delivery that is due first has been due; 0 when none is.', 'overdueSeconds'],
  mayfly_disk_free_bytes: ['Free space where the database is.', 'freeBytes'],
  mayfly_disk_size_bytes: ['Size of that file system.', 'totalBytes'],
  mayfly_database_size_bytes: ['Size of the database and its write-ahead log.', 'databaseBytes'],
  mayfly_clock_ahead_seconds: ['How far the clock of this machine is ahead of that of the database; negative when it is behind.', 'aheadSeconds'],
  mayfly_database_up: ['Whether the database can be written to: 1 or 0.', 'isUp'],
};

/** Maximum age of a figure. Measuring all again takes less than 0.1 s, even with a million inboxes. */
const MAX_AGE_MS = 1_000;

export function addGauges(registry: Registry, sources: GaugeSources): void {
  let measured: Promise<Measured> | undefined;
  let until = 0;
  const measuredNow = (): Promise<Measured> => {
    const now = sources.clock.monotonic();
    if (measured && now < until) return measured;
    until = now + MAX_AGE_MS;
    measured = measure(sources);
    return measured;
  };
  for (const [name, [help, figure]] of Object.entries(GAUGES))
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        const live = sources.live[figure as keyof Live];
        const value = live ? live() : (await measuredNow())[figure as keyof Measured];
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
