import { hasPostgres } from '../support/postgres.ts';
import { describeStore, LONG } from './contract/suite.ts';
import { describeStoreOn } from './postgres/describe-store-on.ts';
import { openTemporary, openTemporaryHere } from './sqlite/open-sqlite.ts';

describeStore('the store on SQLite', () => openTemporary(), openTemporaryHere, LONG);
describeStoreOn('PostgreSQL', await hasPostgres(), undefined, LONG);
