import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { beforeAll, beforeEach } from 'vitest';
import { createDatabase } from '../../store/postgres/open-postgres.ts';
import { inDatabase } from '../../support/damage.ts';
import {
  hasPostgres,
  type PostgresCluster,
  type PostgresOptions,
  startPostgres,
} from '../../support/postgres.ts';
import {
  type Inbox,
  type ServerOptions,
  type ServerProcess,
  startServer,
} from '../../support/server-process.ts';
import { sharedPostgres } from '../../support/shared-postgres.ts';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts';

/** False if PostgreSQL is not available; tests of several nodes are skipped then. */
export const POSTGRES = await hasPostgres();

/** The available engines, each with the number of nodes on one database. */
export const ENGINES = [
  { engine: 'SQLite', count: 1 },
  ...(POSTGRES ? [{ engine: 'PostgreSQL', count: 2 } as const] : []),
] as const;

/** Settings with a large limit of messages in an inbox. */
export const MANY_MESSAGES = {
  MAYFLY_PLANS: JSON.stringify({ unlimited: { maxMessagesPerInbox: 1_000_000 } }),
};

interface SiteOptions {
  /** Default PostgreSQL. */
  engine?: 'SQLite' | 'PostgreSQL';
  /** Starts a PostgreSQL server for this site. Default: a database on the shared one. */
  own?: PostgresOptions;
  /** Settings of all nodes. */
  env?: Record<string, string>;
}

/** Mayfly nodes on one database, each a process. */
export class Site {
  /** The nodes by place; a node that has ended keeps its place. */
  readonly nodes: ServerProcess[] = [];
  /** The database URL for nodes that are started; empty for SQLite. */
  url = '';
  readonly #folder = mkdtempSync(join(tmpdir(), 'mayfly-nodes-'));
  #env: Record<string, string> = {};
  /** The PostgreSQL server of a site with the option `own`. */
  postgres!: PostgresCluster;
  readonly #proxies: TcpProxy[] = [];

  /** Creates the database. */
  async open({ engine = 'PostgreSQL', own, env = {} }: SiteOptions): Promise<void> {
    this.#env = env;
    if (own) {
      this.postgres = await startPostgres(own);
      this.url = this.postgres.url();
    } else if (engine === 'PostgreSQL') this.url = await createDatabase(await sharedPostgres());
  }

  /** Starts a proxy to a port of PostgreSQL. @param delay as for `startTcpProxy` */
  async startProxy(target = () => Number(new URL(this.url).port), delay?: () => number): Promise<TcpProxy> {
    const proxy = await startTcpProxy(target, delay);
    this.#proxies.push(proxy);
    return proxy;
  }

  /** Starts a node that reaches the database through a proxy. */
  startNodeThrough({ port }: TcpProxy): Promise<ServerProcess> {
    const url = new URL(this.url);
    url.port = String(port);
    return this.startNode({ env: { MAYFLY_DATABASE_URL: url.href } });
  }

  /** The data folder of the node at a place. */
  readonly dataDir = (place = 0): string => join(this.#folder, String(place));

  /** @returns the node at a place, modulo the number of nodes */
  readonly node = (place: number) => this.nodes[place % this.nodes.length] as ServerProcess;

  /** Starts a node at the next place, or at the place of one that has ended. */
  async startNode(options: Partial<ServerOptions> = {}, place = this.nodes.length): Promise<ServerProcess> {
    const own = { ...(this.url && { MAYFLY_DATABASE_URL: this.url }), ...this.#env };
    const env = { ...own, ...options.env };
    const node = await startServer({ dataDir: this.dataDir(place), ...options, env });
    this.nodes[place] = node;
    return node;
  }

  /** The SQLite database of the first node. */
  readonly #file = () => join(this.dataDir(), 'mayfly.db');

  /** Creates inboxes on the first node. */
  readonly createInboxes = (count: number): Promise<Inbox[]> =>
    Promise.all(Array.from({ length: count }, () => this.node(0).createInbox()));

  /** Stops PostgreSQL, or locks SQLite. @returns a function that lets the database work again */
  async loseDatabase(signal: 'SIGINT' | 'SIGQUIT' = 'SIGQUIT'): Promise<() => Promise<void>> {
    if (this.url !== '') {
      await this.postgres.stop(signal);
      return () => this.postgres.start();
    }
    const other = new DatabaseSync(this.#file(), { timeout: 10_000 });
    other.exec('begin immediate');
    return async () => other.close();
  }

  /** @returns the rows of a query to the database */
  readonly select = async (sql: string): Promise<Record<string, unknown>[]> => {
    if (this.url === '') return inDatabase(this.#file(), (database) => database.prepare(sql).all());
    const rows = await this.query(`select coalesce(json_agg(r), '[]') from (${sql}) r`);
    return rows as Record<string, unknown>[];
  };

  /** @returns the first column of the first row of a query to PostgreSQL */
  async query(text: string): Promise<unknown> {
    const client = new Client(this.url);
    await client.connect();
    try {
      return (await client.query({ text, rowMode: 'array' })).rows[0]?.[0];
    } finally {
      await client.end();
    }
  }

  async close(): Promise<void> {
    // A place is empty if its node did not start.
    await Promise.all(this.nodes.splice(0).map((node?: ServerProcess) => node?.end('SIGKILL')));
    for (const proxy of this.#proxies) await proxy.close();
    await this.postgres?.remove();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function inSites(before: typeof beforeAll | typeof beforeEach) {
  return (count: number, options: SiteOptions = {}): (() => Site) => {
    let site: Site;
    before(async () => {
      site = new Site();
      await site.open(options);
      // Sequential, because the first one creates the tables.
      for (let n = 0; n < count; n++) await site.startNode();
      return () => site.close();
    });
    return () => site;
  };
}

/** Starts a site for the tests of the `describe` that calls this. @returns a function that returns it */
export const useSite = inSites(beforeAll);

/** As {@link useSite}, with a new site for each test. */
export const useSiteOfTest = inSites(beforeEach);
