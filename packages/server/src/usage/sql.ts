import type { UsageDay } from '@mayfly/client/contract';
import { DAY_MS, type Day, type Month, SECOND_MS } from '../clock.ts';
import { constant, databaseTime, read, sql, type Tx, write } from '../database/sql.ts';

/** Longer than a year, so that a month can be compared with the same month of the year before. */
export const USAGE_KEPT_MS = 400 * DAY_MS;
/** Percentages of the monthly quota. The time when each is first reached is stored, shown and logged. */
export const USAGE_THRESHOLDS = [80, 100] as const;

export type UsageThreshold = (typeof USAGE_THRESHOLDS)[number];

export interface UsageReport {
  accountId: string;
  month: Month;
  returned: number;
  /** Requests by day. Negative if, since the last report, more charges were undone (`refund`) than made. */
  days: UsageDay[];
}

/** For each threshold, when the usage first reached it (epoch milliseconds). */
type MonthRow = Record<UsageThreshold, number | null> & { taken: number };
const MONTH = constant('taken, passed_80_at as "80", passed_100_at as "100"');

/** Stores when `used` first reaches a threshold. @returns the thresholds that this call has stored */
async function pass(
  tx: Tx,
  { accountId, month, limit }: { accountId: string; month: Month; limit: number | null },
  row: MonthRow,
  used: number,
  now: number,
): Promise<UsageThreshold[]> {
  const passed: UsageThreshold[] = [];
  for (const threshold of USAGE_THRESHOLDS) {
    if (limit === null || used * 100 < limit * threshold || row[threshold] !== null) continue;
    const column = constant(`passed_${threshold}_at`);
    const noted = await tx.run(
      sql`update usage_months set ${column} = ${now}
        where account_id = ${accountId} and month = ${month} and ${column} is null`,
    );
    if (noted > 0) passed.push(threshold);
  }
  return passed;
}

/** Sorts rows, because all transactions must lock them in the same order to prevent deadlocks. */
function inOrder<T>(rows: T[], keyOf: (row: T) => string): T[] {
  return rows.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : Number(keyOf(a) > keyOf(b))));
}

async function addDays(tx: Tx, reports: UsageReport[]): Promise<void> {
  const all = reports.flatMap(({ accountId, days }) => days.map((day) => ({ accountId, ...day })));
  for (const { accountId, day, requests } of inOrder(all, (one) => `${one.accountId} ${one.day}`))
    await tx.run(
      sql`insert into usage_days (account_id, day, requests) values (${accountId}, ${day}, ${requests})
        on conflict (account_id, day) do update set requests = usage_days.requests + excluded.requests`,
    );
}

export const usage = {
  /**
   * Leases up to `want` requests in one statement, so that all nodes together never exceed `limit` (null: no
   * limit). Leased requests count as used until returned. @returns `taken`: total used or leased in `month`
   */
  lease: write(
    { mayUseReserve: true, keepsInboxes: true },
    async (
      tx,
      accountId: string,
      month: Month,
      { want, limit }: { want: number; limit: number | null },
      now: number,
    ) => {
      const max = limit ?? Number.MAX_SAFE_INTEGER;
      const first = Math.min(want, max);
      // Both uses of `grant` see the row as it was before the update.
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
  ),

  report: write({ mayUseReserve: true, keepsInboxes: true }, async (tx, reports: UsageReport[]) => {
    const returning = reports.filter((report) => report.returned > 0);
    for (const { accountId, month, returned } of inOrder(returning, (one) => `${one.accountId} ${one.month}`))
      await tx.run(
        sql`update usage_months set taken = case when taken > ${returned} then taken - ${returned} else 0 end
            where account_id = ${accountId} and month = ${month}`,
      );
    await addDays(tx, reports);
  }),

  /** `days`: oldest first. Does not include requests that nodes have not reported yet. */
  read: read(async (db, accountId: string, month: Month, since: Day) => {
    const row = await db.first<MonthRow>(
      sql`select ${MONTH} from usage_months where account_id = ${accountId} and month = ${month}`,
    );
    const days = await db.all<UsageDay>(
      sql`select day, requests from usage_days where account_id = ${accountId} and day >= ${since} order by day`,
    );
    return { taken: row?.taken ?? 0, passed: { 80: row?.[80] ?? null, 100: row?.[100] ?? null }, days };
  }),
};

/** A node without a heartbeat for this long counts as dead. Each node writes one every three seconds. */
const NODE_LIVES_MS = 10 * SECOND_MS;

/** Live nodes (servers). `seen_at` is a time of the database's clock. */
export const nodes = {
  beat: write({ keepsInboxes: true }, async (tx, id: string, now: number): Promise<number> => {
    const time = databaseTime(now);
    await tx.run(
      sql`insert into nodes (id, seen_at) values (${id}, ${time}) on conflict (id) do update set seen_at = ${time}`,
    );
    const row = await tx.first<{ count: number }>(
      sql`select count(*) as count from nodes where seen_at > ${time} - ${NODE_LIVES_MS}`,
    );
    return row?.count ?? 1;
  }),

  leave: write({ mayUseReserve: true, keepsInboxes: true }, async (tx, id: string, now: number) => {
    await tx.run(
      sql`delete from nodes where id = ${id} or seen_at <= ${databaseTime(now)} - ${NODE_LIVES_MS}`,
    );
  }),
};
