import { type Expression, sql } from 'kysely';
import type { EventWindow, FullWindow, LimitStore, RateLevel, RateUse } from '../contract/limits.ts';
import type { Engine, Tx } from './engine.ts';

/*
 * One row for each limit that is in use. The row of an account's rate says when its bucket is full again
 * (`ends_at`), and how long the last uses take to refill (`times`); that of a window has the times of its
 * events. After `ends_at` a row says nothing any more.
 */

const rateKey = (accountId: string): string => `rate ${accountId}`;
const windowKey = (key: string): string => `window ${key}`;

/** @param rows with the milliseconds that are left until a bucket is full; an account without one has a full bucket */
function levelsOf(uses: readonly RateUse[], rows: readonly { key: string; left: number }[]): RateLevel[] {
  const left = new Map(rows.map((row) => [row.key, row.left]));
  return uses.map(({ accountId }) => ({
    accountId,
    fullInMs: Math.max(0, left.get(rateKey(accountId)) ?? 0),
  }));
}

/** Limits that all nodes keep together. */
export function createLimits({ db, dialect, transaction }: Engine): LimitStore {
  const readLevels = async (uses: RateUse[], now: number): Promise<RateLevel[]> => {
    if (uses.length === 0) return [];
    const rows = await db
      .selectFrom('shared_limits')
      .select(['key', sql<number>`ends_at - ${dialect.time(now)}`.as('left')])
      .where(
        'key',
        'in',
        uses.map(({ accountId }) => rateKey(accountId)),
      )
      .execute();
    return levelsOf(uses, rows);
  };

  /** In the order of their keys, so that no two nodes wait for each other. */
  const addUses = async (uses: RateUse[], now: number): Promise<RateLevel[]> => {
    const sorted = uses.toSorted((a, b) => (a.accountId < b.accountId ? -1 : 1));
    if (sorted.length === 0) return [];
    const time = dialect.time(now);
    const rows = await transaction((tx) =>
      tx
        .insertInto('shared_limits')
        .values(
          sorted.map(({ accountId, refillMs, sinceMs }) => ({
            key: rateKey(accountId),
            times: String(Math.ceil(refillMs)),
            ends_at: sql<number>`${time} + ${sql.lit(Math.ceil(refillMs) - Math.round(sinceMs))}`,
          })),
        )
        .onConflict((conflict) =>
          conflict.column('key').doUpdateSet({
            times: sql<string>`excluded.times`,
            // A bucket that was not full when it was used refills for longer by that use.
            ends_at: sql<number>`case
              when shared_limits.ends_at + cast(excluded.times as bigint) > excluded.ends_at
              then shared_limits.ends_at + cast(excluded.times as bigint) else excluded.ends_at end`,
          }),
        )
        .returning(['key', sql<number>`ends_at - ${time}`.as('left')])
        .execute(),
    );
    return levelsOf(sorted, rows);
  };

  return {
    async use(uses, now) {
      const added = await addUses(
        uses.filter(({ refillMs }) => refillMs > 0),
        now,
      );
      const read = await readLevels(
        uses.filter(({ refillMs }) => refillMs <= 0),
        now,
      );
      return [...added, ...read];
    },

    admit: (windows, now) =>
      transaction(async (tx) => {
        const opened = [];
        for (const window of windows) opened.push(await lockWindow(tx, window, dialect.time(now)));
        let full: FullWindow | null = null;
        for (const { window, times, time } of opened) {
          const [oldest = time] = times;
          const waitMs = times.length < window.limit ? 0 : oldest + window.windowMs - time;
          if (waitMs > (full?.waitMs ?? 0)) full = { key: window.key, waitMs };
        }
        if (full) return full;
        for (const { window, times, time } of opened) {
          await tx
            .updateTable('shared_limits')
            .set({ times: JSON.stringify([...times, time]), ends_at: time + window.windowMs })
            .where('key', '=', windowKey(window.key))
            .execute();
        }
        return null;
      }),
  };
}

/** Locks the row of a window. @returns the times of its events that still count, oldest first */
async function lockWindow(tx: Tx, window: EventWindow, now: Expression<number>) {
  const row = await tx
    .insertInto('shared_limits')
    .values({ key: windowKey(window.key), times: '[]', ends_at: now })
    .onConflict((conflict) =>
      conflict.column('key').doUpdateSet({ ends_at: sql<number>`shared_limits.ends_at` }),
    )
    .returning(['times', sql<number>`${now}`.as('time')])
    .executeTakeFirstOrThrow();
  const all: number[] = JSON.parse(row.times);
  // A clock that was set back must not keep events for longer than their window.
  const times = all.map((at) => Math.min(at, row.time)).filter((at) => at + window.windowMs > row.time);
  return { window, times, time: row.time };
}
