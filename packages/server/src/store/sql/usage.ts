import { USAGE_THRESHOLDS } from '../contract/retention.ts';
import type { DayUsage, UsageReport, UsageStore, UsageThreshold } from '../contract/usage.ts';
import type { Db, Engine, Tx } from './engine.ts';
import { prepare, type Slots } from './prepared.ts';
import type { UsageMonthsTable } from './tables/accounts.ts';

/** The columns that say when a threshold was passed. */
const PASSED_AT = {
  80: 'passed_80_at',
  100: 'passed_100_at',
} as const satisfies Record<UsageThreshold, keyof UsageMonthsTable>;

type MonthKey = { accountId: string; month: string };
type PassedAt = Record<(typeof PASSED_AT)[UsageThreshold], number | null>;

/** A quota that no month reaches: every column and sum stays a safe integer. */
const NO_LIMIT = Number.MAX_SAFE_INTEGER;

/** Stores which thresholds a number of used requests has passed; returns those that were not stored before. */
function createPassing(db: Db) {
  const prepareNote = (threshold: UsageThreshold) =>
    prepare((value: Slots<MonthKey & { now: number }>) =>
      db
        .updateTable('usage_months')
        .set({ [PASSED_AT[threshold]]: value.now })
        .where('account_id', '=', value.accountId)
        .where('month', '=', value.month)
        .where(PASSED_AT[threshold], 'is', null)
        .returning('month'),
    );
  const note = { 80: prepareNote(80), 100: prepareNote(100) } satisfies Record<UsageThreshold, unknown>;
  return async (
    tx: Tx,
    { accountId, month }: MonthKey,
    row: PassedAt & { used: number; limit: number | null },
    now: number,
  ): Promise<UsageThreshold[]> => {
    const { used, limit } = row;
    const passed: UsageThreshold[] = [];
    if (limit === null) return passed;
    for (const threshold of USAGE_THRESHOLDS) {
      // Most thresholds are known from the row, which saves the statement.
      if (used * 100 < limit * threshold || row[PASSED_AT[threshold]] !== null) continue;
      const noted = await note[threshold](tx, { accountId, month, now });
      if (noted.length > 0) passed.push(threshold);
    }
    return passed;
  };
}

/** Leasing and returning requests, each one statement that computes from the row that it locks. */
function createMonths(db: Db) {
  const take = prepare((value: Slots<MonthKey & { first: number; want: number; limit: number }>) =>
    db
      .insertInto('usage_months')
      .values({
        account_id: value.accountId,
        month: value.month,
        taken: value.first,
        last_grant: value.first,
      })
      .onConflict((conflict) =>
        conflict.columns(['account_id', 'month']).doUpdateSet((row) => {
          const taken = row.ref('usage_months.taken');
          // Every expression sees the row as it was before.
          const grant = row
            .case()
            .when(taken, '>=', value.limit)
            .then(row.lit(0))
            .when(row(value.limit, '-', taken), '<', value.want)
            .then(row(value.limit, '-', taken))
            .else(value.want)
            .end();
          return { taken: row(taken, '+', grant), last_grant: grant };
        }),
      )
      .returning(['taken', 'last_grant', 'passed_80_at', 'passed_100_at']),
  );
  const giveBack = prepare((value: Slots<MonthKey & { returned: number }>) =>
    db
      .updateTable('usage_months')
      .set((row) => ({
        taken: row
          .case()
          .when('taken', '>', value.returned)
          .then(row('taken', '-', value.returned))
          .else(row.lit(0))
          .end(),
      }))
      .where('account_id', '=', value.accountId)
      .where('month', '=', value.month)
      .returning(['taken', 'passed_80_at', 'passed_100_at']),
  );
  return { take, giveBack };
}

/** Transactions lock rows in one order, so that no two wait for each other. */
function inOrder<T>(rows: T[], keyOf: (row: T) => string): T[] {
  return rows.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : Number(keyOf(a) > keyOf(b))));
}

