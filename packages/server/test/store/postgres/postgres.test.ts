import { hasPostgres } from '../../support/postgres.ts';
import { describeStoreOn } from './describe-store-on.ts';

describeStoreOn('PostgreSQL 18 of the npm package', await hasPostgres());
