import { CompiledQuery, PostgresAdapter } from 'kysely';
import type { Tx as KitTx } from '../../database/operations.ts';
import { compile, type Sql } from '../../database/sql.ts';
import type { Db } from './engine.ts';

/** A transaction of Kysely for SQL of nouns that are converted already; goes with the last one that is not. */
export function kitOn(on: Db): KitTx {
  const engine = on.getExecutor().adapter instanceof PostgresAdapter ? 'postgres' : 'sqlite';
  const execute = (query: Sql) => {
    const { text, values } = compile(query, engine);
    return on.executeQuery(CompiledQuery.raw(text, values));
  };
  return {
    engine,
    all: async <Row>(query: Sql) => (await execute(query)).rows as Row[],
    first: async <Row>(query: Sql) => (await execute(query)).rows[0] as Row | undefined,
    run: async (query) => Number((await execute(query)).numAffectedRows ?? 0),
  };
}
