import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { inject } from 'vitest';
import type { PostgresCluster } from './postgres.ts';

/** A server whose databases a test uses; it may be that of the run. */
export type Databases = Pick<PostgresCluster, 'url'>;

/**
 * The PostgreSQL server of the run: that of TEST_DATABASE_URL, or one that the run starts. A test that stops its server, changes the settings or looks at more than its own
 * databases starts one by `startPostgres`.
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
