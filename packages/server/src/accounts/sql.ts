import type { Key } from '@mayfly/client/contract';
import {
  constant,
  type Db,
  EMPTY,
  FOR_UPDATE,
  read,
  type Sql,
  sql,
  type Tx,
  write,
} from '../database/sql.ts';
import { AppError } from '../errors.ts';

export interface AccountRecord {
  id: string;
  name: string;
  plan: string;
  createdAt: number;
}

export type KeyScope = Key['scope'];

export interface KeyRecord extends Pick<Key, 'id' | 'name' | 'scope' | 'prefix'> {
  accountId: string;
  createdAt: number;
  /** Epoch milliseconds; null if the key never expires. */
  expiresAt: number | null;
}

export interface ListedKey extends KeyRecord {
  /** Epoch milliseconds; null before the first use. */
  lastUsedAt: number | null;
}

type HashedKey = KeyRecord & { hash: string };

export interface DomainRecord {
  domain: string;
  accountId: string;
  createdAt: number;
}

/** Locks an account, so that concurrent writes cannot exceed its limits. @returns false if deleted or being deleted */
async function lockAccount(tx: Tx, accountId: string): Promise<boolean> {
  const account = await tx.first(
    sql`select id from accounts where id = ${accountId} and deleted_at is null ${FOR_UPDATE}`,
  );
  return account !== undefined;
}

/** @throws AppError `unauthorized` if the account of a request is deleted or being deleted */
export async function requireAccount(tx: Tx, accountId: string): Promise<void> {
  if (await lockAccount(tx, accountId)) return;
  throw new AppError(
    'unauthorized',
    'The account of this credential is deleted. Use a credential of another account.',
  );
}

const named = <Row extends { name: string }>(row: Row): Row => ({ ...row, name: JSON.parse(row.name) });

const ACCOUNT = constant('id, name, plan, created_at as "createdAt"');

async function findAccount(db: Db, condition: Sql): Promise<AccountRecord | undefined> {
  const row = await db.first<AccountRecord>(sql`select ${ACCOUNT} from accounts where ${condition}`);
  return row && named(row);
}

const FIRST = constant('deleted_at is null order by created_at, id limit 1');

async function insertAccount(tx: Tx, { id, name, plan, createdAt }: AccountRecord): Promise<void> {
  await tx.run(
    sql`insert into accounts (id, name, plan, created_at) values (${id}, ${JSON.stringify(name)}, ${plan}, ${createdAt})`,
  );
  await tx.run(
    sql`insert into account_orders (account_seq, last) select seq, 0 from accounts where id = ${id}`,
  );
}

export const accounts = {
  /** Creates the first account and its key. @returns false if an account exists or is being created */
  createFirst: write({ mayUseReserve: true }, async (tx, account: AccountRecord, key: HashedKey) => {
    // If two processes start at once, only the one that inserts the marker creates the account.
    const mine = await tx.run(
      sql`insert into markers (name) values ('first-account') on conflict (name) do nothing`,
    );
    if (mine === 0 || (await findAccount(tx, FIRST))) return false;
    await insertAccount(tx, account);
    await addKey(tx, key);
    return true;
  }),

  findFirst: read((db) => findAccount(db, FIRST)),

  find: read((db, id: string) => findAccount(db, sql`id = ${id}`)),

  create: write(async (tx, account: AccountRecord, key: HashedKey | null): Promise<void> => {
    await insertAccount(tx, account);
    // No `on conflict`: if the hash exists, this must fail, and not leave the account without the key.
    if (key) await insertKey(tx, key, EMPTY);
  }),

  list: read(async (db, limit?: number): Promise<AccountRecord[]> => {
    const rows = await db.all<AccountRecord>(
      sql`select ${ACCOUNT} from accounts order by id limit ${limit ?? Number.MAX_SAFE_INTEGER}`,
    );
    return rows.map(named);
  }),

  setPlan: write({ mayUseReserve: true }, async (tx, id: string, plan: string) => {
    const row = await tx.first<AccountRecord>(
      sql`update accounts set plan = ${plan} where id = ${id} returning ${ACCOUNT}`,
    );
    return row && named(row);
  }),
};

const KEY = constant(
  'id, account_id as "accountId", name, scope, prefix, created_at as "createdAt", expires_at as "expiresAt"',
);
const LISTED_KEY = sql`${KEY}, last_used_at as "lastUsedAt"`;
const isUnexpired = (now: number) => sql`(expires_at is null or expires_at > ${now})`;

/** Marks a revoked key, so that a starting server does not add it again from its configuration. */
const revokedMarker = (hash: string): string => `revoked-key ${hash}`;

async function rememberRevoked(tx: Tx, hash: string): Promise<void> {
  await tx.run(sql`insert into markers (name) values (${revokedMarker(hash)}) on conflict (name) do nothing`);
}

export async function revokeAll(tx: Tx, accountId: string): Promise<string[]> {
  const revoked = await tx.all<{ id: string; hash: string }>(
    sql`delete from keys where account_id = ${accountId} returning id, hash`,
  );
  for (const { hash } of revoked) await rememberRevoked(tx, hash);
  return revoked.map(({ id }) => id);
}

async function insertKey(
  tx: Tx,
  key: HashedKey,
  onConflict = sql`on conflict (hash) do nothing`,
): Promise<void> {
  const { id, hash, accountId, name, scope, prefix, createdAt, expiresAt } = key;
  await tx.run(
    sql`insert into keys (id, hash, account_id, name, scope, prefix, created_at, expires_at)
      values (${id}, ${hash}, ${accountId}, ${JSON.stringify(name)}, ${scope}, ${prefix}, ${createdAt}, ${expiresAt})
      ${onConflict}`,
  );
}

