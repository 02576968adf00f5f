import { statfsSync, statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';
import { createStore, operationAt } from '../../store.ts';
import { unavailable } from '../failures.ts';
import { migrate } from '../migrate.ts';
import { bytesIn, type Call, type Served, serveThread } from '../thread.ts';
import {
  CHECKPOINT_PAGES,
  type Connection,
  giveUpUnfinished,
  openReader,
  openWriter,
  readingEngine,
  requireSameFile,
  Transactions,
  writingEngine,
} from './connection.ts';
import { isFull, toUnavailable } from './errors.ts';
import type { ThreadOptions } from './open.ts';

/**
 * A tenth of the disk, within limits, is reserved for deletions. They write to the write-ahead log first (up to 2 MB a
 * step), and a log that cannot be copied into the database for lack of space could never be emptied.
 */
const RESERVE_SHARE = 0.1;
const MIN_RESERVE_BYTES = 8 * 1024 * 1024;
const MAX_RESERVE_BYTES = 128 * 1024 * 1024;
/** With more free space, the exact space is not calculated. */
const AMPLE_BYTES = 1024 * 1024 * 1024;
/** Share of the reserve that must stay free for deletions when messages are stored in free pages. */
const DELETIONS_SHARE = 0.25;
const SMALL_WRITE_BYTES = 64 * 1024;
/** Timeout for readers: ours take milliseconds, those of other processes may take hours. */
const READERS_TIMEOUT_MS = 100;

/**
 * Upper bound of the parsed content that is stored for a mail besides its raw source; see MAX_STORED_BYTES in
 * mail/stored-content.ts.
 */
const MAX_INDEX_BYTES = 2 * 1024 * 1024;
const indexBytes = (size: number): number => Math.min(size, MAX_INDEX_BYTES);

/** Space reserved for the parsed content of unparsed mails, so that acknowledged mail stays readable on a full disk. */
const UNREAD_BYTES = `select coalesce(sum(min(s.size, ${MAX_INDEX_BYTES})), 0) as bytes
  from unread u join sources s on s.seq = u.source_seq`;

/** Upper bound of the bytes that a call adds; 0 for a method that may use the reserve. */
function bytesAdded(path: string, args: readonly unknown[]): number {
  const { mayUseReserve, isIndexed } = operationAt(path).traits;
  if (mayUseReserve) return 0;
  const bytes = bytesIn(args);
  const mails = bytes.length > 0 && Array.isArray(args[0]) ? args[0].length : 1;
  return bytes.reduce(
    (sum, { byteLength }) => sum + byteLength + (isIndexed ? indexBytes(byteLength) : 0),
    mails * SMALL_WRITE_BYTES,
  );
}

interface DiskSpace {
  reserve: number;
  /** Bytes that are free after the log is copied into the database. */
  free: number;
}

/** No limit; if the disk is full anyway, SQLite reports it. */
const AMPLE: DiskSpace = { reserve: 0, free: Number.POSITIVE_INFINITY };

/** Measures the space of the database and its file system. */
function createMeasure(database: DatabaseSync, path: string) {
  const reader = (pragma: string): (() => number) => {
    const statement = database.prepare(`pragma ${pragma}`);
    return () => Number(Object.values(statement.get() ?? {})[0]);
  };
  const pageBytes = reader('page_size')();
  const pages = reader('page_count');
  const freePages = reader('freelist_count');
  return {
    freeInFile: () => freePages() * pageBytes,
    space(): DiskSpace {
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
    },
  };
}

export function createDiskReserve(database: DatabaseSync, { path, busyTimeoutMs }: Connection) {
  const measure = createMeasure(database, path);
  /** Free bytes when emptying the log failed; without more space, it would fail again. */
  let freeWhenFailed = Number.NEGATIVE_INFINITY;
  let admitted = 0;

  /** Copies the log into the database and truncates it. Only between transactions. */
  function emptyLog(): void {
    database.exec(`pragma busy_timeout = ${READERS_TIMEOUT_MS}`);
    try {
      // A reader that prevents the truncation is not an error.
      database.exec('pragma wal_checkpoint(truncate)');
      freeWhenFailed = Number.NEGATIVE_INFINITY;
    } catch (error) {
      if (!isFull(error)) throw toUnavailable(error) ?? error;
      freeWhenFailed = measure.space().free;
    } finally {
      database.exec(`pragma busy_timeout = ${busyTimeoutMs}`);
    }
  }

  function makeSpace(bytes: number): void {
    const { reserve, free } = measure.space();
    if (free < reserve + bytes && free > freeWhenFailed) emptyLog();
  }

  /** New data is written to the log and then to free pages of the database; the rest enlarges the file. */
  function hasSpace(): boolean {
    const { reserve, free } = measure.space();
    if (free === Number.POSITIVE_INFINITY) return true;
    const needed = admitted + Number(database.prepare(UNREAD_BYTES).get()?.bytes);
    const growth = needed - measure.freeInFile();
    return free - needed >= (growth > 0 ? reserve + growth : reserve * DELETIONS_SHARE);
  }

  return {
    /** Empties the log if less than the reserve is free. */
    beforeTransaction: () => makeSpace(0),
    emptyLog,
    /** Runs a call of the store. @throws AppError `unavailable` if there is no space for the data that it adds */
    async admit<T>(
      { path, args }: { path: string; args: readonly unknown[] },
      run: () => Promise<T>,
      betweenTransactions: (work: () => void) => Promise<void>,
    ): Promise<T> {
      const bytes = bytesAdded(path, args);
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

/** Only the writer thread has a read-write connection, so that a slow disk does not block the main thread. */

/** Ends the thread by an uncaught error after the responses were sent; a new thread reopens the database. */
function endThread(error: unknown): void {
  setImmediate(() => {
    throw error;
  });
}

/** After the commit of a larger mail a long checkpoint would run, for which other calls would wait. */
const LARGE_BYTES = 4 * 1024 * 1024;

/** Runs the checkpoint of a large mail later, after the calls that waited for the commit. */
async function withoutCheckpoint<T>(
  database: DatabaseSync,
  transactions: Transactions,
  call: Call,
  run: () => Promise<T>,
): Promise<T> {
  if (bytesIn(call.args).every(({ byteLength }) => byteLength <= LARGE_BYTES)) return run();
  database.exec('pragma wal_autocheckpoint = 0');
  const checkpoint = async (): Promise<void> => {
    // First run calls that arrived meanwhile; messages are received between two turns.
    await nextTurn();
    await nextTurn();
    await transactions.between(() => {
      if (!database.isOpen) return;
      database.exec(`pragma wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
      database.exec('pragma wal_checkpoint(passive)');
    });
  };
  // A checkpoint that fails loses nothing; the next commit tries again and reports the error.
  return run().finally(() => void checkpoint().catch(() => undefined));
}

async function openForWriting(
  { maxPages, exclusive, isDurable, ...connection }: ThreadOptions,
  rejectSent: (error: unknown) => void,
): Promise<Served> {
  const database = openWriter(connection, maxPages, isDurable);
  const requireFile = requireSameFile(connection.path);
  const reserve = createDiskReserve(database, connection);
  const hooks = {
    beforeTransaction() {
      requireFile();
      reserve.beforeTransaction();
    },
    afterCommit: requireFile,
    makeSpace: reserve.emptyLog,
    // Rejects the calls that were sent while this thread waited for the lock of another process.
    onBusy: rejectSent,
    onBroken: endThread,
  };
  const transactions = new Transactions(database, hooks, isDurable);
  const engine = writingEngine(database, transactions);
  try {
    await engine.transaction((tx) => migrate(tx, 'sqlite'));
    if (exclusive) giveUpUnfinished(database);
    return {
      store: createStore(engine),
      toUnavailable,
      run: (call, method) =>
        withoutCheckpoint(database, transactions, call, () =>
          reserve.admit(call, method, (work) => transactions.between(work)),
        ),
    };
  } catch (error) {
    await engine.close();
    throw error;
  }
}

async function openForSearching(options: ThreadOptions): Promise<Served> {
  const store = createStore(readingEngine(openReader(options)));
  // Fail now if the database cannot be read.
  await store.accounts.findFirst();
  return { store, toUnavailable, run: (_, method) => method() };
}

const options: ThreadOptions = workerData;
void serveThread((rejectSent) =>
  options.role === 'writer' ? openForWriting(options, rejectSent) : openForSearching(options),
);
