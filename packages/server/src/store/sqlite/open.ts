import { DatabaseSync } from 'node:sqlite';
import { unavailable } from '../../database/failures.ts';
import { messageOf } from '../../errors.ts';
import type { Store } from '../contract/index.ts';
import { createStore } from '../create-store.ts';
import { METHODS, type MethodKind, type MethodPath, methodsOf, storeOf } from '../methods.ts';
import { openThread, openWhenCalled, type ThreadClient } from '../thread/client.ts';
import { openReader } from './connection.ts';
import { isEmptied, prepareFolder } from './data-folder.ts';
import { readingEngine } from './engine.ts';
import { isBusy, toUnavailable } from './errors.ts';
import { type StartThread, startThread } from './thread/start.ts';

/** How long the writer waits for the lock of another process (the command line, a backup). */
const WRITER_BUSY_TIMEOUT_MS = 3000;
/** Readers find a lock only while the database is recovered or closed; the main thread must not wait for it. */
const READER_BUSY_TIMEOUT_MS = 10;
/** The same for searches, which block no other call. */
const SEARCHER_BUSY_TIMEOUT_MS = 1000;

export interface SqliteOptions {
  /** The database file; its directory is created if it does not exist. */
  path: string;
  /**
   * Whether this is the only server on the database; the default is true. The command line sets false, to
   * work on the database of a running server.
   */
  exclusive?: boolean;
  /** How long a write waits for another process's lock, milliseconds. */
  busyTimeoutMs?: number;
  /** The largest size of the database, in pages of 4 KiB; the default is no limit. */
  maxPages?: number;
  /** Called when a write begins (1) and when it is answered (-1). */
  onWriting?: (change: 1 | -1) => void;
  /** Called when the writer or search thread died; its next call starts it again. */
  onCrash?: (error: Error) => void;
  /** Called with the first error of each kind of damage. */
  onDamage?: (error: Error) => void;
  /** Called where the database is new though a server has run on it before. */
  onEmptied?: () => void;
  /** How the threads are started; set by tests. */
  startThread?: StartThread;
}

/** What to do about the errors of SQLite that an operator meets; they have no full stop. */
const WAYS_OUT: Readonly<Record<string, string>> = {
  'file is not a database':
    'Set MAYFLY_DATA_DIR to another folder, or replace the file by a backup with "mayfly restore".',
  'database disk image is malformed':
    'See with "mayfly check" what is damaged, and replace it by a backup with "mayfly restore".',
  'database or disk is full': 'Free space on the disk, or set MAYFLY_DATA_DIR to a folder on another one.',
};

function withWayOut(message: string): string {
  const wayOut = WAYS_OUT[message];
  return wayOut === undefined ? message : `${message}. ${wayOut}`;
}

/**
 * Locks a database for one server, by a lock on a separate empty file, so that the command line can still
 * open the database. The kernel releases the lock when the process ends, however it ends.
 * @returns the lock; closing it releases it
 * @throws Error if another server holds the lock
 */
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

/**
 * A read snapshot that all reads of one turn of the event loop share: taking and releasing SQLite's locks
 * for each read would cost more than the read.
 */
function createReadSnapshot(connection: DatabaseSync): { begin(): void; end(): void } {
  const begin = connection.prepare('begin');
  // A commit fails after a read that met a damaged page.
  const rollback = connection.prepare('rollback');
  const end = (): void => {
    if (connection.isOpen && connection.isTransaction) rollback.run();
  };
  return {
    begin() {
      if (connection.isTransaction) return;
      begin.run();
      setImmediate(end);
    },
    end,
  };
}

/** The connection for short reads on the calling thread. */
async function createReader(path: string): Promise<ThreadClient & { endSnapshot(): void }> {
  const connection = openReader({ path, busyTimeoutMs: READER_BUSY_TIMEOUT_MS });
  const snapshot = createReadSnapshot(connection);
  const store = createStore(readingEngine(connection));
  const methods = methodsOf(store);
  // Fails now if the database cannot be read.
  await store.accounts.findFirst();
  return {
    async call(method, args) {
      try {
        snapshot.begin();
        return await methods[method](...args);
      } catch (error) {
        throw toUnavailable(error) ?? error;
      }
    },
    endSnapshot: snapshot.end,
    close() {
      snapshot.end();
      return store.close();
    },
  };
}

async function openConnections(options: SqliteOptions): Promise<Store> {
  const { path, exclusive = true, busyTimeoutMs = WRITER_BUSY_TIMEOUT_MS, maxPages } = options;
  const { onCrash = () => undefined, startThread: start = startThread } = options;
  const writer = await openThread(
    () => start({ role: 'writer', path, exclusive, busyTimeoutMs, maxPages }),
    onCrash,
  );
  try {
    const reader = await createReader(path);
    const searcher = openWhenCalled(
      () => start({ role: 'search', path, busyTimeoutMs: SEARCHER_BUSY_TIMEOUT_MS }),
      onCrash,
    );
    let closed = false;
    const generations = { all: 0, inboxes: 0 };

    async function write(kind: MethodKind, method: MethodPath, args: unknown[]): Promise<unknown> {
      options.onWriting?.(1);
      try {
        return await writer.call(method, args);
      } finally {
        options.onWriting?.(-1);
        generations.all += 1;
        if (kind === 'write') generations.inboxes += 1;
        // Every read that starts after the answer to a write sees what it changed.
        reader.endSnapshot();
      }
    }

    return storeOf(
      (method, args) => {
        const kind = METHODS[method];
        if (kind === 'write' || kind === 'add') return write(kind, method, args);
        if (closed) return Promise.reject(unavailable('closed'));
        return (kind === 'search' ? searcher : reader).call(method, args);
      },
      {
        generation: (of) => generations[of ?? 'all'],
        close: async () => {
          closed = true;
          // The writer last: the last connection to close removes the log, which a reader cannot do.
          await Promise.all([reader.close(), searcher.close()]).finally(() => writer.close());
        },
      },
      options.onDamage,
    );
  } catch (error) {
    await writer.close();
    throw error;
  }
}

/**
 * Opens the store on SQLite. Writes run on the writer thread, searches on the search thread, and short reads
 * on the calling thread over a read-only connection.
 * @throws Error that says what to do if the directory cannot be used, another server runs on it, or this
 *   SQLite or file system cannot be used
 */
export async function openSqlite(options: SqliteOptions): Promise<Store> {
  const { path, exclusive = true } = options;
  if (exclusive && isEmptied(path)) options.onEmptied?.();
  prepareFolder(path);
  let lock: DatabaseSync | undefined;
  try {
    lock = exclusive ? lockForServer(path) : undefined;
    const store = await openConnections(options);
    return { ...store, close: () => store.close().finally(() => lock?.isOpen && lock.close()) };
  } catch (error) {
    lock?.close();
    throw new Error(`The database ${path} cannot be opened: ${withWayOut(messageOf(error))}`, {
      cause: error,
    });
  }
}
