import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import {
  Kysely,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDriver,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type SqliteStatement,
  sql,
} from 'kysely';
import { LRUCache } from 'lru-cache';
import { AppError } from '../../errors.ts';
import type { Db, Dialect } from '../sql/dialect.ts';
import type { Tables } from '../sql/tables.ts';

/** The first release without the WAL-reset bug, which could corrupt a database. */
const OLDEST_SQLITE = '3.51.3';

/** `PRAGMA synchronous` FULL: each commit is on stable storage before it returns. */
const FULL = 2;

/**
 * Pages in the write-ahead log before a commit copies them into the database: 16 MB instead of SQLite's
 * 4 MB. A page that is written often is then copied once, which halves the checkpoint work per message.
 */
const CHECKPOINT_PAGES = 4000;
/** A log that grew larger (by one huge message) is truncated to this size after a checkpoint. */
const MAX_IDLE_LOG_BYTES = 64 * 1024 * 1024;
/** The writer's page cache, KiB: the upper pages of every index and the newest rows. */
const WRITER_CACHE_KIB = 16 * 1024;
/** More than the store has queries; queries with labels differ by the number of labels. */
const MAX_STATEMENTS = 200;

/** @throws Error if this SQLite can corrupt a database */
export function requireSqlite(version: string): void {
  const order = version.localeCompare(OLDEST_SQLITE, 'en', { numeric: true });
  if (order < 0) {
    throw new Error(
      `This Node.js contains SQLite ${version}, which can corrupt a database. Use a newer Node.js, with SQLite ${OLDEST_SQLITE} or newer.`,
    );
  }
}

/** @throws Error if a commit on this connection may return before it is on stable storage */
export function requireDurable(database: DatabaseSync): void {
  const synchronous = database.prepare('pragma synchronous').get()?.synchronous;
  if (synchronous !== FULL) {
    throw new Error(
      `The synchronous setting of SQLite is ${synchronous} instead of ${FULL} (FULL), so mail could be lost.`,
    );
  }
}

/** How a connection is opened. */
export interface Connection {
  /** Path of the database file. */
  path: string;
  /** How long a statement waits for another connection's lock, milliseconds. */
  busyTimeoutMs: number;
}

/**
 * Opens the writer connection.
 * @param maxPages the largest size of the file, in pages of 4 KiB
 * @throws Error if commits would not be durable, or the file cannot be opened
 */
