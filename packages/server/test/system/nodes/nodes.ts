import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { type PostgresCluster, type PostgresOptions, startPostgres } from '../../support/postgres.ts';
import { type ServerOptions, type ServerProcess, startServer } from '../../support/server-process.ts';

/** A PostgreSQL server, and Mayfly nodes on it, each a process of its own. */
export interface Site {
  postgres: PostgresCluster;
  /** The URL of the database that the nodes use. */
  url: string;
  /** The nodes by their place; a node that was killed keeps its place. */
  nodes: ServerProcess[];
  /** Starts a node at the next place, or at the place of one that has ended. */
  startNode(
    options?: Pick<ServerOptions, 'env' | 'nodeArgs' | 'under'>,
    place?: number,
  ): Promise<ServerProcess>;
  /** The first column of the first row. */
  query(text: string, values?: unknown[]): Promise<unknown>;
  close(): Promise<void>;
}

/** Starts PostgreSQL with an empty database, and no node yet. */
export async function startSite(options: PostgresOptions = {}): Promise<Site> {
  const postgres = await startPostgres(options);
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-nodes-'));
  const nodes: ServerProcess[] = [];
  const site: Site = {
    postgres,
    url: postgres.url(),
    nodes,
    async startNode({ env = {}, ...rest } = {}, place = nodes.length) {
      const dataDir = join(folder, String(place));
      const node = await startServer({ dataDir, env: { MAYFLY_DATABASE_URL: site.url, ...env }, ...rest });
      nodes[place] = node;
      return node;
    },
    async query(text, values = []) {
      const client = new Client(postgres.url());
      await client.connect();
      try {
        const { rows } = await client.query({ text, values, rowMode: 'array' });
        return rows[0]?.[0];
      } finally {
        await client.end();
      }
    },
    async close() {
      await Promise.all(nodes.map((node) => node.end('SIGKILL')));
      await postgres.remove();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return site;
}

/** The URL of a database, reached through another port. */
export function throughPort(url: string, port: number): string {
  const changed = new URL(url);
  changed.port = String(port);
  return changed.href;
}
