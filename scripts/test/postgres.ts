import { createServer } from 'node:net';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { type PostgresCluster, startPostgres } from '../../packages/server/test/support/postgres.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** A socket that answers with the URL of the PostgreSQL server of the run. */
    postgresSocket: string;
  }
}

/**
 * One PostgreSQL server for all tests of a run: that of TEST_DATABASE_URL, in which they create databases and leave
 * them, or one that is started for the first test that asks. Many runs need none.
 */
export default function setup({ provide }: TestProject): () => Promise<void> {
  let cluster: Promise<PostgresCluster> | undefined;
  const given = process.env.TEST_DATABASE_URL;
  const server = createServer((client) => {
    if (given) {
      client.end(given);
      return;
    }
    cluster ??= startPostgres();
    cluster.then(
      ({ url }) => client.end(url()),
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
