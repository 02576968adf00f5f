import { sql } from 'kysely';
import { MIGRATIONS } from '../../../src/store/sql/migrations/migrate.ts';

/*
 * Loaded before the server (`node --import`), it makes the server one of a later version: TEST_MIGRATIONS has
 * the names of further migrations, each with the number of the oldest schema that it declares usable, or null.
 */

const further: Record<string, number | null> = JSON.parse(process.env.TEST_MIGRATIONS ?? '{}');
for (const [name, usableFrom] of Object.entries(further)) {
  MIGRATIONS[name] = {
    ...(usableFrom === null ? {} : { usableFrom }),
    async up(db) {
      for (const table of ['inboxes', 'messages', 'sources', 'accounts', 'deliveries']) {
        await sql
          .raw(`alter table ${table} add column next_${name.slice(0, 4)} bigint default 0 not null`)
          .execute(db);
      }
    },
  };
}
