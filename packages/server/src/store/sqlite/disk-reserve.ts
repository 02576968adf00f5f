import { statfsSync, statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { AppError } from '../../errors.ts';
import type { NewMail, Store } from '../contract/index.ts';
import { invokeOn, type MethodPath, storeOf } from '../method-dispatch.ts';
import { type Connection, isFull, sqliteDialect, unavailable } from './connection.ts';

/**
 * The last room: a tenth of the disk, within these limits, that the database may not grow into. Deleting
 * writes to the log first, and copying the log into the database must never fail for lack of space, or
 * the log could not be emptied any more. The largest step of a deletion writes about 2 MB; a large mail
 * that goes into pages that deleting has freed passes through the log too.
 */
const LAST_ROOM_SHARE = 0.1;
const MIN_LAST_ROOM_BYTES = 8 * 1024 * 1024;
const MAX_LAST_ROOM_BYTES = 128 * 1024 * 1024;
/** With so much on the disk no more is asked: the log, and what the database will grow by it, are far smaller. */
const AMPLE_BYTES = 1024 * 1024 * 1024;
/** What of the last room is left to deletions by mail that takes only pages that are free. */
const DELETIONS_SHARE = 0.25;
/** Rows and index pages that a small write, or a mail beside its own bytes, may touch. */
const SMALL_WRITE_BYTES = 64 * 1024;
/** So long the log's emptying waits for readers: ours are done in a moment, others may take hours. */
const READERS_MS = 100;

/** What may use the last room: it frees some or writes over what is there, and what deletes may need it. */
const MAY_USE_LAST_ROOM: ReadonlySet<MethodPath> = new Set<MethodPath>([
  'accounts.createFirst',
  'accounts.delete',
  'accounts.setPlan',
  'deliveries.record',
  'deliveries.releaseAll',
  'domains.remove',
  'inboxes.delete',
  'inboxes.deleteByLabels',
  'inboxes.setExpiry',
  // Each start makes sure of the key in MAYFLY_API_KEY. An account has few keys.
  'keys.create',
  'keys.revoke',
  'keys.used',
  'messages.delete',
  'messages.deleteAll',
  'upkeep.sweep',
  'usage.lease',
  'usage.report',
  'webhooks.delete',
  'webhooks.disable',
  'webhooks.update',
]);

/** The bytes that a call adds at most; 0 for what may use the last room. */
function bytesAdded(path: MethodPath, args: readonly unknown[]): number {
  if (MAY_USE_LAST_ROOM.has(path)) return 0;
  if (path !== 'messages.addBatch') return SMALL_WRITE_BYTES;
  const mails = args[0] as readonly NewMail[];
  return mails.reduce(
    (sum, { raw, summary, content }) =>
      sum + raw.byteLength + summary.byteLength + content.byteLength + SMALL_WRITE_BYTES,
    0,
  );
}

/** A disk in bytes. */
interface Disk {
  /** The last room. */
  last: number;
  /** What will be left once the log is copied into the database. */
  left: number;
}

/** SQLite itself meets the end of a disk that was thought to be so. */
const AMPLE: Disk = { last: 0, left: Number.POSITIVE_INFINITY };

/** Looks after the room on the disk that a database stands on. */
export interface Room {
  /**
   * Copies the log into the database and gives its space back, where less than the last room is left.
   * To be called before each transaction.
   */
  prepare(): void;
  /**
   * The store, which leaves the last room to what frees some and then answers `unavailable` to the rest.
   * What meets the end of the disk all the same is repeated once, with the log emptied.
   * @param alone runs something while no transaction is open
   */
  guard(store: Store, alone: (work: () => void) => Promise<void>): Store;
}

/** @param database the connection that writes, opened as said */
export function createRoom(database: DatabaseSync, { path, busyTimeoutMs }: Connection): Room {
  const reading = (pragma: string): (() => number) => {
    const statement = database.prepare(`pragma ${pragma}`);
    return () => Number(Object.values(statement.get() ?? {})[0]);
  };
  const pageBytes = reading('page_size')();
  const pages = reading('page_count');
  const freePages = reading('freelist_count');
  /** What was left when the log could not be emptied for lack of space; with no more there is no use in trying. */
  let hopeless = Number.NEGATIVE_INFINITY;
  /** Bytes for calls that are under way. */
  let promised = 0;

  function look(): Disk {
    try {
      const { blocks, bavail, bsize } = statfsSync(path);
      const free = bavail * bsize;
      // Some file systems do not tell.
      if (free > AMPLE_BYTES || blocks === 0) return AMPLE;
      const growth = Math.max(0, pages() * pageBytes - statSync(path).size);
      const share = Math.min(blocks * bsize * LAST_ROOM_SHARE, MAX_LAST_ROOM_BYTES);
      return { last: Math.max(MIN_LAST_ROOM_BYTES, share), left: free - growth };
    } catch (error) {
      if (!(error instanceof Error && 'syscall' in error)) throw error;
      return AMPLE;
    }
  }

  function emptyLog(): void {
    database.exec(`pragma busy_timeout = ${READERS_MS}`);
    try {
      // Readers that keep it from ending are no error.
      database.exec('pragma wal_checkpoint(truncate)');
      hopeless = Number.NEGATIVE_INFINITY;
    } catch (error) {
      if (!isFull(error)) throw sqliteDialect.toUnavailable(error) ?? error;
      hopeless = look().left;
    } finally {
      database.exec(`pragma busy_timeout = ${busyTimeoutMs}`);
    }
  }

  function makeRoom(bytes: number): void {
    const { last, left } = look();
    if (left < last + bytes && left > hopeless) emptyLog();
  }

  /** All that is new goes into the log, and then into the database: into free pages, else the file grows. */
  function hasRoom(): boolean {
    const { last, left } = look();
    const growth = promised - freePages() * pageBytes;
    return left - promised >= (growth > 0 ? last + growth : last * DELETIONS_SHARE);
  }

  return {
    prepare: () => makeRoom(0),
    guard: (store, alone) =>
      storeOf(async (method, args) => {
        const bytes = bytesAdded(method, args);
        promised += bytes;
        try {
          if (bytes > 0 && !hasRoom()) {
            await alone(() => makeRoom(2 * promised));
            if (!hasRoom()) throw unavailable('full');
          }
          return await invokeOn(store, method, args).catch(async (error) => {
            if (!(error instanceof AppError && isFull(error.cause))) throw error;
            await alone(emptyLog);
            return invokeOn(store, method, args);
          });
        } finally {
          promised -= bytes;
        }
      }, store),
  };
}
