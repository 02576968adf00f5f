import { toAccount } from './accounts.ts';
import type { Db } from './dialect.ts';
import { prepare, type Slots } from './prepared.ts';
import type { KeyRecord, KeyStore } from './store.ts';

/** Adds a key unless its hash is known already. */
export async function insertKey(db: Db, key: KeyRecord & { hash: string }): Promise<void> {
  await db
    .insertInto('keys')
    .values({
      id: key.id,
      hash: key.hash,
      account_id: key.accountId,
      name: JSON.stringify(key.name),
      scope: key.scope,
      prefix: key.prefix,
      created_at: key.createdAt,
      expires_at: key.expiresAt,
    })
    .onConflict((conflict) => conflict.column('hash').doNothing())
    .execute();
}

export function createKeys(db: Db): KeyStore {
  const selectKey = prepare((value: Slots<{ hash: string; now: number }>) =>
    db
      .selectFrom('keys as k')
      .innerJoin('accounts as a', 'a.id', 'k.account_id')
      .select(['k.id', 'k.account_id', 'k.name', 'k.scope', 'k.prefix', 'k.created_at', 'k.expires_at'])
      .select(['a.name as account_name', 'a.plan', 'a.created_at as account_created_at'])
      .where('k.hash', '=', value.hash)
      .where((is) => is.or([is('k.expires_at', 'is', null), is('k.expires_at', '>', value.now)])),
  );
  return {
    async findByHash(hash, now) {
      const [row] = await selectKey(db, { hash, now });
      if (!row) return undefined;
      return {
        key: {
          id: row.id,
          accountId: row.account_id,
          name: JSON.parse(row.name),
          scope: row.scope,
          prefix: row.prefix,
          createdAt: row.created_at,
          expiresAt: row.expires_at,
        },
        account: toAccount({
          id: row.account_id,
          name: row.account_name,
          plan: row.plan,
          created_at: row.account_created_at,
        }),
      };
    },
    create: (key) => insertKey(db, key),
  };
}
