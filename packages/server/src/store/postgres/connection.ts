import { Client, Pool, types } from 'pg';

/** Connections of a node for reads, writes and deliveries. */
const MAX_CONNECTIONS = 10;
/** How long a call waits for a free connection, or for a new one, milliseconds. */
const CONNECT_TIMEOUT_MS = 5_000;
/**
 * How long a call waits for the answer to a statement, milliseconds. A firewall or a machine that is gone may
 * answer nothing at all and close nothing; without a limit, calls on such connections would wait for ever.
 */
const ANSWER_TIMEOUT_MS = 15_000;
/** Ends transactions of a process that stopped in the middle of one: their locks would stop all others. */
const IDLE_TRANSACTION_TIMEOUT_MS = 10_000;
/** The oldest supported version, as `server_version_num` has it. */
const OLDEST_VERSION = 150_000;

/** All stored integers are safe; `pg` returns 64-bit ones as text, because not all would be. */
const INT8 = 20;
const NUMERIC = 1700;
const PARSERS: Readonly<Record<number, (value: string) => unknown>> = { [INT8]: Number, [NUMERIC]: Number };

/** How values of results are read. */
const TYPES = {
  getTypeParser: (id: number, format?: 'text' | 'binary') =>
    (format !== 'binary' && PARSERS[id]) || types.getTypeParser(id, format),
} as typeof types;

/**
 * Connections to a database.
 * @param onError called when a connection that is not in use fails, such as when the server is restarted
 */
export function createPool(url: string, onError: (error: Error) => void): Pool {
  const pool = new Pool({
    connectionString: url,
    application_name: 'mayfly',
    max: MAX_CONNECTIONS,
    // Statements of one transaction are sent without waiting for each other's results.
    pipeline: true,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: ANSWER_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_TRANSACTION_TIMEOUT_MS,
    types: TYPES,
  });
  // Without a listener the error of an idle connection would end the process.
  pool.on('error', onError);
  pool.on('connect', (client) => {
    client.on('error', onError);
  });
  return pool;
}

/**
 * A connection outside of the pool, whose statements may take any time: migrations and copies.
 * @param onError called when it fails while no statement is under way
 * @throws Error if the server cannot be reached
 */
export async function connectAlone(url: string, onError: (error: Error) => void): Promise<Client> {
  const client = new Client({
    connectionString: url,
    application_name: 'mayfly',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_TRANSACTION_TIMEOUT_MS,
    types: TYPES,
  });
  client.on('error', onError);
  await client.connect();
  return client;
}

/**
 * Makes sure that a server keeps what it has acknowledged.
 * @throws Error that names the wrong setting
 */
export async function requireDurable(client: Client): Promise<void> {
  const { rows } = await client.query(
    `select current_setting('server_version_num')::int as version, current_setting('fsync') as fsync,
       current_setting('synchronous_commit') as commit, current_setting('synchronous_standby_names') as standbys,
       pg_is_in_recovery() as recovering`,
  );
  const [{ version, fsync, commit, standbys, recovering }] = rows;
  if (version < OLDEST_VERSION) {
    throw new Error('PostgreSQL is older than version 15. Use PostgreSQL 15 or newer.');
  }
  if (recovering) {
    throw new Error(
      'The PostgreSQL server is a standby. Give the address of the primary in MAYFLY_DATABASE_URL.',
    );
  }
  if (fsync !== 'on')
    throw new Error('PostgreSQL runs with fsync = off, so mail could be lost. Set it to on.');
  if (commit === 'off' || (commit === 'local' && standbys !== '')) {
    throw new Error(
      `PostgreSQL runs with synchronous_commit = ${commit}, so acknowledged mail could be lost. Set it to on.`,
    );
  }
}
