import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { inject } from 'vitest';
import type { PostgresCluster } from './postgres.ts';

export type Databases = Pick<PostgresCluster, 'url'>;

/**
 * Returns the PostgreSQL server that all tests of the run share: that of TEST_DATABASE_URL, or one that the run
 * starts. A test that stops its server or changes its settings starts one of its own by `startPostgres`.
 * @throws Error if it cannot be started
 */
export async function sharedPostgres(): Promise<Databases> {
  const answer = await text(connect(inject('postgresSocket')));
  if (!URL.canParse(answer)) throw new Error(answer);
  return {
    url(database) {
      const url = new URL(answer);
      if (database !== undefined) url.pathname = `/${database}`;
      return url.href;
    },
  };
}