export function openWriter({ path, busyTimeoutMs }: Connection, maxPages?: number): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: busyTimeoutMs, enableForeignKeyConstraints: true });
  try {
    requireSqlite(String(database.prepare('select sqlite_version() as version').get()?.version));
    const mode = database.prepare('pragma journal_mode = wal').get()?.journal_mode;
    if (mode !== 'wal') {
      throw new Error(
        `SQLite cannot use a write-ahead log at ${path} (journal mode ${mode}). Use a local file system.`,
      );
    }
    database.exec('pragma synchronous = full');
    requireDurable(database);
    database.exec(`pragma wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    database.exec(`pragma journal_size_limit = ${MAX_IDLE_LOG_BYTES}`);
    database.exec(`pragma cache_size = -${WRITER_CACHE_KIB}`);
    if (maxPages !== undefined) database.exec(`pragma max_page_count = ${Math.trunc(maxPages)}`);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Opens a read-only connection; the writer must have opened the database before. */
export function openReader({ path, busyTimeoutMs }: Connection): DatabaseSync {
  return new DatabaseSync(path, { readOnly: true, timeout: busyTimeoutMs });
}

/** Adapts node:sqlite to Kysely's interface; compiles each statement once. */
function forKysely(database: DatabaseSync, beforeTransaction: () => void): SqliteDatabase {
  const statements = new LRUCache<string, SqliteStatement>({ max: MAX_STATEMENTS });
  const prepare = (sql: string): SqliteStatement => {
    const statement: StatementSync = database.prepare(sql);
    const values = (parameters: ReadonlyArray<unknown>) => parameters as SQLInputValue[];
    return {
      reader: statement.columns().length > 0,
      all: (parameters) => statement.all(...values(parameters)),
      run: (parameters) => statement.run(...values(parameters)),
      iterate: (parameters) => statement.iterate(...values(parameters)),
    };
  };
  // SQLite ends the transaction itself if the disk is full; a second rollback would hide that error.
  const rollback: SqliteStatement = {
    ...prepare('rollback'),
    run: () => {
      if (database.isTransaction) database.exec('rollback');
      return { changes: 0, lastInsertRowid: 0 };
    },
  };
  // A transaction that starts with a read cannot write after another process has written meanwhile.
  const beginning = prepare('begin immediate');
  const begin: SqliteStatement = {
    ...beginning,
    run(parameters) {
      beforeTransaction();
      return beginning.run(parameters);
    },
  };
  return {
    prepare(sql) {
      if (sql === 'begin') return begin;
      if (sql === 'rollback') return rollback;
      const known = statements.get(sql);
      if (known) return known;
      const statement = prepare(sql);
      statements.set(sql, statement);
      return statement;
    },
    close: () => database.close(),
  };
}

/** SQLite's schema changes are transactional; Kysely's own adapter does not use that. */
class TransactionalAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

/**
 * Kysely on an open connection; `destroy` closes it.
 * @param beforeTransaction called before each transaction
 */
export function kyselyOn(database: DatabaseSync, beforeTransaction = (): void => undefined): Db {
  return new Kysely<Tables>({
    dialect: {
      createAdapter: () => new TransactionalAdapter(),
      createDriver: () => new SqliteDriver({ database: forKysely(database, beforeTransaction) }),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  });
}

/** State of the storage by the primary result code of an SQLite error (sqlite.org/rescode.html). */
const STORAGE_ERRORS: Readonly<Record<number, string>> = {
  5: 'busy: another process holds it',
  6: 'busy: another process holds it',
  7: 'out of memory',
  8: 'read-only',
  10: 'failing: an input or output error',
  11: 'damaged',
  13: 'full',
  14: 'inaccessible',
  21: 'closed',
  26: 'damaged: not a database',
};
const BUSY = 5;
const IO_ERROR = 10;
const FULL_DISK = 13;
const UNIQUE = 2067;
const PRIMARY_KEY = 1555;

/** The extended result code of an SQLite error; undefined for any other error. */
function codeOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  if (error.code === 'ERR_SQLITE_ERROR' && 'errcode' in error) return Number(error.errcode);
  return undefined;
}

function primaryCodeOf(error: unknown): number {
  return (codeOf(error) ?? 0) & 0xff;
}

/** True if another connection held the lock for longer than the busy timeout. */
export function isBusy(error: unknown): boolean {
  return primaryCodeOf(error) === BUSY;
}

/** True if there was no space for a write; its transaction was rolled back. */
export function isFull(error: unknown): boolean {
  return primaryCodeOf(error) === FULL_DISK;
}

/** True if the connection must not be used any more: what a failed sync has written is unknown. */
export function isBroken(error: unknown): boolean {
  return primaryCodeOf(error) === IO_ERROR;
}

/** How soon a retry makes sense after a failure of the storage. */
const RETRY_AFTER_SECONDS = 5;

/** The error of a call that changed nothing; `state` completes "The storage is …". */
export function unavailable(state: string, cause?: unknown): AppError {
  const details = { retryAfterSeconds: RETRY_AFTER_SECONDS };
  return new AppError(
    'unavailable',
    `The storage is ${state}. Retry after ${RETRY_AFTER_SECONDS} seconds.`,
    details,
    { cause },
  );
}

/** The error of a write that may or may not be on stable storage. */
export function outcomeUnknown(cause?: unknown): AppError {
  const details = { retryAfterSeconds: RETRY_AFTER_SECONDS };
  return new AppError(
    'outcome_unknown',
    `The storage failed during the request, which may or may not have taken effect. Check the result, or retry after ${RETRY_AFTER_SECONDS} seconds.`,
    details,
    { cause },
  );
}

export const sqliteDialect: Dialect = {
  blob: 'blob',
  id: 'text',
  integer: 'integer',
  rowNumber: (column) => column.primaryKey(),
  keyed: (table) => table.modifyEnd(sql`without rowid`),
  lockRows: (query) => query,
  asText: (bytes) => sql`cast(${bytes} as text)`,
  isLike: (text, pattern) => sql`${text} like ${pattern}`,
  isTransient: (error) => isFull(error) || isBusy(error),
  isUniqueViolation: (error) => [UNIQUE, PRIMARY_KEY].includes(codeOf(error) ?? 0),
  toUnavailable(error) {
    const state = STORAGE_ERRORS[primaryCodeOf(error)];
    return state === undefined ? undefined : unavailable(state, error);
  },
};
