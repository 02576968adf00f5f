/** Limits that all nodes keep together. Part of the Store's contract. */

/** What a node admitted of an account's rate since it reported last. */
export interface RateUse {
  accountId: string;
  /** How long the account's bucket takes to refill what was used, milliseconds; 0 only reads. */
  refillMs: number;
  /** How long ago the first of these uses was, milliseconds: the bucket has refilled since. */
  sinceMs: number;
}

/** An account's bucket, with the reported uses of all nodes. */
export interface RateLevel {
  accountId: string;
  /** Milliseconds until the bucket is full again; 0 when it is full. More than a bucket holds is a debt. */
  fullInMs: number;
}

/** At most `limit` events with this key within any `windowMs` milliseconds. */
export interface EventWindow {
  key: string;
  limit: number;
  windowMs: number;
}

/** A window that is full. */
export interface FullWindow {
  key: string;
  /** Milliseconds until the next event is let through. */
  waitMs: number;
}

export interface LimitStore {
  /**
   * Adds uses to the buckets of accounts. Where several nodes write, time is that of the database, so that
   * nodes with different clocks agree.
   * @param uses at most one for each account
   * @returns a level for each of them
   */
  use(uses: RateUse[], now: number): Promise<RateLevel[]>;
  /**
   * Counts an event under all windows, or under none if one of them is full, in one step: no number of calls at
   * once on any number of nodes exceeds a limit. All callers name their windows in one order.
   * @returns the full window with the longest wait; null when the event was counted
   */
  admit(windows: EventWindow[], now: number): Promise<FullWindow | null>;
}
