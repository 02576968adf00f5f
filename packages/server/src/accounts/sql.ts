import { read, type Tx, write } from '../database/operations.ts';
import { EMPTY, FOR_UPDATE, sql } from '../database/sql.ts';
import type { DomainRecord } from '../store/contract/accounts.ts';

/**
 * Locks an account until the transaction ends. Transactions that count what the account has before they add
 * to it lock it first; otherwise two at once could both find room for the last one.
 * @returns false if the account is deleted or being deleted
 */
export async function lockAccount(tx: Tx, accountId: string): Promise<boolean> {
  const account = await tx.first(
    sql`select id from accounts where id = ${accountId} and deleted_at is null ${FOR_UPDATE}`,
  );
  return account !== undefined;
}

interface DomainRow {
  domain: string;
  account_id: string;
  created_at: number;
}

const toDomain = ({ domain, account_id: accountId, created_at: createdAt }: DomainRow): DomainRecord => ({
  domain,
  accountId,
  createdAt,
});

/** Served domains that belong to one account each. */
export const domains = {
  /**
   * Assigns a domain to an account.
   * @returns false if it belongs to an account already, or the account does not exist
   */
  add: write(async (tx, { domain, accountId, createdAt }: DomainRecord): Promise<boolean> => {
    // Locked, so that nothing is added to an account whose deletion has removed its domains.
    if (!(await lockAccount(tx, accountId))) return false;
    const added = await tx.run(
      sql`insert into domains (domain, account_id, created_at) values (${domain}, ${accountId}, ${createdAt})
        on conflict (domain) do nothing`,
    );
    return added > 0;
  }),

  /** Its inboxes stay, and get no more mail. @returns false if it belonged to no account */
  remove: write(
    async (tx, domain: string): Promise<boolean> =>
      (await tx.run(sql`delete from domains where domain = ${domain}`)) > 0,
    { mayUseReserve: true },
  ),

  /** The domain with its owner. */
  find: read(async (db, domain: string): Promise<DomainRecord | undefined> => {
    const row = await db.first<DomainRow>(
      sql`select domain, account_id, created_at from domains where domain = ${domain}`,
    );
    return row && toDomain(row);
  }),

  /** The domains of an account, or of all accounts (`null`), by name. */
  list: read(async (db, accountId: string | null): Promise<DomainRecord[]> => {
    const ofAccount = accountId === null ? EMPTY : sql`where account_id = ${accountId}`;
    const rows = await db.all<DomainRow>(
      sql`select domain, account_id, created_at from domains ${ofAccount} order by domain`,
    );
    return rows.map(toDomain);
  }),
};
