import type { ProviderName } from '@mayfly/client/contract';
import { requireAccount } from '../accounts/sql.ts';
import { EMPTY, FOR_UPDATE_SKIP_LOCKED, parseOr, read, sql, type Tx, write } from '../database/sql.ts';

/** Limit of the templates of one owner for all providers together. */
const MAX_TEMPLATES = 1_000;
/** Limit of the total size of one owner's templates, because one response may contain all of them. */
const MAX_TEMPLATE_BYTES = 16 * 1024 * 1024;
/** Limit of stored request results per owner, provider and kind. Tests read them soon after a request. */
const MAX_REQUESTS = 2_000;
const REMOVED_PER_STEP = 100;

export type ItemKind = 'settings' | 'template' | 'idempotency' | 'sent' | 'received';

/** Owner of items, such as templates and settings: an account, or the inbox of a read token. */
export interface ItemOwner {
  id: string;
  accountId: string;
}

export interface Item {
  owner: ItemOwner;
  provider: ProviderName;
  kind: ItemKind;
  name: string;
}

const isOne = ({ owner, provider, kind, name }: Item) =>
  sql`owner = ${owner.id} and provider = ${provider} and kind = ${kind} and name = ${JSON.stringify(name)}`;

/** @returns the number of rows, 0 or 1. @throws AppError `unauthorized` if the account is being deleted */
async function insert(tx: Tx, item: Item, value: unknown, expiresAt: number, where = EMPTY): Promise<number> {
  const { owner, provider, kind, name } = item;
  await requireAccount(tx, owner.accountId);
  const text = JSON.stringify(value);
  return tx.run(sql`insert into provider_items (owner, provider, kind, name, account_id, value, bytes, expires_at)
    values (${owner.id}, ${provider}, ${kind}, ${JSON.stringify(name)}, ${owner.accountId}, ${text}, ${text.length}, ${expiresAt})
    on conflict (owner, provider, kind, name) do update
      set value = excluded.value, bytes = excluded.bytes, expires_at = excluded.expires_at ${where}`);
}

async function find(tx: Pick<Tx, 'first'>, item: Item, now: number): Promise<{ value: unknown } | undefined> {
  const row = await tx.first<{ value: string }>(
    sql`select value from provider_items where ${isOne(item)} and expires_at > ${now}`,
  );
  return row && { value: parseOr<unknown>(row.value, null) };
}

export const providerItems = {
  find: read(find),

  list: read(async (db, { owner, provider, kind }: Omit<Item, 'name'>, now: number) => {
    const rows = await db.all<{ name: string; value: string }>(
      sql`select name, value from provider_items
        where owner = ${owner.id} and provider = ${provider} and kind = ${kind} and expires_at > ${now} order by name`,
    );
    return rows.map(({ name, value }) => ({ name: parseOr(name, ''), value: parseOr<unknown>(value, null) }));
  }),

  /** @returns false if the owner has reached a limit of templates */
  keep: write({ keepsInboxes: true }, async (tx, item: Item, value: unknown, expiresAt: number) => {
    await insert(tx, item, value, expiresAt);
    if (item.kind !== 'template') return true;
    const kept = await tx.first<{ items: number; bytes: number }>(
      sql`select count(*) as items, sum(bytes) as bytes from provider_items
          where owner = ${item.owner.id} and kind = 'template'`,
    );
    if (!kept || (kept.items <= MAX_TEMPLATES && Number(kept.bytes) <= MAX_TEMPLATE_BYTES)) return true;
    await tx.run(sql`delete from provider_items where ${isOne(item)}`);
    return false;
  }),

  /** Stores a value unless an unexpired one exists, atomically for all nodes. @returns the existing one */
  keepFirst: write(
    { keepsInboxes: true },
    async (tx, item: Item, value: unknown, expiresAt: number, now: number) => {
      const isExpired = sql`where provider_items.expires_at <= ${now}`;
      if ((await insert(tx, item, value, expiresAt, isExpired)) === 0) return find(tx, item, now);
      const { owner, provider, kind } = item;
      await tx.run(
        sql`delete from provider_items where (owner, provider, kind, name) in (
          select owner, provider, kind, name from provider_items
          where owner = ${owner.id} and provider = ${provider} and kind = ${kind}
          order by expires_at desc, name limit ${REMOVED_PER_STEP} offset ${MAX_REQUESTS} ${FOR_UPDATE_SKIP_LOCKED})`,
      );
      return undefined;
    },
  ),

  remove: write(
    { keepsInboxes: true, mayUseReserve: true },
    async (tx, item: Item) => (await tx.run(sql`delete from provider_items where ${isOne(item)}`)) > 0,
  ),
};
