import { afterAll, beforeAll, describe } from 'vitest';
import type { PostgresOptions } from '../../support/postgres.ts';
import { describeStore } from '../contract/suite.ts';
import { startCluster } from './open-postgres.ts';

/** The promises of the store, on a cluster of their own. @param isThere whether its programs are installed */
export function describeStoreOn(name: string, isThere: boolean, options: PostgresOptions = {}): void {
  describe.skipIf(!isThere)(isThere ? name : `${name} (skipped: it is not installed)`, () => {
    let on: Awaited<ReturnType<typeof startCluster>>;
    beforeAll(async () => {
      on = await startCluster(options);
    });
    afterAll(() => on?.cluster.remove());

    describeStore('the store', () => on.open());
  });
}
