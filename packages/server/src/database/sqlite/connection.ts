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
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { codeOf, messageOf } from '../../errors.ts';
import { damaged, outcomeUnknown, unavailable } from '../failures.ts';
import type { Kit, Tx } from '../sql.ts';
import { compile, type Sql, type Value } from '../sql.ts';
import { isBroken, isBusy, isFull, isRemoved, toUnavailable } from './errors.ts';

const COMPANIONS = ['', '-wal', '-shm', '.lock'];
/** Only the owner may read: mail may contain secrets, and webhooks store signing secrets. */
export const PRIVATE_FILE = 0o600;
export const PRIVATE_FOLDER = 0o700;
const OTHERS = 0o077;
/** Error codes of systems that cannot sync a folder, such as Windows, which sync its entries by themselves. */
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

/** Not `recursive`, which never ends if an existing parent accepts no folders (/proc). */
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

/**
 * Creates missing files, and removes the permissions of other users. SQLite creates its log with the
 * permissions of the database.
 */
function makePrivate(path: string): void {
  for (const file of [path, `${path}.lock`]) closeSync(openSync(file, 'a', PRIVATE_FILE));
  for (const file of COMPANIONS.map((suffix) => path + suffix)) {
    if (existsSync(file) && (statSync(file).mode & OTHERS) !== 0) chmodSync(file, PRIVATE_FILE);
  }
}

/** True if a server has used the database before, but its file is now empty or missing. */
export function isEmptied(path: string): boolean {
  return existsSync(`${path}.lock`) && !statSync(path, { throwIfNoEntry: false })?.size;
}

/**
 * Returns a function that throws AppError `storage_damaged` unless the path still leads to the file that is open now.
 * SQLite would continue to write to a deleted file, and the commits would be lost.
 */
export function requireSameFile(path: string): () => void {
  const look = () => statSync(path, { bigint: true, throwIfNoEntry: false });
  const opened = look();
  return () => {
    let found: typeof opened;
    try {
      found = look();
    } catch {
      // EACCES concerns the folder and says nothing about the file.
      return;
    }
    if (found && found.ino === opened?.ino && found.dev === opened.dev) return;
    throw damaged(
      'The database file was removed or replaced while the server was running, so nothing can be stored.',
    );
  };
}

/** Creates folder and file durably. @param sync syncs the entries of a folder. @throws Error that says what to do */
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
    // An earlier start may have created the folder and ended before the sync.
    sync(dirname(folder));
  } catch (error) {
    throw new Error(`The data folder ${folder} cannot be written to (${messageOf(error)}). ${WAY_OUT}`, {
      cause: error,
    });
  }
}

/** The first release without the WAL-reset bug, which could corrupt a database. */
const OLDEST_SQLITE = '3.51.3';

/** `PRAGMA synchronous` FULL: each commit is on stable storage before it returns. */
const FULL = 2;

/**
 * Pages after which a checkpoint runs: 16 MB instead of SQLite's 4 MB, because copying frequently changed
 * pages less often halves the work.
 */
export const CHECKPOINT_PAGES = 4000;
/** A log that one huge message enlarged is truncated to this size. */
const MAX_IDLE_LOG_BYTES = 64 * 1024 * 1024;
/** Cache for the upper pages of every index and the newest rows. */
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
  /** How long to wait for the lock of another connection, milliseconds. */
  busyTimeoutMs: number;
}

/**
 * @param maxPages limit in pages of 4 KiB @param isDurable false for data that is not needed after the end of this process
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
    // Keeps the rollback data of savepoints in memory, which would otherwise cost a disk write per page.
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

/**
 * Marks unfinished imports and replays of an ended server as failed. Only for the single server of a
 * database, before it writes.
 */
export function giveUpUnfinished(database: DatabaseSync): void {
  database.exec('update parked_sources set stage = null where stage is not null');
  database.exec('update inboxes set replay_until = 0, version = version + 1 where replay_until > 0');
}

/** More than the store has queries. */
const MAX_STATEMENTS = 500;

