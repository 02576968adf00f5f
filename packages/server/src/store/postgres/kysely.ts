import {
  type CompiledQuery,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
  sql,
} from 'kysely';
import type { PoolClient } from 'pg';
import { isConflict, toUnavailable } from '../../database/postgres/errors.ts';
import { AppError } from '../../errors.ts';
import { createKysely } from '../sql/create-kysely.ts';
import { type Db, type Dialect, INVISIBLE_SET } from '../sql/engine.ts';

/**
 * A named statement with all columns of a table would fail as soon as a newer server adds a column ("cached
 * plan must not change result type"), and servers of two versions run during a rolling upgrade.
 */
const SELECTS_ALL = /(?:select|returning|\.) ?\*/;

/**
 * Names of the queries that run again and again: PostgreSQL plans a named statement once a connection. A
 * prepared query keeps its node; a query that is built for one call gets a new one and stays without a name.
 */
const names = new WeakMap<object, string | null>();
let lastName = 0;

function nameOf(node: object): string | undefined {
  const name = names.get(node);
  if (name === undefined) names.set(node, null);
  else if (name === null) names.set(node, `q${++lastName}`);
  return names.get(node) ?? undefined;
}

/** Kysely on a connection or, for reads outside transactions, on a pool; it closes neither. */
export function kyselyOn(client: Pick<PoolClient, 'query'>): Db {
  return createKysely(
    {
      async execute<Row>({ sql: text, parameters, query }: CompiledQuery): Promise<QueryResult<Row>> {
        const name = SELECTS_ALL.test(text) ? undefined : nameOf(query);
        const values = [...parameters];
        const { rows, rowCount } = await client.query(name ? { name, text, values } : { text, values });
        return { rows: rows as Row[], numAffectedRows: BigInt(rowCount ?? 0) };
      },
      async control(what) {
        await client.query(what);
      },
      close: async () => undefined,
    },
    {
      createAdapter: () => new PostgresAdapter(),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  );
}

export const postgresDialect: Dialect = {
  // Not `for update`, which the foreign keys of rows that the intake inserts would wait for.
  lockRows: (query) => query.forNoKeyUpdate(),
  keepRows: (query) => query.forKeyShare(),
  lockFreeRows: (query) => query.forNoKeyUpdate().skipLocked(),
  lockToRemove: (query) => query.forUpdate(),
  lockFreeToRemove: (query) => query.forUpdate().skipLocked(),
  asText: (bytes) => sql`convert_from(${bytes}, 'UTF8')`,
  isLike: (text, pattern) => sql`${text} ilike ${pattern}`,
  hasInvisible: (bytes) =>
    sql`(length(${bytes}) <> length(convert_from(${bytes}, 'UTF8')) and convert_from(${bytes}, 'UTF8') ~ ${INVISIBLE_SET})`,
  time: () => sql`(extract(epoch from statement_timestamp()) * 1000)::bigint`,
  toUnavailable,
  mayDependOnContent(error) {
    const known = error instanceof AppError ? error : toUnavailable(error);
    return known ? known.code === 'storage_damaged' : !isConflict(error);
  },
};
