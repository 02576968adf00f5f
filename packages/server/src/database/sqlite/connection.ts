import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { LRUCache } from 'lru-cache';
import { unavailable } from '../failures.ts';
import type { Kit, Tx } from '../operations.ts';
import { compile, type Sql, type Value } from '../sql.ts';
import { isBroken, isBusy, isRemoved } from './errors.ts';
import type { Transactions } from './transactions.ts';

/** The first release without the WAL-reset bug, which could corrupt a database. */
const OLDEST_SQLITE = '3.51.3';

/** `PRAGMA synchronous` FULL: each commit is on stable storage before it returns. */
const FULL = 2;

/** 16 MB instead of SQLite's 4 MB: copying frequently written pages less often halves the checkpoint work. */
export const CHECKPOINT_PAGES = 4000;
/** A log that one huge message enlarged is truncated to this size. */
const MAX_IDLE_LOG_BYTES = 64 * 1024 * 1024;
/** For the upper pages of every index and the newest rows. */
const WRITER_CACHE_KIB = 16 * 1024;
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

export interface Connection {
  path: string;
  /** For the lock of another connection. */
  busyTimeoutMs: number;
}

/**
 * @param maxPages of 4 KiB. @param isDurable false for data that nobody needs after the end of this process
 * @throws Error if commits would not be durable, or the file cannot be opened
 */
export function openWriter(
  { path, busyTimeoutMs }: Connection,
  maxPages?: number,
  isDurable = true,
): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: busyTimeoutMs, enableForeignKeyConstraints: true });
  try {
    requireSqlite(String(database.prepare('select sqlite_version() as version').get()?.version));
    const mode = database.prepare('pragma journal_mode = wal').get()?.journal_mode;
    if (mode !== 'wal') {
      throw new Error(
        `SQLite cannot use a write-ahead log at ${path} (journal mode ${mode}). Use a local file system.`,
      );
    }
    database.exec(`pragma synchronous = ${isDurable ? 'full' : 'off'}`);
    if (isDurable) requireDurable(database);
    database.exec(`pragma wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    database.exec(`pragma journal_size_limit = ${MAX_IDLE_LOG_BYTES}`);
    database.exec(`pragma cache_size = -${WRITER_CACHE_KIB}`);
    // For the rollback data of savepoints, which would cost a disk write for each page.
    database.exec('pragma temp_store = memory');
    if (maxPages !== undefined) database.exec(`pragma max_page_count = ${Math.trunc(maxPages)}`);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** The writer must have opened the database before. */
export function openReader({ path, busyTimeoutMs }: Connection): DatabaseSync {
  return new DatabaseSync(path, { readOnly: true, timeout: busyTimeoutMs });
}

/** Cancels imports and replays of a server that has ended. Only for the one server of a database, before it writes. */
export function giveUpUnfinished(database: DatabaseSync): void {
  database.exec('update parked_sources set stage = null where stage is not null');
  database.exec('update inboxes set replay_until = 0, version = version + 1 where replay_until > 0');
}

/** More than the store has queries. */
const MAX_STATEMENTS = 500;

export class SqliteDb implements Tx {
  readonly engine = 'sqlite';
  readonly #database: DatabaseSync;
  readonly #statements = new LRUCache<string, StatementSync>({ max: MAX_STATEMENTS });

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  async all<Row extends object>(query: Sql): Promise<Row[]> {
    const { statement, values } = this.#prepare(query);
    return statement.all(...values) as Row[];
  }

  async first<Row extends object>(query: Sql): Promise<Row | undefined> {
    const { statement, values } = this.#prepare(query);
    return statement.get(...values) as Row | undefined;
  }

  async run(query: Sql): Promise<number> {
    const { statement, values } = this.#prepare(query);
    return Number(statement.run(...values).changes);
  }

  #prepare(query: Sql): { statement: StatementSync; values: Value[] } {
    const { text, values } = compile(query, 'sqlite');
    const known = this.#statements.get(text);
    const statement = known ?? this.#database.prepare(text);
    if (!known) this.#statements.set(text, statement);
    return { statement, values: values as Value[] };
  }
}

const mayDependOnContent = (error: unknown): boolean =>
  !isBusy(error) && !isBroken(error) && !isRemoved(error);

const closing = (database: DatabaseSync) => async (): Promise<void> => {
  if (database.isOpen) database.close();
};

export function writingEngine(database: DatabaseSync, transactions: Transactions): Kit {
  // There is one connection, so every query during a transaction is part of it.
  const tx = new SqliteDb(database);
  return {
    db: tx,
    transaction: (work, of) =>
      of === 'step' ? transactions.step(() => work(tx)) : transactions.run(() => work(tx), of === 'relaxed'),
    flight: (work) =>
      transactions.run(async () => {
        const { result, written } = await work(tx);
        await written;
        return result;
      }),
    mayDependOnContent,
    close: closing(database),
  };
}

const refuse = (): Promise<never> => Promise.reject(unavailable('read-only'));

export function readingEngine(database: DatabaseSync): Kit {
  const db = new SqliteDb(database);
  return { db, transaction: refuse, flight: refuse, mayDependOnContent, close: closing(database) };
}
