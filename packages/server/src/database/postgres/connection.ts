import { Client, type ClientConfig, Pool, types } from 'pg';
import { StandbyError } from './errors.ts';

/** Connections of a node for short reads, writes and deliveries. */
const MAX_CONNECTIONS = 10;
/** How long a call waits for a free or a new connection, milliseconds. */
const CONNECT_TIMEOUT_MS = 5_000;
/** PostgreSQL cancels a statement that takes longer, such as one that waits for a lock, milliseconds. */
const STATEMENT_TIMEOUT_MS = 10_000;
/** A server that does not answer at all: the connection is closed, milliseconds. The cancelled statement answers before. */
const ANSWER_TIMEOUT_MS = 12_000;
/** Ends transactions of a process that stopped in the middle of one: their locks would block the other nodes. */
const IDLE_TRANSACTION_TIMEOUT_MS = 10_000;
/** A connection to a machine that is gone is closed after this time and ten probes, one a second. */
const KEEP_ALIVE_AFTER_MS = 5_000;
/** The oldest supported version, as `server_version_num` has it. */
const OLDEST_VERSION = 150_000;

/** All stored integers are safe; `pg` returns 64-bit ones as text, because not all would be. */
const INT8 = 20;
const NUMERIC = 1700;
const PARSERS: Readonly<Record<number, (value: string) => unknown>> = { [INT8]: Number, [NUMERIC]: Number };

const configOf = (url: string): ClientConfig => ({
  connectionString: url,
  application_name: 'mayfly',
  connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  idle_in_transaction_session_timeout: IDLE_TRANSACTION_TIMEOUT_MS,
  keepAlive: true,
  keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
  types: {
    getTypeParser: (id: number, format?: 'text' | 'binary') =>
      (format !== 'binary' && PARSERS[id]) || types.getTypeParser(id, format),
  } as typeof types,
});

/**
 * A standby is never read, because it may lack an acknowledged mail.
 * @throws StandbyError
 */
async function requirePrimary(client: Pick<Client, 'query'>): Promise<void> {
  const { rows } = await client.query('select pg_is_in_recovery() as standby');
  if (rows[0].standby) throw new StandbyError();
}

/**
 * Connections to a database.
 * @param onError called when a connection that is not in use fails, such as when the server is restarted
 */
export function createPool(url: string, onError: (error: Error) => void, max = MAX_CONNECTIONS): Pool {
  const pool = new Pool({
    ...configOf(url),
    max,
    // Statements of one transaction are sent without waiting for each other's results.
    pipeline: true,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    query_timeout: ANSWER_TIMEOUT_MS,
    onConnect: requirePrimary,
  });
  // Without a listener the error of an idle connection would end the process. That of the connection itself reports
  // it; the pool adds the connection to the error, with its settings and statements.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => {
    client.on('error', onError);
  });
  return pool;
}

/**
 * A connection outside of the pool, for one caller: to listen, or for migrations and copies, whose statements
 * may take any time.
 * @param onError called when it fails while no statement is under way
 * @throws Error if the server cannot be reached; StandbyError if it is not the primary
 */
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

/**
 * Makes sure that a server keeps what it has acknowledged.
 * @throws Error that names the wrong setting
 */
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
