import { MIGRATIONS } from '../../../src/database/migrate.ts';
import { constant } from '../../../src/database/sql.ts';

/*
 * Loaded before the server (`node --import`), adds migrations to emulate a later version. TEST_MIGRATIONS has pairs of a
 * schema and the oldest schema whose servers can use its tables.
 */

const further: [schema: number, usableFrom: number][] = JSON.parse(process.env.TEST_MIGRATIONS ?? '[]');
for (const [schema, usableFrom] of further) {
  MIGRATIONS.push({
    schema,
    usableFrom,
    async up(tx) {
      for (const table of ['inboxes', 'messages', 'sources', 'accounts', 'deliveries'])
        await tx.run(constant(`alter table ${table} add column next_${schema} bigint default 0 not null`));
    },
  });
}
