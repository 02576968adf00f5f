import { createServer } from 'node:net';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { type PostgresCluster, startPostgres } from '../../packages/server/test/support/postgres.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** A socket that answers with the port of the PostgreSQL server of the run. */
    postgresSocket: string;
  }
}

/** One PostgreSQL server for all tests of a run, started for the first that asks: many runs need none. */
export default function setup({ provide }: TestProject): () => Promise<void> {
  let cluster: Promise<PostgresCluster> | undefined;
  const server = createServer((client) => {
    cluster ??= startPostgres();
    cluster.then(
      ({ port }) => client.end(String(port)),
      (error) => client.end(String(error)),
    );
  });
  const socket = join(process.env.TMPDIR ?? '', 'postgres.sock');
  server.listen(socket);
  provide('postgresSocket', socket);
  return async () => {
    server.close();
    await (await cluster?.catch(() => undefined))?.remove();
  };
}
