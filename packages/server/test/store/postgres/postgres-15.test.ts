import { describe } from 'vitest';
import { inForm } from '../../support/form.ts';
import { DEBIAN_PROGRAMS, hasPostgres } from '../../support/postgres.ts';
import { describeStoreOn } from './describe-store-on.ts';

const NAME = 'PostgreSQL 15 of Debian, the oldest supported version';

// It takes 50 s. Continuous integration runs the long form of this file beside `npm test`.
if (inForm(false, true)) {
  describeStoreOn(NAME, await hasPostgres(DEBIAN_PROGRAMS), { programs: DEBIAN_PROGRAMS });
} else {
  describe.skip(`${NAME} (in the long form)`, () => {});
}
