import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { LRUCache } from 'lru-cache';
import type { Tx } from '../operations.ts';
import { compile, type Sql, type Value } from '../sql.ts';

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
