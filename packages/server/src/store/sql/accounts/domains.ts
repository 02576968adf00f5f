import type { Selectable } from 'kysely';
import type { DomainRecord, DomainStore } from '../../contract/accounts.ts';
import type { Engine } from '../engine.ts';
import { prepare, type Slots } from '../prepared.ts';
import type { DomainsTable } from '../tables/accounts.ts';
import { lockIfThere } from './lock-account.ts';

function toDomain(row: Selectable<DomainsTable>): DomainRecord {
  return { domain: row.domain, accountId: row.account_id, createdAt: row.created_at };
}

/** Domains and their owners. */
export function createDomains({ db, dialect, transaction }: Engine): DomainStore {
  const selectByName = prepare((value: Slots<{ domain: string }>) =>
    db.selectFrom('domains').selectAll().where('domain', '=', value.domain),
  );
  return {
    add: ({ domain, accountId, createdAt }) =>
      transaction(async (tx) => {
        // Locked, so that nothing is added to an account whose deletion has removed its domains.
        if (!(await lockIfThere(tx, dialect, accountId))) return false;
        const added = await tx
          .insertInto('domains')
          .values({ domain, account_id: accountId, created_at: createdAt })
          .onConflict((conflict) => conflict.column('domain').doNothing())
          .returning('domain')
          .executeTakeFirst();
        return added !== undefined;
      }),

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
