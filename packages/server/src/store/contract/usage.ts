import type { USAGE_THRESHOLDS } from './retention.ts';

/** How an account's requests are counted, against its month and day by day. Part of the Store's contract. */

/** A calendar month in UTC, `2026-11`. */
export type Month = string;
/** A day in UTC, `2026-11-21`. */
export type Day = string;

/** One of {@link USAGE_THRESHOLDS}, per cent. */
export type UsageThreshold = (typeof USAGE_THRESHOLDS)[number];

export interface DayUsage {
  day: Day;
  requests: number;
}

/** What a node got of an account's month. */
export interface Lease {
  /** Requests it may now answer; 0: none are left. */
  granted: number;
  /** Requests of the month that are out now, this lease included: answered by somebody, or leased. */
  taken: number;
  /** Thresholds that were passed by this call and by none before. */
  passed: UsageThreshold[];
}

/** What a node tells of an account since it told the last time. */
export interface UsageReport {
  accountId: string;
  month: Month;
  /** The month's quota, for the thresholds; null: none. */
  limit: number | null;
  /** Leased requests of that month that it gives back unused. */
  returned: number;
  /** Leased requests that it keeps. */
  kept: number;
  /** Requests it has answered, by day; below zero where more were told before than cost anything. */
  days: DayUsage[];
}

export interface MonthUsage {
  /** As {@link Lease.taken}. */
  taken: number;
  /** When a threshold was first passed, epoch milliseconds. */
  passed: { percent: UsageThreshold; at: number }[];
  /** Days with requests, oldest first; what nodes have not told yet is missing. */
  days: DayUsage[];
}

export interface UsageStore {
  /**
   * Takes a block of the account's month, in one conditional step: all nodes together never get more
   * than `limit` (null: no limit). Durable when it resolves: what is granted is gone, used or not,
   * until it is given back by {@link UsageStore.report}.
   * @param block `want`: how many, fewer are granted near the end; `limit`: the month's quota
   */
  lease(
    accountId: string,
    month: Month,
    block: { want: number; limit: number | null },
    now: number,
  ): Promise<Lease>;
  /**
   * Adds up what nodes tell, in one transaction: gives back leases, counts days.
   * A threshold is passed when `taken - kept`, after what is returned, has reached it.
   * @returns by account, the thresholds that were passed by this call and by none before
   */
  report(
    reports: UsageReport[],
    now: number,
  ): Promise<{ accountId: string; month: Month; passed: UsageThreshold[] }[]>;
  /** An account's month, with the days from `since` on; zeros where nothing was counted. */
  read(accountId: string, month: Month, since: Day): Promise<MonthUsage>;
}
