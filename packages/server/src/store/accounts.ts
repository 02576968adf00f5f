import type { Selectable } from 'kysely';
import type { Db } from './dialect.ts';
import { insertKey } from './keys.ts';
import { prepare, type Slots } from './prepared.ts';
import type { AccountRecord, AccountStore } from './store.ts';
import type { AccountsTable } from './tables.ts';

/** Who inserts this marker makes the first account; the key of its table lets only one do it. */
const FIRST_ACCOUNT = 'first-account';

export function toAccount(row: Omit<Selectable<AccountsTable>, 'seq' | 'message_order'>): AccountRecord {
  return { id: row.id, name: JSON.parse(row.name), plan: row.plan, createdAt: row.created_at };
}

export function createAccounts(db: Db): AccountStore {
  const findFirst = async (on: Db) => {
    const row = await on
      .selectFrom('accounts')
      .selectAll()
      .orderBy('created_at')
      .orderBy('id')
      .limit(1)
      .executeTakeFirst();
    return row && toAccount(row);
  };
  const selectById = prepare((value: Slots<{ id: string }>) =>
    db.selectFrom('accounts').selectAll().where('id', '=', value.id),
  );
  return {
    findFirst: () => findFirst(db),

    async find(id) {
      const [row] = await selectById(db, { id });
      return row && toAccount(row);
    },

    createFirst: (account, key) =>
      db.transaction().execute(async (tx) => {
        const mine = await tx
          .insertInto('markers')
          .values({ name: FIRST_ACCOUNT })
          .onConflict((conflict) => conflict.doNothing())
          .returning('name')
          .executeTakeFirst();
        if (!mine || (await findFirst(tx))) return false;
        const { id, name, plan, createdAt } = account;
        await tx
          .insertInto('accounts')
          .values({ id, name: JSON.stringify(name), plan, created_at: createdAt })
          .execute();
        await insertKey(tx, key);
        return true;
      }),
  };
}
