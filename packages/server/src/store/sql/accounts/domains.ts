import type { Selectable } from 'kysely';
import type { DomainRecord, DomainStore } from '../../contract/accounts.ts';
import type { Engine } from '../engine.ts';
import { prepare, type Slots } from '../prepared.ts';
import type { DomainsTable } from '../tables/accounts.ts';

function toDomain(row: Selectable<DomainsTable>): DomainRecord {
  return { domain: row.domain, accountId: row.account_id, createdAt: row.created_at };
}

/** Domains and their owners. */
export function createDomains({ db, transaction }: Engine): DomainStore {
  const selectByName = prepare((value: Slots<{ domain: string }>) =>
    db.selectFrom('domains').selectAll().where('domain', '=', value.domain),
  );
  return {
    async add({ domain, accountId, createdAt }) {
      const added = await transaction((tx) =>
        tx
          .insertInto('domains')
          .columns(['domain', 'account_id', 'created_at'])
          .expression((from) =>
            from
              .selectFrom('accounts')
              .select((row) => [row.val(domain).as('domain'), 'id', row.val(createdAt).as('created_at')])
              .where('id', '=', accountId)
              .where('deleted_at', 'is', null),
          )
          .onConflict((conflict) => conflict.column('domain').doNothing())
          .returning('domain')
          .executeTakeFirst(),
      );
      return added !== undefined;
    },

    async remove(domain) {
      const removed = await transaction((tx) =>
        tx.deleteFrom('domains').where('domain', '=', domain).returning('domain').executeTakeFirst(),
      );
      return removed !== undefined;
    },

    async find(domain) {
      const [row] = await selectByName(db, { domain });
      return row && toDomain(row);
    },

    async list(accountId) {
      let query = db.selectFrom('domains').selectAll().orderBy('domain');
      if (accountId !== null) query = query.where('account_id', '=', accountId);
      return (await query.execute()).map(toDomain);
    },
  };
}
