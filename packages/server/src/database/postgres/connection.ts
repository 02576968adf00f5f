import { Client, type ClientConfig, Pool, type PoolClient, types } from 'pg';
import { compile, type Hint, type Kit, type Sql, type Tx } from '../sql.ts';
import { StandbyError } from './errors.ts';
import { runTransaction } from './transactions.ts';

const CONNECT_TIMEOUT_MS = 5_000;
/** PostgreSQL cancels longer statements, also those that wait for a lock. */
const STATEMENT_TIMEOUT_MS = 10_000;
/** Longer than the statement timeout, so that PostgreSQL can report the cancelled statement first. */
const ANSWER_TIMEOUT_MS = 12_000;
/** PostgreSQL ends transactions that are idle for longer: locks of a hanging process block other nodes. */
const IDLE_TRANSACTION_TIMEOUT_MS = 10_000;
const OLDEST_VERSION = 150_000;

/** Types that `pg` returns as text. All stored values are safe integers, so they are parsed as numbers. */
const INT8 = 20;
const NUMERIC = 1700;
const PARSERS: Readonly<Record<number, (value: string) => unknown>> = { [INT8]: Number, [NUMERIC]: Number };

const configOf = (url: string): ClientConfig => ({
  connectionString: url,
  application_name: 'mayfly',
  connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  idle_in_transaction_session_timeout: IDLE_TRANSACTION_TIMEOUT_MS,
  keepAlive: true,
  keepAliveInitialDelayMillis: 5_000,
  types: {
    getTypeParser: (id: number, format?: 'text' | 'binary') =>
      (format !== 'binary' && PARSERS[id]) || types.getTypeParser(id, format),
  } as typeof types,
});

/** Standbys are rejected, because they may lack an acknowledged mail. @throws StandbyError */
async function requirePrimary(client: Pick<Client, 'query'>): Promise<void> {
  const { rows } = await client.query('select pg_is_in_recovery() as standby');
  if (rows[0].standby) throw new StandbyError();
}

export function createPool(url: string, onError: (error: Error) => void, max = 10): Pool {
  const pool = new Pool({
    ...configOf(url),
    max,
    pipeline: true,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    query_timeout: ANSWER_TIMEOUT_MS,
    onConnect: requirePrimary,
  });
  // Without a listener, an error of an idle connection would end the process. The listener below reports it.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => {
    client.on('error', onError);
  });
  return pool;
}

/** Opens a connection outside of the pool, for LISTEN and long work. @param onError for errors while idle */
export async function connectAlone(
  url: string,
  onError: (error: Error) => void,
  options: Pick<ClientConfig, 'query_timeout'> = {},
): Promise<Client> {
  const client = new Client({ ...configOf(url), ...options });
  client.on('error', onError);
  try {
    await client.connect();
    await requirePrimary(client);
    return client;
  } catch (error) {
    await client.end().catch(onError);
    throw error;
  }
}

/** @throws Error if PostgreSQL is too old, or if a setting could cause the loss of acknowledged mail */
export async function requireDurable(client: Client): Promise<void> {
  const { rows } = await client.query(
    `select current_setting('server_version_num')::int as version, current_setting('fsync') as fsync,
       current_setting('synchronous_commit') as commit, current_setting('synchronous_standby_names') as standbys`,
  );
  const [{ version, fsync, commit, standbys }] = rows;
  if (version < OLDEST_VERSION) {
    throw new Error('PostgreSQL is older than version 15. Use PostgreSQL 15 or newer.');
  }
  if (fsync !== 'on')
    throw new Error('PostgreSQL runs with fsync = off, so mail could be lost. Set it to on.');
  if (commit === 'off' || (commit === 'local' && standbys !== '')) {
    throw new Error(
      `PostgreSQL runs with synchronous_commit = ${commit}, so acknowledged mail could be lost. Set it to on.`,
    );
  }
}

/** Names of prepared statements by SQL text. Never use `select *`, which fails after a migration. */
const names = new Map<string, string>();
/** Limit of prepared statements, more than Mayfly has. Any others would be planned at each execution. */
const MAX_NAMES = 500;

function nameOf(text: string): string | undefined {
  const known = names.get(text);
  if (known !== undefined || names.size >= MAX_NAMES) return known;
  const name = `s${names.size + 1}`;
  names.set(text, name);
  return name;
}

export class PostgresDb implements Tx {
  readonly engine = 'postgres';
  readonly #client: Pick<PoolClient, 'query'>;
  readonly hints: Hint[] = [];
  #last: Promise<unknown> = Promise.resolve();
  #hasEnded = false;

  constructor(client: Pick<PoolClient, 'query'>) {
    this.#client = client;
  }

  async finish(statements: Promise<unknown>): Promise<void> {
    this.#last = statements;
  }

  hint(hint: Hint): void {
    this.hints.push(hint);
  }

  /** Makes later statements fail. Call it before COMMIT. @returns the statements of `finish`, which may be running */
  end(): Promise<unknown> {
    this.#hasEnded = true;
    return this.#last;
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
    if (this.#hasEnded) throw new Error('A statement was sent after COMMIT.');
    const { text, values } = compile(query, 'postgres');
    const name = nameOf(text);
    return this.#client.query({ ...(name !== undefined && { name }), text, values });
  }
}

/** @param send called after a commit, with the transaction's hints for other nodes */
export function postgresEngine(pool: Pool, send: (hints: readonly Hint[]) => void = () => undefined): Kit {
  return {
    db: new PostgresDb(pool),
    async transaction(work, of) {
      let hints: readonly Hint[] = [];
      const run = async (client: PoolClient) => {
        if (of === 'relaxed') await client.query('set local synchronous_commit = off');
        const tx = new PostgresDb(client);
        const result = await work(tx);
        hints = tx.hints;
        return { result, written: tx.end() };
      };
      const result = await runTransaction(pool, run, of === 'pipelined');
      send(hints);
      return result;
    },
    close: () => pool.end(),
  };
}
