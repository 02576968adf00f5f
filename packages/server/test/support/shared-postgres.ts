import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { inject } from 'vitest';
import type { PostgresCluster } from './postgres.ts';

/** A server whose databases a test uses; it may be that of the run. */
export type Databases = Pick<PostgresCluster, 'port' | 'url'>;

/**
 * The PostgreSQL server of the run. A test that stops its server, changes the settings or looks at more than its own
 * databases starts one by `startPostgres`.
 * @throws Error if it cannot be started
 */
export async function sharedPostgres(): Promise<Databases> {
  const answer = await text(connect(inject('postgresSocket')));
  if (!/^\d+$/.test(answer)) throw new Error(answer);
  const url = (database = 'postgres') => `postgres://postgres@127.0.0.1:${answer}/${database}`;
  return { port: Number(answer), url };
}
