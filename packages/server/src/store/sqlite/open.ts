import { DatabaseSync } from 'node:sqlite';
import type { Store } from '../contract/index.ts';
import { invokeOn, METHODS, type MethodKind, type MethodPath, storeOf } from '../method-dispatch.ts';
import { createSqlStore } from '../sql/sql-store.ts';
import { isBusy, kyselyOn, openReader, sqliteDialect, unavailable } from './connection.ts';
import { prepareFolder } from './data-folder.ts';
import {
  openWriterThread,
  type StartThread,
  startSearchThread,
  startThread,
  type Writer,
} from './writer-client.ts';

/** The writer waits so long for another process (the operator's command line, a backup) to finish. */
const WRITER_BUSY_TIMEOUT_MS = 3000;
/** A reader meets a lock only while the database is recovered or closed; the main thread must not wait. */
const READER_BUSY_TIMEOUT_MS = 10;
/** The same for searches, which hold nobody up. */
const SEARCHER_BUSY_TIMEOUT_MS = 1000;

export interface SqliteOptions {
  /** The database file; its directory is made if need be. */
  path: string;
  /**
   * True for the operator's command line, which works on the database of a running server; a server
   * leaves it out and is then the only one.
   */
  beside?: boolean;
  /** How long a write waits for another process's lock, milliseconds. */
  busyTimeoutMs?: number;
  /** The largest size of the database, in pages of 4 KiB. Without it the disk is the limit. */
  maxPages?: number;
  /** Called when a write begins (1) and when it is answered (-1). */
  onWriting?: (change: 1 | -1) => void;
  /** Called when the thread that writes, or the one that searches, died; its next call starts it again. */
  onCrash?: (error: Error) => void;
  /** How the writing thread is started; given by tests. */
  startThread?: StartThread;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Takes the server's place at a database: a lock on an empty file beside it, held by the kernel and
 * so gone with the process, however it ends. The database itself stays open to others.
 * @returns the lock; closing it gives the place up
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
 * Reads of one turn of the event loop share one look at the database: taking and freeing SQLite's
 * locks for each would cost more than the reads themselves.
 */
function createLook(connection: DatabaseSync): { begin(): void; end(): void } {
  const begin = connection.prepare('begin');
  const commit = connection.prepare('commit');
  let open = false;
  const end = (): void => {
    if (!open) return;
    open = false;
    commit.run();
  };
  return {
    begin() {
      if (open) return;
      begin.run();
      open = true;
      setImmediate(end);
    },
    end,
  };
}

/** The thread that searches. It starts with the first search: it takes memory, and many servers never search. */
function createSearcher(path: string, onCrash: (error: Error) => void) {
  let opening: Promise<Writer> | undefined;
  const open = (): Promise<Writer> => {
    const options = { path, busyTimeoutMs: SEARCHER_BUSY_TIMEOUT_MS, maxPages: undefined };
    return openWriterThread(options, startSearchThread, onCrash).catch((error) => {
      opening = undefined;
      throw unavailable('not to be opened', error);
    });
  };
  return {
    async call(method: MethodPath, args: unknown[]): Promise<unknown> {
      opening ??= open();
      return (await opening).call(method, args);
    },
    async close(): Promise<void> {
      const writer = await opening?.catch(() => undefined);
      await writer?.close();
    },
  };
}

async function openBoth(options: SqliteOptions): Promise<Store> {
  const { path, busyTimeoutMs = WRITER_BUSY_TIMEOUT_MS, maxPages, onCrash = () => undefined } = options;
  const writer = await openWriterThread(
    { path, busyTimeoutMs, maxPages },
    options.startThread ?? startThread,
    onCrash,
  );
  try {
    const connection = openReader({ path, busyTimeoutMs: READER_BUSY_TIMEOUT_MS });
    const look = createLook(connection);
    const reader = createSqlStore(kyselyOn(connection), sqliteDialect);
    // Proves that it reads; and Kysely closes only a connection that it has used.
    await reader.accounts.findFirst();
    const searcher = createSearcher(path, onCrash);
    let closed = false;
    let generation = 0;
    let ofInboxes = 0;
    // What a write has changed is seen by every read that begins after its answer.
    const written = (kind: MethodKind): void => {
      generation += 1;
      if (kind === 'write') ofInboxes += 1;
      look.end();
    };
    return storeOf(
      (method, args) => {
        const kind = METHODS[method];
        if (kind === 'write' || kind === 'add') {
          options.onWriting?.(1);
          return writer.call(method, args).finally(() => {
            options.onWriting?.(-1);
            written(kind);
          });
        }
        if (closed) return Promise.reject(unavailable('closed'));
        if (kind === 'search') return searcher.call(method, args);
        look.begin();
        return invokeOn(reader, method, args);
      },
      {
        generation: (of) => (of === undefined ? generation : ofInboxes),
        close: async () => {
          closed = true;
          look.end();
          // The writer last: the last to close the database tidies up its log, and a reader cannot.
          await Promise.all([reader.close(), searcher.close()]).finally(() => writer.close());
        },
      },
    );
  } catch (error) {
    await writer.close();
    throw error;
  }
}

/**
 * Opens the store on SQLite. Writes run on a thread of their own; what only reads, and little, runs
 * here on a second connection that cannot write.
 * @throws Error, with what to do about it, when the directory cannot be used, another server runs on
 *   it, or SQLite is not fit for it
 */
export async function openSqlite(options: SqliteOptions): Promise<Store> {
  const { path, beside = false } = options;
  prepareFolder(path);
  let lock: DatabaseSync | undefined;
  try {
    lock = beside ? undefined : lockForServer(path);
    const store = await openBoth(options);
    return { ...store, close: () => store.close().finally(() => lock?.isOpen && lock.close()) };
  } catch (error) {
    lock?.close();
    throw new Error(`The database ${path} cannot be opened: ${messageOf(error)}`, { cause: error });
  }
}
