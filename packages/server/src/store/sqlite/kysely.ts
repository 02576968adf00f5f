import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from 'kysely';
import { LRUCache } from 'lru-cache';
import type { Db, Dialect } from '../sql/engine.ts';
import type { Tables } from '../sql/tables/index.ts';
import { isBroken, isBusy, toUnavailable } from './errors.ts';

/** More than the store has queries; queries with labels differ by the number of labels. */
const MAX_STATEMENTS = 200;

/** Runs Kysely's queries on an open connection; compiles each statement once. */
class Connection implements DatabaseConnection {
  readonly #database: DatabaseSync;
  readonly #statements = new LRUCache<string, { statement: StatementSync; hasRows: boolean }>({
    max: MAX_STATEMENTS,
  });

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    const { statement, hasRows } = this.#statements.get(sql) ?? this.#prepare(sql);
    const values = parameters as readonly SQLInputValue[];
    if (hasRows) return { rows: statement.all(...values) as Row[] };
    return { rows: [], numAffectedRows: BigInt(statement.run(...values).changes) };
  }

  #prepare(sql: string) {
    const statement = this.#database.prepare(sql);
    const prepared = { statement, hasRows: statement.columns().length > 0 };
    this.#statements.set(sql, prepared);
    return prepared;
  }

  // biome-ignore lint/correctness/useYield: Kysely asks for this method, and no query is streamed.
  async *streamQuery(): AsyncIterableIterator<never> {
    throw new Error('Queries are not streamed.');
  }
}

/** One connection, which all queries share: each is complete when its call returns. */
class ConnectionDriver implements Driver {
  readonly #database: DatabaseSync;
  readonly #connection: Connection;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#connection = new Connection(database);
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection;
  }

  // Only the migrations use these; the transactions of the store are those of transactions.ts.
  async beginTransaction(): Promise<void> {
    this.#database.exec('begin immediate');
  }

  async commitTransaction(): Promise<void> {
    this.#database.exec('commit');
  }

  async rollbackTransaction(): Promise<void> {
    // SQLite ends the transaction itself if the disk is full; a second rollback would hide that error.
    if (this.#database.isTransaction) this.#database.exec('rollback');
  }

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {
    if (this.#database.isOpen) this.#database.close();
  }
}

/** What Kysely's own adapter says of SQLite does not hold for this connection. */
class Adapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}

/** Kysely on an open connection; `destroy` closes it. */
export function kyselyOn(database: DatabaseSync): Db {
  return new Kysely<Tables>({
    dialect: {
      createAdapter: () => new Adapter(),
      createDriver: () => new ConnectionDriver(database),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  });
}

export const sqliteDialect: Dialect = {
  blob: 'blob',
  id: 'text',
  integer: 'integer',
  rowNumber: (column) => column.primaryKey(),
  keyed: (table) => table.modifyEnd(sql`without rowid`),
  lockRows: (query) => query,
  onlyOnPostgres: async () => undefined,
  lockFreeRows: (query) => query,
  lockToRemove: (query) => query,
  lockFreeToRemove: (query) => query,
  asText: (bytes) => sql`cast(${bytes} as text)`,
  isLike: (text, pattern) => sql`${text} like ${pattern}`,
  time: (now) => sql`${now}`,
  toUnavailable,
  mayDependOnContent: (error) => !isBusy(error) && !isBroken(error),
};
