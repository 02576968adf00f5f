import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  type Dialect as KyselyDialect,
  type QueryResult,
} from 'kysely';
import type { Db } from './engine.ts';
import type { Tables } from './tables/index.ts';

/** A connection that all queries share, or a pool that runs each on any of its own. */
export interface Queryable {
  execute<Row>(query: CompiledQuery): Promise<QueryResult<Row>>;
  /** Only the migrations use these statements; the transactions of the store are those of the engines. */
  control(statement: 'begin' | 'commit' | 'rollback'): Promise<void>;
  close(): Promise<void>;
}

/** Kysely on an open connection; `destroy` closes it. */
export function createKysely(
  { execute, control, close }: Queryable,
  parts: Omit<KyselyDialect, 'createDriver'>,
): Db {
  const connection: DatabaseConnection = {
    executeQuery: execute,
    // biome-ignore lint/correctness/useYield: Kysely asks for this method, and no query is streamed.
    async *streamQuery() {
      throw new Error('Queries are not streamed.');
    },
  };
  const driver: Driver = {
    init: async () => undefined,
    acquireConnection: async () => connection,
    beginTransaction: () => control('begin'),
    commitTransaction: () => control('commit'),
    rollbackTransaction: () => control('rollback'),
    releaseConnection: async () => undefined,
    destroy: close,
  };
  // Kysely itself closes only a connection that it has used.
  return Object.assign(new Kysely<Tables>({ dialect: { ...parts, createDriver: () => driver } }), {
    destroy: close,
  });
}
