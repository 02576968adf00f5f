import { hasPostgres } from '../../support/postgres.ts';
import { describeStoreOn } from './describe-store-on.ts';

describeStoreOn('PostgreSQL', await hasPostgres());
