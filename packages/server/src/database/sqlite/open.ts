import { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { messageOf, toError } from '../../errors.ts';
import { YOUNG_HEAP_MB } from '../../memory.ts';
import { operationAt, type ReadSources, type Store, storeOf } from '../../store.ts';
import { unavailable } from '../failures.ts';
import { isReading, type Operation, runOn, type Traits } from '../sql.ts';
import { databaseHere, databaseThread } from '../thread.ts';
import { isEmptied, openReader, prepareFolder, readingEngine } from './connection.ts';
import { isBusy, toUnavailable } from './errors.ts';
import { openForWriting, type ThreadOptions } from './writer.ts';

export type StartThread = (options: ThreadOptions) => Worker;

export const startThread: StartThread = (workerData) =>
  new Worker(new URL('./thread.ts', import.meta.url), {
    workerData,
    name: `sqlite ${workerData.role}`,
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_HEAP_MB },
  });

/** How long writes wait for locks of other processes, such as the command line or a backup. */
const WRITER_BUSY_TIMEOUT_MS = 3000;
/** Short, because waiting blocks the main thread. Readers wait only while the database is recovered or closed. */
const READER_BUSY_TIMEOUT_MS = 10;
const SEARCHER_BUSY_TIMEOUT_MS = 1000;

export interface SqliteOptions {
  path: string;
  /** Whether this is the only server on the database (the default). False for the command line. */
  exclusive?: boolean;
  busyTimeoutMs?: number;
  /** Limit in pages of 4 KiB; default: none. */
  maxPages?: number;
  /** False if commits need not be synced, because the data may be lost when the process ends. */
  isDurable?: boolean | undefined;
  onCrash?: (error: Error) => void;
  onDamage?: (error: Error) => void;
  read?: ReadSources;
  /** Called if a server has used this path before, but the database file is missing or empty. */
  onEmptied?: () => void;
  startThread?: StartThread;
}

const WAYS_OUT: Readonly<Record<string, string>> = {
  'file is not a database':
    'Set MAYFLY_DATA_DIR to another folder, or replace the file by a backup with "mayfly restore".',
  'database disk image is malformed':
    'See with "mayfly check" what is damaged, and replace it by a backup with "mayfly restore".',
  'database or disk is full': 'Free space on the disk, or set MAYFLY_DATA_DIR to a folder on another one.',
};

/** Locks a separate file, which rejects a second server, but not the command line. Close the result to unlock. */
export function lockForServer(path: string): DatabaseSync {
  const lock = new DatabaseSync(`${path}.lock`);
  try {
    lock.exec('begin exclusive');
    return lock;
  } catch (error) {
    lock.close();
    if (!isBusy(error)) throw error;
    throw new Error(`Another Mayfly server uses ${path}. Stop it, or set MAYFLY_DATA_DIR to another folder.`);
  }
}

/** All reads of one turn of the event loop share a snapshot, because locking costs more than a read. */
async function createReader(path: string) {
  const connection = openReader({ path, busyTimeoutMs: READER_BUSY_TIMEOUT_MS });
  const kit = readingEngine(connection);
  await runOn(operationAt('accounts.findFirst'), [], kit);
  const begin = connection.prepare('begin');
  // Not `commit`, which fails after a read of a damaged page.
  const rollback = connection.prepare('rollback');
  const endSnapshot = (): void => {
    if (connection.isOpen && connection.isTransaction) rollback.run();
  };
  return {
    async call(operation: Operation<never, unknown>, args: readonly unknown[]): Promise<unknown> {
      try {
        if (!connection.isTransaction) {
          begin.run();
          setImmediate(endSnapshot);
        }
        return await runOn(operation, args, kit);
      } catch (error) {
        throw toUnavailable(error) ?? error;
      }
    },
    endSnapshot,
    close() {
      endSnapshot();
      return kit.close();
    },
  };
}

/** @returns `store`, which may be used once `opened` has resolved. `opened` rejects with an Error that gives advice */
export function startSqlite(options: SqliteOptions): { store: Store; opened: Promise<void> } {
  const { path, exclusive = true, busyTimeoutMs = WRITER_BUSY_TIMEOUT_MS, maxPages, isDurable } = options;
  const { onCrash = () => undefined, startThread: start = startThread } = options;
  const writing = { role: 'writer' as const, path, exclusive, busyTimeoutMs, maxPages, isDurable };
  // Without syncs, writes hardly block this thread. A separate thread would double the startup time.
  const writer =
    isDurable === false
      ? databaseHere(() => openForWriting(writing, (error) => onCrash(toError(error))))
      : databaseThread(() => start(writing), onCrash);
  const searcher = databaseThread(
    () => start({ role: 'search', path, busyTimeoutMs: SEARCHER_BUSY_TIMEOUT_MS }),
    onCrash,
  );
  let lock: DatabaseSync | undefined;
  /** Undefined before the database is open, and after it was closed. */
  let reader: Awaited<ReturnType<typeof createReader>> | undefined;
  let pendingWrites = 0;
  const generations = { all: 0, inboxes: 0 };

  async function open(): Promise<void> {
    if (exclusive && isEmptied(path)) options.onEmptied?.();
    prepareFolder(path);
    try {
      if (exclusive) lock = lockForServer(path);
      await writer.open();
      reader = await createReader(path);
    } catch (error) {
      await release();
      const message = messageOf(error);
      const reason = message in WAYS_OUT ? `${message}. ${WAYS_OUT[message]}` : message;
      throw new Error(`The database ${path} cannot be opened: ${reason}`, { cause: error });
    }
  }

  async function release(): Promise<void> {
    const closing = [reader?.close(), searcher.close()];
    reader = undefined;
    // Close the writer last: the last connection removes the WAL, which read-only connections cannot do.
    const closed = Promise.all(closing).finally(() => writer.close());
    await closed.finally(() => lock?.isOpen && lock.close());
  }

  async function write(name: string, args: readonly unknown[], { keepsInboxes }: Traits): Promise<unknown> {
    pendingWrites += 1;
    try {
      return await writer.call(name, args);
    } finally {
      pendingWrites -= 1;
      generations.all += 1;
      if (!keepsInboxes) generations.inboxes += 1;
      // Reads that start after this must see the write, so end the snapshot that was taken before.
      reader?.endSnapshot();
    }
  }

  const opened = open();
  const store = storeOf(
    async (name, operation, args) => {
      if (!isReading(operation.kind)) return write(name, args, operation.traits);
      if (!reader) throw unavailable('closed');
      return operation.kind === 'search' ? searcher.call(name, args) : reader.call(operation, args);
    },
    {
      generation: (of) => generations[of ?? 'all'],
      pendingWrites: () => pendingWrites,
      close: () => opened.catch(() => undefined).then(release),
    },
    options.read,
    options.onDamage,
  );
  return { store, opened };
}

export async function openSqlite(options: SqliteOptions): Promise<Store> {
  const { store, opened } = startSqlite(options);
  await opened;
  return store;
}
