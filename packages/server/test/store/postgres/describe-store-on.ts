import { afterAll, beforeAll, describe } from 'vitest';
import type { PostgresOptions } from '../../support/postgres.ts';
import { describeStore } from '../contract/suite.ts';
import { openStores } from './open-postgres.ts';

/**
 * The promises of the store.
 * @param isThere whether the programs are installed
 * @param own as of `openStores`
 */
export function describeStoreOn(name: string, isThere: boolean, own?: PostgresOptions): void {
  describe.skipIf(!isThere)(isThere ? name : `${name} (skipped: it is not installed)`, () => {
    let on: Awaited<ReturnType<typeof openStores>>;
    beforeAll(async () => {
      on = await openStores(own);
    });
    afterAll(() => on?.close());

    describeStore('the store', () => on.open());
  });
}
