import { type Compilable, type CompiledQuery, type QueryResult, type RawBuilder, sql } from 'kysely';
import type { Tx } from './dialect.ts';

/** What runs a compiled query: the database, a transaction, or the bare connection of one. */
export interface Runner {
  executeQuery<Row>(query: CompiledQuery<Row>): Promise<QueryResult<Row>>;
}

/** The place of a value that is known only when the query runs. */
class Slot {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/** Places for the values of `V`, to be used in a query like values. */
export type Slots<V> = { readonly [K in keyof V]: RawBuilder<V[K]> };

/** Runs a prepared query and answers its rows. */
export type Prepared<V, Row> = (on: Runner, values: V) => Promise<Row[]>;

/**
 * Builds and compiles a query once; each run only fills in values. Building takes Kysely longer than
 * SQLite takes to answer, so every query of a hot path is prepared.
 * @param build makes the query from places named as the values
 */
export function prepare<V extends object, Row>(
  build: (slots: Slots<V>) => Compilable<Row>,
): Prepared<V, Row> {
  const slots = new Proxy({}, { get: (_, name) => sql.val(new Slot(String(name))) }) as Slots<V>;
  const compiled = build(slots).compile();
  const { query, queryId, sql: text } = compiled;
  return async (on, values) => {
    const given = values as Record<string, unknown>;
    const parameters = compiled.parameters.map((value) =>
      value instanceof Slot ? given[value.name] : value,
    );
    return (await on.executeQuery<Row>({ query, queryId, sql: text, parameters })).rows;
  };
}

/**
 * Lends the transaction's connection to many prepared queries in a row: through the transaction each
 * would pass layers that cost more than the query itself.
 */
export function onConnection<T>(tx: Tx, work: (connection: Runner) => Promise<T>): Promise<T> {
  return tx.getExecutor().provideConnection(work);
}
