import { DAY_MS, SECOND_MS } from '../clock.ts';
import { read, type Tx, write } from '../database/operations.ts';
import { constant, databaseTime, sql } from '../database/sql.ts';
import type { Day, Month } from './calendar.ts';

/** How requests are counted, against the month of their account and day by day, and what else all nodes limit together. */

/**
 * How long requests by day and month are stored: a year and a month, so that a month can be compared with
 * the same month of the year before.
 */
export const USAGE_KEPT_MS = 400 * DAY_MS;
/** Shares of a month's quota, per cent, whose first use is stored, shown and logged: a warning, and the limit. */
export const USAGE_THRESHOLDS = [80, 100] as const;

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

/** A month as stored. */
interface MonthRow {
  taken: number;
  /** When 80 and 100 per cent of the quota were first used. */
  passed80: number | null;
  passed100: number | null;
}
const MONTH = constant('taken, passed_80_at as "passed80", passed_100_at as "passed100"');
const COLUMN_OF = { 80: constant('passed_80_at'), 100: constant('passed_100_at') } as const;
const passedAt = ({ passed80, passed100 }: MonthRow) => ({ 80: passed80, 100: passed100 });

/** Stores which thresholds a number of used requests has passed; returns those that were not stored before. */
async function pass(
  tx: Tx,
  { accountId, month, limit }: Pick<UsageReport, 'accountId' | 'month' | 'limit'>,
  row: MonthRow,
  used: number,
  now: number,
): Promise<UsageThreshold[]> {
  const passed: UsageThreshold[] = [];
  if (limit === null) return passed;
  for (const threshold of USAGE_THRESHOLDS) {
    // Most thresholds are known from the row, which saves the statement.
    if (used * 100 < limit * threshold || passedAt(row)[threshold] !== null) continue;
    const column = COLUMN_OF[threshold];
    const noted = await tx.run(
      sql`update usage_months set ${column} = ${now}
        where account_id = ${accountId} and month = ${month} and ${column} is null`,
    );
    if (noted > 0) passed.push(threshold);
  }
  return passed;
}

/** Transactions lock rows in one order, so that no two wait for each other. */
function inOrder<T>(rows: T[], keyOf: (row: T) => string): T[] {
  return rows.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : Number(keyOf(a) > keyOf(b))));
}

/** Adds reports to the counts of days, with one sum for each account and day. */
async function addDays(tx: Tx, reports: UsageReport[]): Promise<void> {
  const all = reports.flatMap(({ accountId, days }) => days.map((day) => ({ accountId, ...day })));
  const byKey = Map.groupBy(all, ({ accountId, day }) => `${accountId} ${day}`);
  for (const [, [first, ...others]] of inOrder([...byKey], ([key]) => key)) {
    if (!first) continue;
    const { accountId, day } = first;
    const requests = others.reduce((sum, other) => sum + other.requests, first.requests);
    if (requests > 0)
      await tx.run(
        sql`insert into usage_days (account_id, day, requests) values (${accountId}, ${day}, ${requests})
          on conflict (account_id, day) do update set requests = usage_days.requests + excluded.requests`,
      );
    if (requests < 0)
      await tx.run(
        sql`update usage_days set requests = requests + ${requests}
          where account_id = ${accountId} and day = ${day} and requests + ${requests} >= 0`,
      );
  }
}

