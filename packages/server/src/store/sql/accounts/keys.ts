import type { Insertable, Selectable } from 'kysely';
import { AppError } from '../../../errors.ts';
import type { KeyRecord, KeyStore, ListedKey } from '../../contract/index.ts';
import type { Db, Engine, Tx } from '../engine.ts';
import { prepare, type Slots } from '../prepared.ts';
import type { KeysTable } from '../tables/accounts.ts';
import { lockAccount } from './lock-account.ts';
import { toAccount } from './rows.ts';

/** The row of a key. */
export function keyRow(key: KeyRecord & { hash: string }): Insertable<KeysTable> {
  return {
    id: key.id,
    hash: key.hash,
    account_id: key.accountId,
    name: JSON.stringify(key.name),
    scope: key.scope,
    prefix: key.prefix,
    created_at: key.createdAt,
    expires_at: key.expiresAt,
  };
}

/** The marker that a revoked key leaves: a setting that still contains the key must not add it again. */
const revokedMarker = (hash: string): string => `revoked-key ${hash}`;

async function rememberRevoked(tx: Tx, hash: string): Promise<void> {
  await tx
    .insertInto('markers')
    .values({ name: revokedMarker(hash) })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** Revokes all keys of an account; returns their ids. */
export async function revokeAll(tx: Tx, accountId: string): Promise<string[]> {
  const keys = await tx
    .deleteFrom('keys')
    .where('account_id', '=', accountId)
    .returning(['id', 'hash'])
    .execute();
  for (const { hash } of keys) await rememberRevoked(tx, hash);
  return keys.map(({ id }) => id);
}

/** Adds a key unless a key with the same hash exists or was revoked. */
export async function insertKey(tx: Tx, key: KeyRecord & { hash: string }): Promise<void> {
  const revoked = await tx
    .selectFrom('markers')
    .select('name')
    .where('name', '=', revokedMarker(key.hash))
    .executeTakeFirst();
  if (revoked) return;
  await tx
    .insertInto('keys')
    .values(keyRow(key))
    .onConflict((conflict) => conflict.column('hash').doNothing())
    .execute();
}

function toKey(row: Omit<Selectable<KeysTable>, 'hash' | 'last_used_at'>): KeyRecord {
  return {
    id: row.id,
    accountId: row.account_id,
    name: JSON.parse(row.name),
    scope: row.scope,
    prefix: row.prefix,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  };
}

function toListedKey(row: Selectable<KeysTable>): ListedKey {
  return { ...toKey(row), lastUsedAt: row.last_used_at };
}

/** @throws AppError `limit_reached`; the caller has locked the account */
async function checkNumber(tx: Tx, accountId: string, max: number): Promise<void> {
  const keys = tx.selectFrom('keys').select('id').where('account_id', '=', accountId).limit(max).as('keys');
  const { count } = await tx
    .selectFrom(keys)
    .select((row) => row.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  if (count < max) return;
  throw new AppError(
    'limit_reached',
    `The account has reached the limit of ${max} API keys. Revoke one with DELETE /v1/keys/{id} or "mayfly key revoke".`,
  );
}

/** Whether an account has another live key of scope `full`. */
async function hasAnother(tx: Db, accountId: string, keyId: string, now: number): Promise<boolean> {
  const other = await tx
    .selectFrom('keys')
    .select('id')
    .where('account_id', '=', accountId)
    .where('id', '!=', keyId)
    .where('scope', '=', 'full')
    .where((is) => is.or([is('expires_at', 'is', null), is('expires_at', '>', now)]))
    .limit(1)
    .executeTakeFirst();
  return other !== undefined;
}

function createReads({ db }: Engine): Pick<KeyStore, 'findByHash' | 'newestHash' | 'list' | 'find'> {
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
        key: toKey(row),
        account: toAccount({
          id: row.account_id,
          name: row.account_name,
          plan: row.plan,
          created_at: row.account_created_at,
        }),
      };
    },

    async newestHash(accountId, now) {
      const row = await db
        .selectFrom('keys')
        .select('hash')
        .where('account_id', '=', accountId)
        .where('scope', '=', 'full')
        .where((is) => is.or([is('expires_at', 'is', null), is('expires_at', '>', now)]))
        .orderBy('id', 'desc')
        .limit(1)
        .executeTakeFirst();
      return row?.hash;
    },

    async list(accountId) {
      const rows = await db
        .selectFrom('keys')
        .selectAll()
        .where('account_id', '=', accountId)
        .orderBy('id', 'desc')
        .execute();
      return rows.map(toListedKey);
    },

    async find(keyId) {
      const row = await db.selectFrom('keys').selectAll().where('id', '=', keyId).executeTakeFirst();
      return row && toListedKey(row);
    },
  };
}

export function createKeys(engine: Engine): KeyStore {
  const { db, dialect, transaction } = engine;
  const moveLastUse = prepare((value: Slots<{ keyId: string; at: number }>) =>
    db
      .updateTable('keys')
      .set({ last_used_at: value.at })
      .where('id', '=', value.keyId)
      .where((is) => is.or([is('last_used_at', 'is', null), is('last_used_at', '<', value.at)])),
  );
  return {
    ...createReads(engine),

    create: (key, maxKeys = Number.POSITIVE_INFINITY) =>
      transaction(async (tx) => {
        await lockAccount(tx, dialect, key.accountId);
        if (maxKeys !== Number.POSITIVE_INFINITY) await checkNumber(tx, key.accountId, maxKeys);
        await insertKey(tx, key);
      }),

    revoke: (accountId, keyId, keepOne, now) =>
      transaction(async (tx) => {
        // The account is locked, or two revocations at once could each count on the other's key.
        await dialect
          .lockRows(tx.selectFrom('accounts').select('id').where('id', '=', accountId))
          .executeTakeFirst();
        const mine = await tx
          .selectFrom('keys')
          .select('hash')
          .where('id', '=', keyId)
          .where('account_id', '=', accountId)
          .executeTakeFirst();
        if (!mine) return 'unknown';
        if (keepOne && !(await hasAnother(tx, accountId, keyId, now))) return 'last';
        await tx.deleteFrom('keys').where('id', '=', keyId).execute();
        await rememberRevoked(tx, mine.hash);
        return 'revoked';
      }),

    used: (uses) =>
      transaction(async (tx) => {
        // In the order of the ids, so that no two transactions wait for each other.
        for (const use of uses.toSorted((a, b) => (a.keyId < b.keyId ? -1 : 1))) await moveLastUse(tx, use);
      }),
  };
}
