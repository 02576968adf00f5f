import { statfsSync, statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { unavailable } from '../../database/failures.ts';
import { type MethodPath, mayUseReserve } from '../methods.ts';
import { mailsOf } from '../thread/protocol.ts';
import type { Connection } from './connection.ts';
import { isFull, toUnavailable } from './errors.ts';

/**
 * The reserve: a tenth of the disk, within these limits, that new data may not fill. A deletion first writes
 * to the write-ahead log, and copying the log into the database must not fail for lack of space, because the
 * log could then never be emptied. The largest step of a deletion writes about 2 MB; a large message that is
 * written to pages which a deletion has freed passes through the log as well.
 */
const RESERVE_SHARE = 0.1;
const MIN_RESERVE_BYTES = 8 * 1024 * 1024;
const MAX_RESERVE_BYTES = 128 * 1024 * 1024;
/** Above this much free space nothing else is checked: the log and the growth by it are far smaller. */
const AMPLE_BYTES = 1024 * 1024 * 1024;
/** Share of the reserve that messages which fit into free pages must leave for deletions. */
const DELETIONS_SHARE = 0.25;
/** Rows and index pages that a small write, or a message besides its own bytes, may touch. */
const SMALL_WRITE_BYTES = 64 * 1024;
/** How long emptying the log waits for readers: ours take milliseconds, those of other processes may take hours. */
const READERS_TIMEOUT_MS = 100;

/** Methods that may use the reserve: they free space, overwrite existing rows, or are needed to delete. */
const MAY_USE_RESERVE: ReadonlySet<MethodPath> = new Set<MethodPath>([
  'accounts.createFirst',
  'accounts.delete',
  'accounts.setPlan',
  'deliveries.record',
  'deliveries.releaseAll',
  'domains.remove',
  'inboxes.delete',
  'inboxes.deleteByLabels',
  'inboxes.endReplay',
  'inboxes.setExpiry',
  // Called at each start for the key in MAYFLY_API_KEY. An account has few keys.
  'keys.create',
  'keys.revoke',
  'keys.used',
  'upkeep.sweep',
  'usage.lease',
  'usage.report',
  'webhooks.delete',
  'webhooks.disable',
  'webhooks.update',
]);

/** The most bytes that a call adds; 0 for a method that may use the reserve. */
function bytesAdded(path: MethodPath, args: readonly unknown[]): number {
  if (MAY_USE_RESERVE.has(path) || mayUseReserve(path)) return 0;
  const mails = mailsOf({ path, args: [...args] });
  if (mails.length === 0) return SMALL_WRITE_BYTES;
  return mails.reduce(
    (sum, { raw, summary, content }) =>
      sum + raw.byteLength + summary.byteLength + content.byteLength + SMALL_WRITE_BYTES,
    0,
  );
}

/** Free space, bytes. */
interface DiskSpace {
  /** The size of the reserve. */
  reserve: number;
  /** Free bytes once the log is copied into the database. */
  free: number;
}

/** No limit of ours; if the disk is full all the same, SQLite reports it. */
const AMPLE: DiskSpace = { reserve: 0, free: Number.POSITIVE_INFINITY };

/** Keeps a part of the disk free, so that deleting works when the disk is full. */
export interface DiskReserve {
  /** Empties the log into the database if less than the reserve is free; called before each transaction. */
  beforeTransaction(): void;
  /** Empties the log into the database; called between transactions when the disk is full. */
  emptyLog(): void;
  /**
   * Runs a call of the store unless it would use the reserve.
   * @param betweenTransactions runs a function while no transaction is open
   * @throws AppError `unavailable` if the call adds data and there is no space for it
   */
  admit<T>(
    call: { path: MethodPath; args: readonly unknown[] },
    run: () => Promise<T>,
    betweenTransactions: (work: () => void) => Promise<void>,
  ): Promise<T>;
}

/** @param database the writer connection, opened with the other argument */
export function createDiskReserve(database: DatabaseSync, { path, busyTimeoutMs }: Connection): DiskReserve {
  const reader = (pragma: string): (() => number) => {
    const statement = database.prepare(`pragma ${pragma}`);
    return () => Number(Object.values(statement.get() ?? {})[0]);
  };
  const pageBytes = reader('page_size')();
  const pages = reader('page_count');
  const freePages = reader('freelist_count');
  /** Free bytes when the log could not be emptied for lack of space; with no more, trying again is useless. */
  let freeWhenFailed = Number.NEGATIVE_INFINITY;
  /** Bytes that the running calls may add. */
  let admitted = 0;

  function measure(): DiskSpace {
    try {
      const { blocks, bavail, bsize } = statfsSync(path);
      const available = bavail * bsize;
      // Some file systems report no size.
      if (available > AMPLE_BYTES || blocks === 0) return AMPLE;
      const growth = Math.max(0, pages() * pageBytes - statSync(path).size);
      const share = Math.min(blocks * bsize * RESERVE_SHARE, MAX_RESERVE_BYTES);
      return { reserve: Math.max(MIN_RESERVE_BYTES, share), free: available - growth };
    } catch (error) {
      if (!(error instanceof Error && 'syscall' in error)) throw error;
      return AMPLE;
    }
  }

  function emptyLog(): void {
    database.exec(`pragma busy_timeout = ${READERS_TIMEOUT_MS}`);
    try {
      // A reader that prevents the truncation is not an error.
      database.exec('pragma wal_checkpoint(truncate)');
      freeWhenFailed = Number.NEGATIVE_INFINITY;
    } catch (error) {
      if (!isFull(error)) throw toUnavailable(error) ?? error;
      freeWhenFailed = measure().free;
    } finally {
      database.exec(`pragma busy_timeout = ${busyTimeoutMs}`);
    }
  }

  /** Empties the log if there is not enough space for this many more bytes. */
  function makeSpace(bytes: number): void {
    const { reserve, free } = measure();
    if (free < reserve + bytes && free > freeWhenFailed) emptyLog();
  }

  /** New data is written to the log, then to the database: to its free pages, and beyond those the file grows. */
  function hasSpace(): boolean {
    const { reserve, free } = measure();
    const growth = admitted - freePages() * pageBytes;
    return free - admitted >= (growth > 0 ? reserve + growth : reserve * DELETIONS_SHARE);
  }

  return {
    beforeTransaction: () => makeSpace(0),
    emptyLog,
    async admit({ path: method, args }, run, betweenTransactions) {
      const bytes = bytesAdded(method, args);
      admitted += bytes;
      try {
        if (bytes > 0 && !hasSpace()) {
          await betweenTransactions(() => makeSpace(2 * admitted));
          if (!hasSpace()) throw unavailable('full');
        }
        return await run();
      } finally {
        admitted -= bytes;
      }
    },
  };
}
