/** Accounts, and what is theirs for longer than an inbox lives: API keys and domains. Part of the Store's contract. */

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
  /** The first letters of the key, for people to tell keys apart. */
  prefix: string;
  createdAt: number;
  expiresAt: number | null;
}

export interface AccountStore {
  /**
   * Makes the first account together with its first key, unless any account exists: two processes
   * that start at once make one.
   * @returns true when it was made
   */
  createFirst(account: AccountRecord, key: KeyRecord & { hash: string }): Promise<boolean>;
  /** The oldest account, or undefined before the first start. */
  findFirst(): Promise<AccountRecord | undefined>;
  find(accountId: string): Promise<AccountRecord | undefined>;
  /** Makes an account, with its first key or without one. */
  create(account: AccountRecord, key: (KeyRecord & { hash: string }) | null): Promise<void>;
  /** Accounts by id, oldest first, those after the id `after`. */
  list(page: {
    limit: number;
    after: string | null;
  }): Promise<{ accounts: AccountRecord[]; hasMore: boolean }>;
  /** Puts an account on another plan; in force from the next look at it. Undefined when there is none. */
  setPlan(accountId: string, plan: string): Promise<AccountRecord | undefined>;
  /**
   * Deletes an account. Its keys, domains and webhooks end in one step, and from there on nothing is made for
   * it (creations throw `unauthorized`); then its inboxes end, live or expired; when it resolves, all that
   * clients sent or made is gone from the storage, in small steps that do not hold up others. What stays:
   * counts of its usage, for as long as any are kept; the quarantine of its addresses; refusals. Stopped on
   * its way, it goes on when it is called again.
   * @returns `last` for the only account, which is left as it is; `unknown` when there is none
   */
  delete(accountId: string, now: number): Promise<'deleted' | 'last' | 'unknown'>;
}

/** A key as lists show it. */
export interface ListedKey extends KeyRecord {
  /** The last use that was told, epoch milliseconds; null: none yet. */
  lastUsedAt: number | null;
}

/** A browser that signed in to the console. It may do what its credential may, as long as that is good. */
export interface SessionRecord {
  /** Hash of the session's secret, as {@link KeyStore.findByHash} has one of a key. */
  hash: string;
  /** Hash of the API key or read token that it was made with. */
  credentialHash: string;
  kind: 'key' | 'token';
  createdAt: number;
  /** The last use that was recorded, epoch milliseconds. */
  usedAt: number;
}

export interface SessionStore {
  create(session: Omit<SessionRecord, 'usedAt'>): Promise<void>;
  /** The session with that hash, unless it was unused or is older than sessions may be (`retention.ts`). */
  find(hash: string, now: number): Promise<SessionRecord | undefined>;
  /** Records a use; an earlier time than the recorded one changes nothing. */
  used(hash: string, at: number): Promise<void>;
  delete(hash: string): Promise<void>;
}

export interface KeyStore {
  /** Hash of the newest live key of scope `full`, for a session without the key itself; undefined without one. */
  newestHash(accountId: string, now: number): Promise<string | undefined>;
  /** The live key with that {@link hashCredential}, with its account; revoked or expired: undefined. */
  findByHash(hash: string, now: number): Promise<{ key: KeyRecord; account: AccountRecord } | undefined>;
  /**
   * Adds a key; the account exists. Throws nothing for a hash already known: that key stays as it is, and
   * a revoked one stays revoked.
   * @throws AppError `limit_reached` where the account has `maxKeys` keys, expired ones too; no limit without it
   */
  create(key: KeyRecord & { hash: string }, maxKeys?: number): Promise<void>;
  /** An account's keys, newest first; expired ones until they are revoked. */
  list(accountId: string): Promise<ListedKey[]>;
  /** Of any account, for the operator. */
  find(keyId: string): Promise<ListedKey | undefined>;
  /**
   * Revokes a key: {@link KeyStore.findByHash} never knows it again. With `keepOne`, in the same step,
   * only when another live key of scope `full` is left to the account.
   */
  revoke(
    accountId: string,
    keyId: string,
    keepOne: boolean,
    now: number,
  ): Promise<'revoked' | 'last' | 'unknown'>;
  /** Remembers when keys were last used; an earlier time than the known one changes nothing. */
  used(uses: { keyId: string; at: number }[]): Promise<void>;
}

/** A served domain that belongs to one account. */
export interface DomainRecord {
  /** Lower case. */
  domain: string;
  accountId: string;
  createdAt: number;
}

export interface DomainStore {
  /** Gives a domain to an account. @returns false when it belongs to one already, or no such account is there */
  add(domain: DomainRecord): Promise<boolean>;
  /** @returns false when nobody had it. Its inboxes live on and get no more mail. */
  remove(domain: string): Promise<boolean>;
  /** Whose a domain is. */
  find(domain: string): Promise<DomainRecord | undefined>;
  /** An account's domains, or everybody's (`null`), by name. */
  list(accountId: string | null): Promise<DomainRecord[]>;
}
