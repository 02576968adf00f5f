import { afterAll, beforeAll, describe } from 'vitest';
import { DEBIAN_PROGRAMS, hasPostgres, type PostgresOptions } from '../../support/postgres.ts';
import { describeStore } from '../contract/suite.ts';
import { startCluster } from './open-postgres.ts';

const TARGETS: Readonly<Record<string, PostgresOptions>> = {
  'PostgreSQL 18 of the npm package': {},
  'PostgreSQL 15 of Debian, the oldest supported version': { programs: DEBIAN_PROGRAMS },
};

for (const [name, options] of Object.entries(TARGETS)) {
  const isThere = await hasPostgres(options.programs);
  describe.skipIf(!isThere)(isThere ? name : `${name} (skipped: it is not installed)`, () => {
    let on: Awaited<ReturnType<typeof startCluster>>;
    beforeAll(async () => {
      on = await startCluster(options);
    });
    afterAll(() => on?.cluster.remove());

    describeStore('the store', () => on.open());
  });
}
