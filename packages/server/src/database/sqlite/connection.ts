import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { LRUCache } from 'lru-cache';
import { codeOf, messageOf } from '../../errors.ts';
import { damaged, unavailable } from '../failures.ts';
import { compile, type Kit, type Sql, type Tx, type Value } from '../sql.ts';
import type { Transactions } from './transactions.ts';

const COMPANIONS = ['', '-wal', '-shm', '.lock'];
/** Only the owner may read: mail may contain secrets, and webhooks store signing secrets. */
export const PRIVATE_FILE = 0o600;
export const PRIVATE_FOLDER = 0o700;
const OTHERS = 0o077;
/** Error codes of systems on which a folder cannot be synced and need not be, such as Windows. */
const CANNOT_SYNC = ['EISDIR', 'EPERM', 'EACCES', 'EINVAL', 'ENOTSUP'];
const WAY_OUT =
  'Give the user that runs Mayfly permission to write there, or set MAYFLY_DATA_DIR to another folder.';

export function syncToDisk(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function syncFolder(folder: string): void {
  try {
    syncToDisk(folder);
  } catch (error) {
    if (!CANNOT_SYNC.includes(codeOf(error))) throw error;
  }
}

/** Avoids `recursive`: with it, `mkdirSync` never returns where no folder can be created, as in /proc. */
function makeWithParents(folder: string, sync: (folder: string) => void): void {
  const make = () => mkdirSync(folder, { mode: PRIVATE_FOLDER });
  try {
    make();
  } catch (error) {
    if (codeOf(error) === 'EEXIST' && statSync(folder).isDirectory()) return;
    if (codeOf(error) !== 'ENOENT' || dirname(folder) === folder) throw error;
    makeWithParents(dirname(folder), sync);
    make();
  }
  sync(dirname(folder));
}

function makePrivate(path: string): void {
  for (const file of [path, `${path}.lock`]) closeSync(openSync(file, 'a', PRIVATE_FILE));
  for (const file of COMPANIONS.map((suffix) => path + suffix)) {
    if (existsSync(file) && (statSync(file).mode & OTHERS) !== 0) chmodSync(file, PRIVATE_FILE);
  }
}

export const isEmptied = (path: string): boolean =>
  existsSync(`${path}.lock`) && !statSync(path, { throwIfNoEntry: false })?.size;

/** @returns a check that throws `storage_damaged` if the file was removed or replaced, which SQLite does not notice */
export function requireSameFile(path: string): () => void {
  const look = () => statSync(path, { bigint: true, throwIfNoEntry: false });
  const opened = look();
  return () => {
    let found: typeof opened;
    try {
      found = look();
    } catch {
      // An error such as EACCES is about the folder and says nothing about the file.
      return;
    }
    if (found && found.ino === opened?.ino && found.dev === opened.dev) return;
    throw damaged(
      'The database file was removed or replaced while the server was running, so nothing can be stored.',
    );
  };
}

/** Creates the folder and the files durably. @param sync writes the entries of a folder to the disk */
export function prepareFolder(path: string, sync = syncFolder): void {
  const folder = dirname(path);
  try {
    makeWithParents(folder, sync);
  } catch (error) {
    throw new Error(
      `The data folder ${folder} cannot be created (${messageOf(error)}). Set MAYFLY_DATA_DIR to another folder.`,
      { cause: error },
    );
  }
  const files = COMPANIONS.map((suffix) => path + suffix).filter((file) => existsSync(file));
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    for (const file of files) accessSync(file, constants.R_OK | constants.W_OK);
    makePrivate(path);
    sync(folder);
    sync(dirname(folder));
  } catch (error) {
    throw new Error(`The data folder ${folder} cannot be written to (${messageOf(error)}). ${WAY_OUT}`, {
      cause: error,
    });
  }
}

/** The first release without the WAL-reset bug, which could corrupt a database. */
const OLDEST_SQLITE = '3.51.3';

const FULL = 2;

/** A write-ahead log that one huge message enlarged is truncated to this size. */
const MAX_IDLE_LOG_BYTES = 64 * 1024 * 1024;
/** Page cache: enough for the upper B-tree pages of every index and for the newest rows. */
const WRITER_CACHE_KIB = 16 * 1024;
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
  busyTimeoutMs: number;
}

export function openWriter({ path, busyTimeoutMs }: Connection, maxPages?: number, isDurable = true) {
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
    database.exec(`pragma journal_size_limit = ${MAX_IDLE_LOG_BYTES}`);
    database.exec(`pragma cache_size = -${WRITER_CACHE_KIB}`);
    // Keeps the rollback data of savepoints in memory: a file would cost one write per changed page.
    database.exec('pragma temp_store = memory');
    if (maxPages !== undefined) database.exec(`pragma max_page_count = ${Math.trunc(maxPages)}`);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

export const openReader = ({ path, busyTimeoutMs }: Connection): DatabaseSync =>
  new DatabaseSync(path, { readOnly: true, timeout: busyTimeoutMs });

/** Gives up imports and replays that an earlier server did not finish. Called before this server writes. */
export function giveUpUnfinished(database: DatabaseSync): void {
  database.exec('update parked_sources set stage = null where stage is not null');
  database.exec('update inboxes set replay_until = 0, version = version + 1 where replay_until > 0');
}

const MAX_STATEMENTS = 500;

class SqliteDb implements Tx {
  readonly engine = 'sqlite';
  readonly #database: DatabaseSync;
  readonly #isTransaction: boolean;
  readonly #statements = new LRUCache<string, StatementSync>({ max: MAX_STATEMENTS });

  constructor(database: DatabaseSync, isTransaction = false) {
    this.#database = database;
    this.#isTransaction = isTransaction;
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

  finish(statements: Promise<unknown>): Promise<unknown> {
    return statements;
  }

  hint(): void {}

  #prepare(query: Sql): { statement: StatementSync; values: Value[] } {
    // If the disk is full, SQLite ends the transaction. Later statements would then be committed one by one.
    if (this.#isTransaction && !this.#database.isTransaction) throw new Error('The transaction has ended.');
    const { text, values } = compile(query, 'sqlite');
    const known = this.#statements.get(text);
    const statement = known ?? this.#database.prepare(text);
    if (!known) this.#statements.set(text, statement);
    return { statement, values: values as Value[] };
  }
}

const closing = (database: DatabaseSync) => async (): Promise<void> => {
  if (database.isOpen) database.close();
};

export function writingEngine(database: DatabaseSync, transactions: Transactions): Kit {
  // There is one connection, so every query during a transaction is part of it.
  const tx = new SqliteDb(database, true);
  return {
    db: new SqliteDb(database),
    transaction: (work, of) => transactions.run(() => work(tx), of === 'pipelined' ? 'synced' : of),
    close: closing(database),
  };
}

export const readingEngine = (database: DatabaseSync): Kit => ({
  db: new SqliteDb(database),
  transaction: () => Promise.reject(unavailable('read-only')),
  close: closing(database),
});