/** Counting requests. */
export const usage = {
  /**
   * Takes a block of the account's month, in one conditional step: all nodes together never get more
   * than `limit` (null: no limit). What is granted counts as used from then on,
   * until it is returned by {@link usage.report}.
   * @param block `want`: how many, fewer are granted near the end; `limit`: the month's quota
   */
  lease: write(
    async (
      tx,
      accountId: string,
      month: Month,
      { want, limit }: { want: number; limit: number | null },
      now: number,
    ): Promise<Lease> => {
      const max = limit ?? Number.MAX_SAFE_INTEGER;
      const first = Math.min(want, max);
      // Every expression sees the row as it was before.
      const grant = sql`case when usage_months.taken >= ${max} then 0
        when ${max} - usage_months.taken < ${want} then ${max} - usage_months.taken else ${want} end`;
      const row = await tx.first<MonthRow & { granted: number }>(
        sql`insert into usage_months (account_id, month, taken, last_grant)
          values (${accountId}, ${month}, ${first}, ${first})
          on conflict (account_id, month) do update set taken = usage_months.taken + ${grant}, last_grant = ${grant}
          returning ${MONTH}, last_grant as granted`,
      );
      if (!row) throw new Error('The upsert of a month returned no row.');
      const { taken, granted } = row;
      const passed = await pass(tx, { accountId, month, limit }, row, taken - granted, now);
      return { granted, taken, passed };
    },
    { mayUseReserve: true, keepsInboxes: true },
  ),

  /**
   * Stores reports in one transaction: returns leases and adds to the counts of days.
   * A threshold is passed when `taken - kept`, after what is returned, reaches it.
   * @returns by account, the thresholds that were passed by this call and by none before
   */
  report: write(
    async (tx, reports: UsageReport[], now: number) => {
      const all: { accountId: string; month: Month; passed: UsageThreshold[] }[] = [];
      for (const report of inOrder(reports, ({ accountId, month }) => `${accountId} ${month}`)) {
        const { accountId, month, returned, kept } = report;
        const row = await tx.first<MonthRow>(
          sql`update usage_months set taken = case when taken > ${returned} then taken - ${returned} else 0 end
            where account_id = ${accountId} and month = ${month} returning ${MONTH}`,
        );
        // A month without leases has passed no threshold.
        if (!row) continue;
        const passed = await pass(tx, report, row, row.taken - kept, now);
        if (passed.length > 0) all.push({ accountId, month, passed });
      }
      await addDays(tx, reports);
      return all;
    },
    { mayUseReserve: true, keepsInboxes: true },
  ),

  /** An account's month, with the days from `since` on; zeros where nothing was counted. */
  read: read(async (db, accountId: string, month: Month, since: Day): Promise<MonthUsage> => {
    const row = await db.first<MonthRow>(
      sql`select ${MONTH} from usage_months where account_id = ${accountId} and month = ${month}`,
    );
    const days = await db.all<DayUsage>(
      sql`select day, requests from usage_days where account_id = ${accountId} and day >= ${since} order by day`,
    );
    const passed = USAGE_THRESHOLDS.flatMap((percent) => {
      const at = row && passedAt(row)[percent];
      return at == null ? [] : [{ percent, at }];
    });
    return { taken: row?.taken ?? 0, passed, days };
  }),
};

/** At most `limit` events with this key within any `windowMs` milliseconds. */
interface EventWindow {
  key: string;
  limit: number;
  windowMs: number;
}

/** Locks the row of a window. @returns the times of its events that still count, oldest first */
async function lockWindow(tx: Tx, window: EventWindow, now: number) {
  const time = databaseTime(now);
  const row = await tx.first<{ times: string; time: number }>(
    sql`insert into shared_limits (key, times, ends_at) values (${window.key}, '[]', ${time})
      on conflict (key) do update set ends_at = shared_limits.ends_at returning times, ${time} as time`,
  );
  if (!row) throw new Error('The upsert of a window returned no row.');
  const all: number[] = JSON.parse(row.times);
  // A clock that was set back must not keep events for longer than their window.
  const times = all.map((at) => Math.min(at, row.time)).filter((at) => at + window.windowMs > row.time);
  return { window, times, time: row.time };
}

/** Limits that all nodes keep together. */
export const limits = {
  /**
   * Counts an event under all windows, or under none if one of them is full, in one step: no number of calls at
   * once on any number of nodes exceeds a limit. All callers name their windows in one order.
   * @returns the full window with the longest wait, milliseconds; null when the event was counted
   */
  admit: write(
    async (tx, windows: EventWindow[], now: number): Promise<{ key: string; waitMs: number } | null> => {
      const opened = [];
      for (const window of windows) opened.push(await lockWindow(tx, window, now));
      let full: { key: string; waitMs: number } | null = null;
      for (const { window, times, time } of opened) {
        const [oldest = time] = times;
        const waitMs = times.length < window.limit ? 0 : oldest + window.windowMs - time;
        if (waitMs > (full?.waitMs ?? 0)) full = { key: window.key, waitMs };
      }
      if (full) return full;
      for (const { window, times, time } of opened) {
        await tx.run(
          sql`update shared_limits set times = ${JSON.stringify([...times, time])}, ends_at = ${time + window.windowMs}
            where key = ${window.key}`,
        );
      }
      return null;
    },
    { keepsInboxes: true },
  ),
};

/** A node that has not been seen for so long is taken for ended: three heartbeats, and time for a slow one. */
const NODE_LIVES_MS = 10 * SECOND_MS;

/** Servers that answer requests, by the time of the database. */
export const nodes = {
  /** Notes that a node is alive. @returns how many are, this one included */
  beat: write(
    async (tx, id: string, now: number): Promise<number> => {
      const time = databaseTime(now);
      await tx.run(
        sql`insert into nodes (id, seen_at) values (${id}, ${time}) on conflict (id) do update set seen_at = ${time}`,
      );
      const row = await tx.first<{ count: number }>(
        sql`select count(*) as count from nodes where seen_at > ${time} - ${NODE_LIVES_MS}`,
      );
      return row?.count ?? 1;
    },
    { keepsInboxes: true },
  ),

  /** Removes a node that stops, and those that ended without it. */
  leave: write(
    async (tx, id: string, now: number): Promise<void> => {
      await tx.run(
        sql`delete from nodes where id = ${id} or seen_at <= ${databaseTime(now)} - ${NODE_LIVES_MS}`,
      );
    },
    { mayUseReserve: true, keepsInboxes: true },
  ),
};
