import { afterAll, beforeAll, describe } from 'vitest';
import { describeStore } from '../contract/suite.ts';
import { startCluster } from './open-postgres.ts';

describe('PostgreSQL 18', () => {
  let on: Awaited<ReturnType<typeof startCluster>>;
  beforeAll(async () => {
    on = await startCluster();
  });
  afterAll(() => on.cluster.remove());

  describeStore('the store on PostgreSQL', () => on.open());
});
