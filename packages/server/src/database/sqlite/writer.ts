import { statfsSync, statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { AppError } from '../../errors.ts';
import { operationAt } from '../../store.ts';
import { unavailable } from '../failures.ts';
import { migrate } from '../migrate.ts';
import { bytesIn, type Call, type Served } from '../thread.ts';
import {
  type Connection,
  giveUpUnfinished,
  openWriter,
  requireSameFile,
  writingEngine,
} from './connection.ts';
import { isFull, toUnavailable } from './errors.ts';
import { Transactions } from './transactions.ts';

export interface ThreadOptions {
  role: 'writer' | 'search';
  path: string;
  busyTimeoutMs: number;
  exclusive?: boolean;
  maxPages?: number | undefined;
  isDurable?: boolean | undefined;
}

/** Share of the disk that is reserved for deletions: each first writes up to 2 MB to the write-ahead log. */
const RESERVE_SHARE = 0.1;
const MIN_RESERVE_BYTES = 8 * 1024 * 1024;
const MAX_RESERVE_BYTES = 128 * 1024 * 1024;
/** If new messages fit into free pages of the database, only this share of the reserve must stay free. */
const DELETIONS_SHARE = 0.25;
/** If more space is free, the exact amount is not calculated. */
const AMPLE_BYTES = 1024 * 1024 * 1024;
const SMALL_WRITE_BYTES = 64 * 1024;
/** How long a truncation of the WAL waits for readers. Those of another process may take hours. */
const READERS_TIMEOUT_MS = 100;

/** Upper bound of the parsed content of a mail; see MAX_STORED_BYTES in mail/stored-content.ts. */
const MAX_INDEX_BYTES = 2 * 1024 * 1024;

/** Bytes that unparsed mails need when they are parsed. Kept free, so that these mails stay readable. */
const UNREAD_BYTES = `select coalesce(sum(min(s.size, ${MAX_INDEX_BYTES})), 0) as bytes
  from unread u join sources s on s.seq = u.source_seq`;

function bytesAdded({ path, args: [items, ...others] }: Call): number {
  if (operationAt(path).traits.mayUseReserve) return 0;
  const rows = Array.isArray(items) ? Math.max(1, items.length) : 1;
  return bytesIn([items, ...others]).reduce(
    (sum, { byteLength }) => sum + byteLength + Math.min(byteLength, MAX_INDEX_BYTES),
    rows * SMALL_WRITE_BYTES,
  );
}

function createDiskReserve(database: DatabaseSync, { path, busyTimeoutMs }: Connection) {
  const numberOf = (query: string): number => Number(Object.values(database.prepare(query).get() ?? {})[0]);
  const pageBytes = numberOf('pragma page_size');
  /** Free bytes of the disk when the WAL could not be truncated. A new attempt waits until more are free. */
  let freeWhenFailed = Number.NEGATIVE_INFINITY;
  let admitted = 0;

  /** The reserve, and the bytes that are free after a checkpoint; undefined if space is ample or unknown. */
  function space(): { reserve: number; free: number } | undefined {
    try {
      const { blocks, bavail, bsize } = statfsSync(path);
      const available = bavail * bsize;
      // Some file systems report no blocks.
      if (available > AMPLE_BYTES || blocks === 0) return undefined;
      const growth = Math.max(0, numberOf('pragma page_count') * pageBytes - statSync(path).size);
      const share = Math.min(blocks * bsize * RESERVE_SHARE, MAX_RESERVE_BYTES);
      return { reserve: Math.max(MIN_RESERVE_BYTES, share), free: available - growth };
    } catch (error) {
      if (!(error instanceof Error && 'syscall' in error)) throw error;
      return undefined;
    }
  }

  /** Copies the log into the database and truncates the log. Must be called between transactions. */
  function emptyLog(): void {
    database.exec(`pragma busy_timeout = ${READERS_TIMEOUT_MS}`);
    try {
      database.exec('pragma wal_checkpoint(truncate)');
      freeWhenFailed = Number.NEGATIVE_INFINITY;
    } catch (error) {
      if (!isFull(error)) throw toUnavailable(error) ?? error;
      freeWhenFailed = space()?.free ?? Number.POSITIVE_INFINITY;
    } finally {
      database.exec(`pragma busy_timeout = ${busyTimeoutMs}`);
    }
  }

  /** New data needs space twice: in the WAL, then in free pages. Without free pages, the database file grows. */
  function hasSpace(): boolean {
    const found = space();
    if (!found) return true;
    const needed = admitted + numberOf(UNREAD_BYTES);
    const growth = needed - numberOf('pragma freelist_count') * pageBytes;
    return found.free - needed >= (growth > 0 ? found.reserve + growth : found.reserve * DELETIONS_SHARE);
  }

  return {
    emptyLog,
    /** Reserves space for a call. @returns a function that ends this @throws AppError if space is missing */
    admit(call: Call): () => void {
      const bytes = bytesAdded(call);
      admitted += bytes;
      const end = () => {
        admitted -= bytes;
      };
      const found = space();
      if (found && found.free < found.reserve + 2 * admitted && found.free > freeWhenFailed) emptyLog();
      if (bytes === 0 || !found || hasSpace()) return end;
      end();
      throw unavailable('full');
    },
  };
}

/** @param onBroken called with the error after which the connection must not be used any more */
export async function openForWriting(
  { maxPages, exclusive, isDurable, ...connection }: ThreadOptions,
  onBroken: (error: unknown) => void,
): Promise<Served> {
  const database = openWriter(connection, maxPages, isDurable);
  const reserve = createDiskReserve(database, connection);
  const hooks = {
    afterCommit: requireSameFile(connection.path),
    makeSpace: reserve.emptyLog,
    onBroken,
  };
  const kit = writingEngine(database, new Transactions(database, hooks, isDurable));
  try {
    await kit.transaction((tx) => migrate(tx, 'sqlite'));
    if (exclusive) giveUpUnfinished(database);
    return { kit, toUnavailable, admit: reserve.admit };
  } catch (error) {
    await kit.close();
    // The original error, so that the failed start says what the operator can do about it.
    throw error instanceof AppError ? (error.cause ?? error) : error;
  }
}
