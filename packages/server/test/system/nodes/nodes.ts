import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { expect } from 'vitest';
import { createDatabase } from '../../store/postgres/open-postgres.ts';
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

/** The npm package has programs for Linux on x64 only; elsewhere tests of nodes are skipped. */
export const POSTGRES = await hasPostgres();

/** A database on PostgreSQL, and Mayfly nodes on it, each a process of its own. */
export interface Nodes {
  /** The URL of the database that the nodes use. */
  url: string;
  /** The nodes by their place; a node that was killed keeps its place. */
  nodes: ServerProcess[];
  /** The node at a place; behind the last one comes the first. */
  node(place: number): ServerProcess;
  /** Starts a node at the next place, or at the place of one that has ended. */
  startNode(
    options?: Pick<ServerOptions, 'env' | 'nodeArgs' | 'under'>,
    place?: number,
  ): Promise<ServerProcess>;
  /** The first column of the first row. */
  query(text: string, values?: unknown[]): Promise<unknown>;
  close(): Promise<void>;
}

/** Nodes on a PostgreSQL server of their own. */
export interface Site extends Nodes {
  postgres: PostgresCluster;
}

/** Starts a PostgreSQL server with an empty database, and no node yet. */
export async function startSite(options: PostgresOptions = {}): Promise<Site> {
  const postgres = await startPostgres(options);
  return { postgres, ...nodesOn(postgres.url(), () => postgres.remove()) };
}

/** Creates an empty database on the PostgreSQL server of the run, and starts no node yet. */
export const startNodes = async (): Promise<Nodes> =>
  nodesOn(await createDatabase(await sharedPostgres()), async () => undefined);

function nodesOn(url: string, afterwards: () => Promise<void>): Nodes {
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-nodes-'));
  const nodes: ServerProcess[] = [];
  return {
    url,
    nodes,
    node(place) {
      const found = nodes[place % nodes.length];
      if (!found) throw new Error('There is no node.');
      return found;
    },
    async startNode({ env = {}, ...rest } = {}, place = nodes.length) {
      const dataDir = join(folder, String(place));
      const node = await startServer({ dataDir, env: { MAYFLY_DATABASE_URL: this.url, ...env }, ...rest });
      nodes[place] = node;
      return node;
    },
    async query(text, values = []) {
      const client = new Client(url);
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
      await afterwards();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The URL of a database, reached through another port. */
export function throughPort(url: string, port: number): string {
  const changed = new URL(url);
  changed.port = String(port);
  return changed.href;
}

/**
 * Follows an inbox by its cursor, on one node after another from the place `first` on that answers; the last page is
 * asked for when it is enough. @returns ids, oldest first
 */
export async function follow(
  site: Nodes,
  inbox: Inbox,
  first: number,
  enough: () => boolean,
): Promise<string[]> {
  const seen: string[] = [];
  let cursor = inbox.cursor;
  for (let turn = first; ; turn++) {
    const isLast = enough();
    const path = `/v1/inboxes/${inbox.id}/messages?since=${cursor}&limit=200&wait=1`;
    const response = await site
      .node(turn)
      .request('GET', path)
      .catch(() => undefined);
    if (response?.status !== 200) {
      // A node that was killed, or has no database.
      if (response) expect([response.status, await response.text()]).toEqual([503, expect.anything()]);
      await pause(50);
      continue;
    }
    const page = (await response.json()) as { messages: { id: string }[]; cursor: string };
    cursor = page.cursor;
    seen.push(...page.messages.map(({ id }) => id).reverse());
    if (isLast) return seen;
  }
}
