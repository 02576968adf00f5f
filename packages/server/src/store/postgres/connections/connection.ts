import type { Socket } from 'node:net';
import { Client, Pool, type PoolClient, types } from 'pg';
import { type Clock, systemClock } from '../../../clock.ts';
import { toError } from '../../../errors.ts';
import { isClosed, isOfStatement, isPoolExhausted } from '../errors.ts';
import { type Servers, StandbyError } from './servers.ts';
import { type Answered, SilenceWatch, type Watched } from './silence.ts';

/** Connections of a node for short reads, writes and deliveries. */
const MAX_CONNECTIONS = 10;
/** How long a call waits for a free connection, milliseconds. */
const ACQUIRE_TIMEOUT_MS = 5_000;
/** How long it takes a server at most to accept a connection, milliseconds; then the next one is tried. */
const CONNECT_TIMEOUT_MS = 2_000;
/**
 * How long a call waits for the answer to a statement, milliseconds, where the server works on it. If no
 * answer will come, silence.ts ends the call sooner.
 */
const ANSWER_TIMEOUT_MS = 15_000;
/** Ends transactions of a process that stopped in the middle of one: their locks would stop all others. */
const IDLE_TRANSACTION_TIMEOUT_MS = 10_000;
const STANDBY =
  'The PostgreSQL server is a standby. Give the address of the primary in MAYFLY_DATABASE_URL, or those of all servers, separated by commas.';
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

/** Connections for calls of the store. */
export interface Connections {
  /** A connection to the primary, for this caller alone until it releases it. */
  connect(): Promise<PoolClient>;
  /** Runs a statement that may be run twice: a read, or a notification. */
  query: PoolClient['query'];
  end(): Promise<void>;
}

interface ClientOptions {
  pipeline?: boolean;
  query_timeout?: number;
  watch?: SilenceWatch;
}

/** A class of connections that go to the server which is taken for the primary when one is made. */
function clientOf(servers: Servers, { watch, ...options }: ClientOptions = {}) {
  return class extends Client implements Watched {
    /** Private, because what prints a connection must not print the password. */
    readonly #url: string;
    unanswered = 0;
    backend: number | null = null;
    readonly #socket: Socket;

    constructor() {
      const { url } = servers;
      const socket = servers.socketTo(url);
      super({
        connectionString: url,
        application_name: 'mayfly',
        connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
        idle_in_transaction_session_timeout: IDLE_TRANSACTION_TIMEOUT_MS,
        keepAlive: true,
        types: TYPES,
        stream: () => socket,
        ...options,
      });
      this.#url = url;
      this.#socket = socket;
    }

    get received(): number {
      return this.#socket.bytesRead;
    }

    destroy(error?: Error): void {
      this.#socket.destroy(error);
    }

    override query = ((...statement: Parameters<Client['query']>) => {
      const answer: Promise<unknown> = super.query(...statement) as unknown as Promise<unknown>;
      this.unanswered += 1;
      if (this.unanswered === 1) watch?.begin(this);
      const end = (): void => {
        this.unanswered -= 1;
      };
      answer.then(end, end);
      return answer;
    }) as Client['query'];

    /** @throws StandbyError if its server is not the primary */
    async requirePrimary(): Promise<void> {
      const question = {
        text: 'select pg_is_in_recovery() as standby, pg_backend_pid() as backend',
        query_timeout: CONNECT_TIMEOUT_MS,
      };
      const { rows } = await this.query(question);
      const [{ standby, backend }] = rows;
      if (standby) throw new StandbyError(STANDBY);
      // A pooler gives its clients numbers of its own.
      this.backend = 'processID' in this && this.processID === backend ? backend : null;
      servers.confirm(this.#url);
    }
  };
}

/**
 * Calls `attempt` until it succeeds, once for each server.
 * @throws the first error that does not only say that a server is a standby
 */
async function onEachServer<T>(servers: Servers, attempt: () => Promise<T>): Promise<T> {
  const errors: unknown[] = [];
  while (errors.length < servers.urls.length) {
    const { url } = servers;
    try {
      return await attempt();
    } catch (error) {
      errors.push(error);
      // All connections are in use; that says nothing about the server.
      if (isPoolExhausted(error)) break;
      servers.leave(url);
    }
  }
  throw errors.find((error) => !(error instanceof StandbyError)) ?? errors[0];
}

/** Asks the server on a new connection which of its backends are executing a statement. */
async function askOfBackends(servers: Servers, backends: number[]): Promise<Answered> {
  try {
    const client = await connectAlone(servers, () => undefined, { query_timeout: CONNECT_TIMEOUT_MS });
    try {
      const { rows } = await client.query(
        "select pid from pg_stat_activity where pid = any($1) and state = 'active'",
        [backends],
      );
      return { working: new Set(rows.map(({ pid }) => pid)) };
    } finally {
      await client.end();
    }
  } catch (error) {
    return isOfStatement(error) ? 'alive' : 'gone';
  }
}

export interface PoolOptions {
  max?: number;
  clock?: Clock;
}

/**
 * Connections to the primary of a database.
 * @param onError called when a connection that is not in use fails, such as when the server is restarted
 */
export function createPool(
  servers: Servers,
  onError: (error: Error) => void,
  { max = MAX_CONNECTIONS, clock = systemClock }: PoolOptions = {},
): Connections {
  const watch = new SilenceWatch(clock, (backends) => askOfBackends(servers, backends));
  // Statements of one transaction are sent without waiting for each other's results.
  const PrimaryClient = clientOf(servers, { pipeline: true, query_timeout: ANSWER_TIMEOUT_MS, watch });
  const pool = new Pool({
    Client: PrimaryClient,
    max,
    connectionTimeoutMillis: ACQUIRE_TIMEOUT_MS,
    onConnect: (client) => (client instanceof PrimaryClient ? client.requirePrimary() : undefined),
  });
  // Without a listener the error of an idle connection would end the process. That of the connection itself reports
  // it; the pool adds the connection to the error, with its settings and statements.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => {
    client.on('error', onError);
  });
  pool.on('remove', (client) => {
    if (client instanceof PrimaryClient) watch.remove(client);
  });
  const connect = () => onEachServer(servers, () => pool.connect());

  async function query(...statement: Parameters<PoolClient['query']>): Promise<unknown> {
    const client = await connect();
    let broken: Error | undefined;
    try {
      return await client.query(...statement);
    } catch (error) {
      broken = toError(error);
      throw error;
    } finally {
      client.release(broken);
    }
  }

  return {
    connect,
    // Once more on another connection where the first one was closed, as all are when the database restarts.
    query: ((...statement: Parameters<PoolClient['query']>) =>
      query(...statement).catch((error) => {
        if (!isClosed(error)) throw error;
        return query(...statement);
      })) as PoolClient['query'],
    end: () => pool.end().finally(() => watch.stop()),
  };
}

/**
 * A connection outside of the pool, for one caller: to listen, or for migrations and copies, whose statements
 * may take any time.
 * @param onError called when it fails while no statement is under way
 * @throws Error if no server can be reached; StandbyError if none of several is the primary
 */
export function connectAlone(
  servers: Servers,
  onError: (error: Error) => void,
  options: Pick<ClientOptions, 'query_timeout'> = {},
): Promise<Client> {
  return onEachServer(servers, async () => {
    const client = new (clientOf(servers, options))();
    client.on('error', onError);
    try {
      await client.connect();
      await client.requirePrimary();
      return client;
    } catch (error) {
      await client.end().catch(onError);
      throw error;
    }
  });
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