async function addKey(tx: Tx, key: HashedKey): Promise<void> {
  const revoked = await tx.first(sql`select name from markers where name = ${revokedMarker(key.hash)}`);
  if (!revoked) await insertKey(tx, key);
}

export const keys = {
  /** Finds a key by its hash, with its account. @returns undefined if the key is revoked or expired */
  findByHash: read(async (db, hash: string, now: number) => {
    const row = await db.first<KeyRecord & { accountName: string; plan: string; accountCreatedAt: number }>(
      sql`select k.id, k.account_id as "accountId", k.name, k.scope, k.prefix, k.created_at as "createdAt",
          k.expires_at as "expiresAt", a.name as "accountName", a.plan, a.created_at as "accountCreatedAt"
        from keys k join accounts a on a.id = k.account_id where k.hash = ${hash} and ${isUnexpired(now)}`,
    );
    if (!row) return undefined;
    const { accountName, plan, accountCreatedAt: createdAt, ...key } = row;
    return { key: named(key), account: named({ id: key.accountId, name: accountName, plan, createdAt }) };
  }),

  /** Hash of the newest live key of scope `full`, for a session that is created without a key. */
  newestHash: read(async (db, accountId: string, now: number): Promise<string | undefined> => {
    const row = await db.first<{ hash: string }>(
      sql`select hash from keys where account_id = ${accountId} and scope = 'full' and ${isUnexpired(now)}
        order by id desc limit 1`,
    );
    return row?.hash;
  }),

  list: read(async (db, accountId: string): Promise<ListedKey[]> => {
    const rows = await db.all<ListedKey>(
      sql`select ${LISTED_KEY} from keys where account_id = ${accountId} order by id desc`,
    );
    return rows.map(named);
  }),

  find: read(async (db, id: string): Promise<ListedKey | undefined> => {
    const row = await db.first<ListedKey>(sql`select ${LISTED_KEY} from keys where id = ${id}`);
    return row && named(row);
  }),

  /** Adds a key, unless its hash exists or was revoked. @throws AppError `limit_reached` at `maxKeys` */
  create: write(
    // A server that starts on a full disk must be able to add the key of MAYFLY_API_KEY.
    { mayUseReserve: true },
    async (tx, key: HashedKey, maxKeys?: number): Promise<void> => {
      await requireAccount(tx, key.accountId);
      if (maxKeys !== undefined) {
        const some = await tx.all(
          sql`select id from keys where account_id = ${key.accountId} limit ${maxKeys}`,
        );
        if (some.length >= maxKeys)
          throw new AppError(
            'limit_reached',
            `The account has reached the limit of ${maxKeys} API keys. Revoke one with DELETE /v1/keys/{id} or "mayfly key revoke".`,
          );
      }
      await addKey(tx, key);
    },
  ),

  /** Revokes a key. With `keepOne`, only if the account has another live key of scope `full`. */
  revoke: write(
    { mayUseReserve: true },
    async (tx, accountId: string, id: string, keepOne: boolean, now: number) => {
      // Locks the account: two concurrent revocations could each rely on the key that the other one revokes.
      await tx.first(sql`select id from accounts where id = ${accountId} ${FOR_UPDATE}`);
      const mine = await tx.first<{ hash: string }>(
        sql`select hash from keys where id = ${id} and account_id = ${accountId}`,
      );
      if (!mine) return 'unknown';
      const another = sql`select id from keys
        where account_id = ${accountId} and id <> ${id} and scope = 'full' and ${isUnexpired(now)} limit 1`;
      if (keepOne && !(await tx.first(another))) return 'last';
      await tx.run(sql`delete from keys where id = ${id}`);
      await rememberRevoked(tx, mine.hash);
      return 'revoked';
    },
  ),

  used: write(
    { mayUseReserve: true, keepsInboxes: true },
    async (tx, uses: { keyId: string; at: number }[]): Promise<void> => {
      // All transactions update keys in the same order, to prevent deadlocks.
      for (const { keyId, at } of uses.toSorted((a, b) => (a.keyId < b.keyId ? -1 : 1)))
        await tx.run(
          sql`update keys set last_used_at = ${at}
            where id = ${keyId} and (last_used_at is null or last_used_at < ${at})`,
        );
    },
  ),
};

const DOMAIN = constant('domain, account_id as "accountId", created_at as "createdAt"');

export const domains = {
  /** Returns false if the domain belongs to an account already, or the account does not exist. */
  add: write(async (tx, { domain, accountId, createdAt }: DomainRecord): Promise<boolean> => {
    if (!(await lockAccount(tx, accountId))) return false;
    const added = await tx.run(
      sql`insert into domains (domain, account_id, created_at) values (${domain}, ${accountId}, ${createdAt})
        on conflict (domain) do nothing`,
    );
    return added > 0;
  }),

  /** Removes a domain. Its inboxes stay, but get no more mail. @returns false if it belonged to no account */
  remove: write(
    { mayUseReserve: true },
    async (tx, domain: string) => (await tx.run(sql`delete from domains where domain = ${domain}`)) > 0,
  ),

  find: read((db, domain: string) =>
    db.first<DomainRecord>(sql`select ${DOMAIN} from domains where domain = ${domain}`),
  ),

  /** The domains of an account, or of all accounts if `accountId` is null, sorted by name. */
  list: read((db, accountId: string | null) => {
    const ofAccount = accountId === null ? EMPTY : sql`where account_id = ${accountId}`;
    return db.all<DomainRecord>(sql`select ${DOMAIN} from domains ${ofAccount} order by domain`);
  }),
};
