import type { USAGE_THRESHOLDS } from './retention.ts';

/** How an account's requests are counted, against its month and day by day. Part of the Store's contract. */

/** A calendar month in UTC, `2026-11`. */
export type Month = string;
/** A day in UTC, `2026-11-21`. */
export type Day = string;

/** @param time epoch milliseconds */
export const dayOf = (time: number): Day => new Date(time).toISOString().slice(0, 10);
/** @param time epoch milliseconds */
export const monthOf = (time: number): Month => dayOf(time).slice(0, 7);

/** One of {@link USAGE_THRESHOLDS}, per cent. */
export type UsageThreshold = (typeof USAGE_THRESHOLDS)[number];

export interface DayUsage {
  day: Day;
  requests: number;
}

/** A block of an account's month that a node may use. */
export interface Lease {
  /** Requests that the node may serve; 0 if none are left. */
  granted: number;
  /** Requests of the month that are used or leased, this lease included. */
  taken: number;
  /** Thresholds that were passed by this call and by none before. */
  passed: UsageThreshold[];
}

/** What a node reports of an account since its last report. */
export interface UsageReport {
  accountId: string;
  month: Month;
  /** The month's quota, for the thresholds; null without one. */
  limit: number | null;
  /** Leased requests of that month that the node returns unused. */
  returned: number;
  /** Leased requests that the node keeps. */
  kept: number;
  /** Requests that the node served, by day; negative if more were reported before than were charged. */
  days: DayUsage[];
}

export interface MonthUsage {
  /** As {@link Lease.taken}. */
  taken: number;
  /** When a threshold was first passed, epoch milliseconds. */
  passed: { percent: UsageThreshold; at: number }[];
  /** Days with requests, oldest first, without what nodes have not reported yet. */
  days: DayUsage[];
}

export interface UsageStore {
  /**
   * Takes a block of the account's month, in one conditional step: all nodes together never get more
   * than `limit` (null: no limit). What is granted counts as used from then on,
   * until it is returned by {@link UsageStore.report}.
   * @param block `want`: how many, fewer are granted near the end; `limit`: the month's quota
   */
  lease(
    accountId: string,
    month: Month,
    block: { want: number; limit: number | null },
    now: number,
  ): Promise<Lease>;
  /**
   * Stores reports in one transaction: returns leases and adds to the counts of days.
   * A threshold is passed when `taken - kept`, after what is returned, reaches it.
   * @returns by account, the thresholds that were passed by this call and by none before
   */
  report(
    reports: UsageReport[],
    now: number,
  ): Promise<{ accountId: string; month: Month; passed: UsageThreshold[] }[]>;
  /** An account's month, with the days from `since` on; zeros where nothing was counted. */
  read(accountId: string, month: Month, since: Day): Promise<MonthUsage>;
}
