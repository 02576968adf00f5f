import type { Insertable } from 'kysely';
import type { AccountRecord, AccountStore } from '../../contract/index.ts';
import type { Db, Engine } from '../engine.ts';
import { prepare, type Slots } from '../prepared.ts';
import type { AccountsTable } from '../tables/accounts.ts';
import { insertKey, keyRow } from './keys.ts';
import { toAccount } from './rows.ts';

/** The process that inserts this marker makes the first account; its table's key lets only one do it. */
const FIRST_ACCOUNT = 'first-account';

function accountRow({ id, name, plan, createdAt }: AccountRecord): Insertable<AccountsTable> {
  return { id, name: JSON.stringify(name), plan, created_at: createdAt };
}

/** Accounts, except their deletion. */
export function createAccounts({ db, transaction }: Engine): Omit<AccountStore, 'delete'> {
  const findFirst = async (on: Db) => {
    const row = await on
      .selectFrom('accounts')
      .selectAll()
      .where('deleted_at', 'is', null)
      .orderBy('created_at')
      .orderBy('id')
      .limit(1)
      .executeTakeFirst();
    return row && toAccount(row);
  };
  const selectById = prepare((value: Slots<{ id: string }>) =>
    db.selectFrom('accounts').selectAll().where('id', '=', value.id),
  );
  const selectPage = prepare((value: Slots<{ after: string; limit: number }>) =>
    db.selectFrom('accounts').selectAll().where('id', '>', value.after).orderBy('id').limit(value.limit),
  );
  return {
    findFirst: () => findFirst(db),

    async find(id) {
      const [row] = await selectById(db, { id });
      return row && toAccount(row);
    },

    createFirst: (account, key) =>
      transaction(async (tx) => {
        const mine = await tx
          .insertInto('markers')
          .values({ name: FIRST_ACCOUNT })
          .onConflict((conflict) => conflict.doNothing())
          .returning('name')
          .executeTakeFirst();
        if (!mine || (await findFirst(tx))) return false;
        await tx.insertInto('accounts').values(accountRow(account)).execute();
        await insertKey(tx, key);
        return true;
      }),

    create: (account, key) =>
      transaction(async (tx) => {
        await tx.insertInto('accounts').values(accountRow(account)).execute();
        // A key that is known already fails the transaction: the account would have no key.
        if (key) await tx.insertInto('keys').values(keyRow(key)).execute();
      }),

    async list({ limit, after }) {
      const rows = await selectPage(db, { after: after ?? '', limit: limit + 1 });
      return { accounts: rows.slice(0, limit).map(toAccount), hasMore: rows.length > limit };
    },

    async setPlan(id, plan) {
      const row = await transaction((tx) =>
        tx.updateTable('accounts').set({ plan }).where('id', '=', id).returningAll().executeTakeFirst(),
      );
      return row && toAccount(row);
    },
  };
}