export class SqliteDb implements Tx {
  readonly engine = 'sqlite';
  readonly #database: DatabaseSync;
  readonly #isTransaction: boolean;
  readonly #statements = new LRUCache<string, StatementSync>({ max: MAX_STATEMENTS });

  /** @param isTransaction true to reject statements outside a transaction */
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

  #prepare(query: Sql): { statement: StatementSync; values: Value[] } {
    // SQLite ends the transaction when a statement finds the disk full. Later statements would then be committed alone.
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
    transaction: (work, of) =>
      of === 'step' ? transactions.step(() => work(tx)) : transactions.run(() => work(tx), of === 'relaxed'),
    flight: (work) =>
      transactions.run(async () => {
        const { result, written } = await work(tx);
        await written;
        return result;
      }),
    close: closing(database),
  };
}

const refuse = (): Promise<never> => Promise.reject(unavailable('read-only'));

export function readingEngine(database: DatabaseSync): Kit {
  const db = new SqliteDb(database);
  return { db, transaction: refuse, flight: refuse, close: closing(database) };
}

/** Units of work in one transaction: a few milliseconds, during which later calls wait. */
const MAX_UNITS = 64;

interface Unit {
  work(): Promise<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
  /** True to run `work` between two transactions. */
  outside: boolean;
  /** The commit need not be synced. */
  relaxed: boolean;
}

type Outcome = { value: unknown } | { error: unknown };

export interface TransactionHooks {
  /** Called before each transaction; if it throws, the transaction fails with that error. */
  beforeTransaction(): void;
  /** Called after each commit, before the units of work in it resolve. If this hook throws, those units fail with its error. */
  afterCommit(): void;
  /** Called when the disk is full, before one more attempt. */
  makeSpace(): void;
  /** Called when the database stayed locked for the whole busy timeout. Every waiting unit of work is rejected with `error`. */
  onBusy(error: unknown): void;
  onBroken(error: unknown): void;
}

/**
 * Runs the transactions of the writer connection. Waiting units of work share one transaction and its sync,
 * and resolve when it is durable. A unit that throws is rolled back alone.
 */
export class Transactions {
  readonly #database: DatabaseSync;
  readonly #hooks: TransactionHooks;
  readonly #waiting: Unit[] = [];
  /** Relaxed units run first, so that they wait for no sync, and in transactions of their own. */
  readonly #relaxed: Unit[] = [];
  readonly #steps: Unit[] = [];
  #running = false;
  #syncs = true;

  readonly #isDurable: boolean;

  /** @param isDurable false to sync no commit */
  constructor(database: DatabaseSync, hooks: TransactionHooks, isDurable = true) {
    this.#database = database;
    this.#hooks = hooks;
    this.#isDurable = isDurable;
  }

  /** `work` runs again if the disk is full or the failure of another unit ended the transaction. */
  run<T>(work: () => Promise<T>, relaxed = false): Promise<T> {
    return this.#add(relaxed ? this.#relaxed : this.#waiting, work, { relaxed });
  }

  /** Runs one step of a long operation in a transaction of its own, after the waiting calls. */
  step<T>(work: () => Promise<T>): Promise<T> {
    return this.#add(this.#steps, work);
  }

  /** Runs `work` while no transaction is open. */
  between(work: () => void): Promise<void> {
    return this.#add(this.#waiting, async () => work(), { outside: true });
  }

  #add<T>(queue: Unit[], work: () => Promise<T>, of: Partial<Unit> = {}): Promise<T> {
    return new Promise((resolve, reject) => {
      const settled = { resolve: (value: unknown) => resolve(value as T), reject };
      queue.push({ work, outside: false, relaxed: false, ...settled, ...of });
      if (this.#running) return;
      this.#running = true;
      // Deferred, so that other calls of this turn share the transaction.
      queueMicrotask(() => void this.#runAll());
    });
  }

  async #runAll(): Promise<void> {
    while (this.#isNeeded) {
      await this.#runFirst(this.#relaxed);
      await this.#runFirst(this.#waiting);
      await this.#runFirst(this.#steps.splice(0, 1));
    }
    this.#running = false;
  }

