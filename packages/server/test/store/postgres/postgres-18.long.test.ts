import { hasPostgres } from '../../support/postgres.ts';
import { describeStoreOn } from './describe-store-on.ts';

/** The machine may have an older version, which the other tests use. */
const NPM = { source: 'npm' } as const;

describeStoreOn('PostgreSQL 18 of the npm package', await hasPostgres(NPM), NPM);
