/** Accounts with their API keys, sessions and domains. Part of the Store's contract. */

export interface AccountRecord {
  id: string;
  name: string;
  plan: string;
  createdAt: number;
}

export type KeyScope = 'full' | 'read';

export interface KeyRecord {
  id: string;
  accountId: string;
  name: string;
  scope: KeyScope;
  /** The first characters of the key, shown to tell keys apart. */
  prefix: string;
  createdAt: number;
  expiresAt: number | null;
}

export interface AccountStore {
  /**
   * Creates the first account together with its first key, unless an account exists. Of two processes that
   * start at once, one creates it.
   * @returns true if it was created
   */
  createFirst(account: AccountRecord, key: KeyRecord & { hash: string }): Promise<boolean>;
  /** The oldest account, or undefined before the first start. */
  findFirst(): Promise<AccountRecord | undefined>;
  find(accountId: string): Promise<AccountRecord | undefined>;
  /** Creates an account, with its first key or without one. */
  create(account: AccountRecord, key: (KeyRecord & { hash: string }) | null): Promise<void>;
  /** Accounts by id, oldest first, those after the id `after`. */
  list(page: {
    limit: number;
    after: string | null;
  }): Promise<{ accounts: AccountRecord[]; hasMore: boolean }>;
  /** Changes the plan of an account; undefined if there is no such account. */
  setPlan(accountId: string, plan: string): Promise<AccountRecord | undefined>;
  /**
   * Deletes an account. First its keys, domains and webhooks end in one transaction; from then on nothing can
   * be created for it (`unauthorized`). Then its inboxes end, live or expired. When it resolves, everything
   * that clients sent or created is deleted from the storage, in short transactions. Counts of its usage, the
   * quarantine of its addresses, and rejections are kept as long as always. If it is interrupted, another call
   * continues it.
   * @returns `last` for the only account, which is not deleted; `unknown` if there is no such account
   */
  delete(accountId: string, now: number): Promise<'deleted' | 'last' | 'unknown'>;
}

/** A key in a list. */
export interface ListedKey extends KeyRecord {
  /** The last recorded use, epoch milliseconds; null if there was none. */
  lastUsedAt: number | null;
}

export interface KeyStore {
  /** Hash of the newest live key of scope `full`, for a session without the key itself; undefined without one. */
  newestHash(accountId: string, now: number): Promise<string | undefined>;
  /** The live key with that {@link hashCredential}, with its account; revoked or expired: undefined. */
  findByHash(hash: string, now: number): Promise<{ key: KeyRecord; account: AccountRecord } | undefined>;
  /**
   * Adds a key to an account that exists. A key with the same hash stays as it is, and a revoked one stays
   * revoked, without an error.
   * @throws AppError `limit_reached` if the account has `maxKeys` keys, expired ones included
   */
  create(key: KeyRecord & { hash: string }, maxKeys?: number): Promise<void>;
  /** An account's keys, newest first; expired ones until they are revoked. */
  list(accountId: string): Promise<ListedKey[]>;
  /** Of any account, for the operator. */
  find(keyId: string): Promise<ListedKey | undefined>;
  /**
   * Revokes a key for good. With `keepOne` only if the account has another live key of scope `full`, checked
   * in the same transaction.
   */
  revoke(
    accountId: string,
    keyId: string,
    keepOne: boolean,
    now: number,
  ): Promise<'revoked' | 'last' | 'unknown'>;
  /** Records when keys were last used; an earlier time than the recorded one changes nothing. */
  used(uses: { keyId: string; at: number }[]): Promise<void>;
}

/** A served domain that belongs to one account. */
export interface DomainRecord {
  /** Lower case. */
  domain: string;
  accountId: string;
  createdAt: number;
}
