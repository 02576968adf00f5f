import type { Generated } from 'kysely';

/** Accounts, what may act for them, and what they have used. */
export interface AccountTables {
  accounts: AccountsTable;
  keys: KeysTable;
  sessions: SessionsTable;
  usage_months: UsageMonthsTable;
  usage_days: UsageDaysTable;
  domains: DomainsTable;
}

export interface AccountsTable {
  seq: Generated<number>;
  id: string;
  /** JSON text. */
  name: string;
  plan: string;
  created_at: number;
  /** Set while the account is being deleted; its row is deleted last. */
  deleted_at: number | null;
}

export interface KeysTable {
  id: string;
  hash: string;
  account_id: string;
  /** JSON text. */
  name: string;
  scope: 'full' | 'read';
  prefix: string;
  created_at: number;
  expires_at: number | null;
  last_used_at: number | null;
}

/** Sessions of the console. */
interface SessionsTable {
  hash: string;
  credential_hash: string;
  kind: 'key' | 'token';
  created_at: number;
  used_at: number;
}

/** Served domains that belong to one account each. */
export interface DomainsTable {
  domain: string;
  account_id: string;
  created_at: number;
}

/** What all nodes have leased of an account's quota in a calendar month. */
export interface UsageMonthsTable {
  account_id: string;
  /** `2026-11`, in UTC. */
  month: string;
  /** Requests used or leased. */
  taken: number;
  /** What the last lease was granted: the upsert that decides it can return only columns. */
  last_grant: number;
  /** When 80 and 100 per cent of the quota were first used; null if not yet. */
  passed_80_at: number | null;
  passed_100_at: number | null;
}

/** Requests of an account on a day. */
interface UsageDaysTable {
  account_id: string;
  /** `2026-11-21`, in UTC. */
  day: string;
  requests: number;
}
