import type { PoolClient } from 'pg';
import type { Tx } from '../operations.ts';
import { compile, type Sql } from '../sql.ts';

/** PostgreSQL plans a named statement once a connection. It must name its columns: `*` fails once one is added. */
const names = new Map<string, string>();
/** More than the store has queries; further ones are planned each time. */
const MAX_NAMES = 500;

function nameOf(text: string): string | undefined {
  const known = names.get(text);
  if (known !== undefined || names.size >= MAX_NAMES) return known;
  const name = `s${names.size + 1}`;
  names.set(text, name);
  return name;
}

/** Queries on a connection to PostgreSQL or, for reads, on a pool. */
export class PostgresDb implements Tx {
  readonly engine = 'postgres';
  readonly #client: Pick<PoolClient, 'query'>;

  constructor(client: Pick<PoolClient, 'query'>) {
    this.#client = client;
  }

  async all<Row extends object>(query: Sql): Promise<Row[]> {
    return (await this.#query(query)).rows;
  }

  async first<Row extends object>(query: Sql): Promise<Row | undefined> {
    return (await this.#query(query)).rows[0];
  }

  async run(query: Sql): Promise<number> {
    return (await this.#query(query)).rowCount ?? 0;
  }

  #query(query: Sql) {
    const { text, values } = compile(query, 'postgres');
    const name = nameOf(text);
    return this.#client.query({ ...(name !== undefined && { name }), text, values });
  }
}
