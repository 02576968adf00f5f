import { type Compilable, type CompiledQuery, type RawBuilder, sql } from 'kysely';
import type { Db } from './engine.ts';

/** The place of a value that is known only when the query runs. */
class Slot {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/** Placeholders for the values of `V`, used in a query like values. */
export type Slots<V> = { readonly [K in keyof V]: RawBuilder<V[K]> };

/** Runs a prepared query on the database or in a transaction, and returns its rows. */
export type Prepared<V, Row> = (on: Db, values: V) => Promise<Row[]>;

/**
 * Builds and compiles a query once; each run only fills in values. Building takes Kysely longer than
 * SQLite takes to run it, so every frequent query is prepared, when it first runs: a store that starts would
 * otherwise wait for all of them, also for those that its thread never runs.
 * @param build makes the query from placeholders named as the values
 */
export function prepare<V extends object, Row>(
  build: (slots: Slots<V>) => Compilable<Row>,
): Prepared<V, Row> {
  const slots = new Proxy({}, { get: (_, name) => sql.val(new Slot(String(name))) }) as Slots<V>;
  let compiled: CompiledQuery<Row> | undefined;
  return async (on, values) => {
    compiled ??= build(slots).compile();
    const { query, queryId, sql: text } = compiled;
    const given = values as Record<string, unknown>;
    const parameters = compiled.parameters.map((value) =>
      value instanceof Slot ? given[value.name] : value,
    );
    return (await on.executeQuery<Row>({ query, queryId, sql: text, parameters })).rows;
  };
}