  get #isNeeded(): boolean {
    return this.#relaxed.length + this.#waiting.length + this.#steps.length > 0;
  }

  async #runFirst(queue: Unit[]): Promise<void> {
    if (queue.length === 0) return;
    if (queue[0]?.outside) await this.#runOutside(queue.shift());
    else await this.#runTogether(queue, true);
    // Send the results before the next sync blocks this thread, and receive new calls.
    if (this.#isNeeded) await nextTurn();
  }

  async #runOutside(unit: Unit | undefined): Promise<void> {
    try {
      unit?.resolve(await unit.work());
    } catch (error) {
      unit?.reject(error);
    }
  }

  /** @param mayRetry whether units are repeated once after a full disk */
  async #runTogether(queue: Unit[], mayRetry: boolean): Promise<void> {
    const begun: Unit[] = [];
    const outcomes: Outcome[] = [];
    try {
      this.#hooks.beforeTransaction();
      this.#sync(queue[0]?.relaxed !== true);
      this.#database.exec('begin immediate');
      // Calls that arrive meanwhile join the queue.
      while (begun.length < MAX_UNITS && queue[0]?.outside === false) {
        const [unit] = queue.splice(0, 1) as [Unit];
        begun.push(unit);
        outcomes.push(await this.#runUnit(unit, begun.length > 1));
      }
      this.#database.exec('commit');
      this.#hooks.afterCommit();
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('rollback');
      // If the transaction could not begin, only the first unit fails.
      if (begun.length === 0) begun.push(...queue.splice(0, 1));
      await this.#afterFailure(begun, error, mayRetry);
      return;
    }
    for (const [index, { resolve, reject }] of begun.entries()) {
      const outcome = outcomes[index];
      if (outcome && 'error' in outcome) reject(outcome.error);
      else resolve(outcome?.value);
    }
  }

  /**
   * Must be called between transactions. A commit with `synchronous = normal` is not synced; it becomes
   * durable with the next synced commit.
   */
  #sync(full: boolean): void {
    if (full === this.#syncs || !this.#isDurable) return;
    this.#database.exec(`pragma synchronous = ${full ? 'full' : 'normal'}`);
    this.#syncs = full;
  }

  /** The first unit has no savepoint, because usually it is the only one. @throws if the whole transaction is lost */
  async #runUnit({ work }: Unit, hasSavepoint: boolean): Promise<Outcome> {
    if (hasSavepoint) this.#database.exec('savepoint unit');
    try {
      const value = await work();
      if (hasSavepoint) this.#database.exec('release unit');
      return { value };
    } catch (error) {
      // A full disk or an input or output error ends the transaction of all units.
      if (!hasSavepoint || !this.#database.isTransaction) throw error;
      this.#database.exec('rollback to unit; release unit');
      return { error: toUnavailable(error) ?? error };
    }
  }

  async #afterFailure(units: readonly Unit[], error: unknown, mayRetry: boolean): Promise<void> {
    if (isBusy(error)) {
      // Otherwise each waiting unit would wait for the whole timeout again.
      this.#rejectAll(units, toUnavailable(error));
      this.#hooks.onBusy(toUnavailable(error));
    } else if (isRemoved(error)) {
      this.#rejectAll(units, error);
    } else if (isBroken(error)) {
      this.#rejectAll(units, outcomeUnknown(error));
      this.#hooks.onBroken(error);
    } else if (units.length > 1 || (isFull(error) && mayRetry)) {
      if (isFull(error)) this.#hooks.makeSpace();
      for (const unit of units) await this.#runTogether([unit], units.length > 1);
    } else {
      for (const { reject } of units) reject(toUnavailable(error) ?? error);
    }
  }

  #rejectAll(units: readonly Unit[], error: unknown): void {
    const left = [this.#relaxed, this.#waiting, this.#steps].flatMap((queue) => queue.splice(0));
    for (const { reject } of [...units, ...left]) reject(error);
  }
}
