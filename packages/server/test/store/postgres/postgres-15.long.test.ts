import { DEBIAN_PROGRAMS, hasPostgres } from '../../support/postgres.ts';
import { describeStoreOn } from './describe-store-on.ts';

const NAME = 'PostgreSQL 15 of Debian, the oldest supported version';

describeStoreOn(NAME, await hasPostgres(DEBIAN_PROGRAMS), { programs: DEBIAN_PROGRAMS });
