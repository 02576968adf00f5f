import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import {
  type CompiledQuery,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from 'kysely';
import { LRUCache } from 'lru-cache';
import { createKysely } from '../sql/create-kysely.ts';
import { type Db, type Dialect, INVISIBLE_SET } from '../sql/engine.ts';
import { isBroken, isBusy, isRemoved, toUnavailable } from './errors.ts';

/** More than the store has queries; queries with labels differ by the number of labels. */
const MAX_STATEMENTS = 200;

/** Kysely on an open connection, which all queries share: each is complete when its call returns. */
export function kyselyOn(database: DatabaseSync): Db {
  /** Each statement is compiled once. */
  const statements = new LRUCache<string, { statement: StatementSync; hasRows: boolean }>({
    max: MAX_STATEMENTS,
  });
  const prepare = (text: string) => {
    const statement = database.prepare(text);
    const prepared = { statement, hasRows: statement.columns().length > 0 };
    statements.set(text, prepared);
    return prepared;
  };
  return createKysely(
    {
      async execute<Row>({ sql: text, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
        const { statement, hasRows } = statements.get(text) ?? prepare(text);
        const values = parameters as readonly SQLInputValue[];
        if (hasRows) return { rows: statement.all(...values) as Row[] };
        return { rows: [], numAffectedRows: BigInt(statement.run(...values).changes) };
      },
      async control(what) {
        // SQLite ends the transaction itself if the disk is full; a second rollback would hide that error.
        if (what === 'rollback' && !database.isTransaction) return;
        database.exec(what === 'begin' ? 'begin immediate' : what);
      },
      async close() {
        if (database.isOpen) database.close();
      },
    },
    {
      createAdapter: () => new SqliteAdapter(),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  );
}

export const sqliteDialect: Dialect = {
  lockRows: (query) => query,
  keepRows: (query) => query,
  lockFreeRows: (query) => query,
  lockToRemove: (query) => query,
  lockFreeToRemove: (query) => query,
  asText: (bytes) => sql`cast(${bytes} as text)`,
  isLike: (text, pattern) => sql`${text} like ${pattern}`,
  hasInvisible: (bytes) =>
    sql`(length(${bytes}) <> length(cast(${bytes} as text)) and cast(${bytes} as text) glob ${`*${INVISIBLE_SET}*`})`,
  time: (now) => sql`${now}`,
  toUnavailable,
  mayDependOnContent: (error) => !isBusy(error) && !isBroken(error) && !isRemoved(error),
};