/** One sum for each account and day. */
function sumOfDays(reports: UsageReport[]): (DayUsage & { accountId: string })[] {
  const sums = new Map<string, DayUsage & { accountId: string }>();
  for (const { accountId, days } of reports) {
    for (const { day, requests } of days) {
      const key = `${accountId} ${day}`;
      sums.set(key, { accountId, day, requests: (sums.get(key)?.requests ?? 0) + requests });
    }
  }
  return [...sums.values()];
}

/** Adding to the counts of days. */
function createDays(db: Db) {
  const addToDay = prepare((value: Slots<{ accountId: string; day: string; requests: number }>) =>
    db
      .insertInto('usage_days')
      .values({ account_id: value.accountId, day: value.day, requests: value.requests })
      .onConflict((conflict) =>
        conflict.columns(['account_id', 'day']).doUpdateSet((row) => ({
          requests: row('usage_days.requests', '+', row.ref('excluded.requests')),
        })),
      ),
  );
  const takeFromDay = prepare((value: Slots<{ accountId: string; day: string; requests: number }>) =>
    db
      .updateTable('usage_days')
      .set((row) => ({ requests: row('requests', '-', value.requests) }))
      .where('account_id', '=', value.accountId)
      .where('day', '=', value.day)
      .where('requests', '>=', value.requests),
  );
  return async (tx: Tx, reports: UsageReport[]): Promise<void> => {
    for (const day of inOrder(sumOfDays(reports), (one) => `${one.accountId} ${one.day}`)) {
      if (day.requests > 0) await addToDay(tx, day);
      if (day.requests < 0) await takeFromDay(tx, { ...day, requests: -day.requests });
    }
  };
}

/** Counting requests. */
export function createUsage({ db, transaction }: Engine): UsageStore {
  const pass = createPassing(db);
  const { take, giveBack } = createMonths(db);
  const addDays = createDays(db);

  return {
    lease: (accountId, month, { want, limit }, now) =>
      transaction(async (tx) => {
        const max = limit ?? NO_LIMIT;
        const key = { accountId, month };
        const [row] = await take(tx, { ...key, want, limit: max, first: Math.min(want, max) });
        if (!row) throw new Error('The upsert of a month returned no row.');
        const { taken, last_grant: granted } = row;
        const passed = await pass(tx, key, { ...row, used: taken - granted, limit }, now);
        return { granted, taken, passed };
      }),

    report: (reports, now) =>
      transaction(async (tx) => {
        const all: Awaited<ReturnType<UsageStore['report']>> = [];
        for (const report of inOrder(reports, ({ accountId, month }) => `${accountId} ${month}`)) {
          const { accountId, month, limit, returned, kept } = report;
          const [row] = await giveBack(tx, { accountId, month, returned });
          // A month without leases has passed no threshold.
          if (!row) continue;
          const passed = await pass(tx, report, { ...row, used: row.taken - kept, limit }, now);
          if (passed.length > 0) all.push({ accountId, month, passed });
        }
        await addDays(tx, reports);
        return all;
      }),

    async read(accountId, month, since) {
      const row = await db
        .selectFrom('usage_months')
        .select(['taken', 'passed_80_at', 'passed_100_at'])
        .where('account_id', '=', accountId)
        .where('month', '=', month)
        .executeTakeFirst();
      const days = await db
        .selectFrom('usage_days')
        .select(['day', 'requests'])
        .where('account_id', '=', accountId)
        .where('day', '>=', since)
        .orderBy('day')
        .execute();
      const passed = USAGE_THRESHOLDS.flatMap((percent) => {
        const at = row?.[PASSED_AT[percent]] ?? null;
        return at === null ? [] : [{ percent, at }];
      });
      return { taken: row?.taken ?? 0, passed, days: days.map(({ day, requests }) => ({ day, requests })) };
    },
  };
}
