import { type Clock, dayOf, MINUTE_MS, monthOf } from '../clock.ts';
import { SESSION_IDLE_MS } from '../console/sql.ts';
import {
  anyOf,
  constant,
  databaseTime,
  FOR_UPDATE_SKIP_LOCKED,
  inSequence,
  perEngine,
  read,
  type Sql,
  sql,
  steps,
  type Tx,
  write,
} from '../database/sql.ts';
import { AppError } from '../errors.ts';
import { TOMBSTONE_MS } from '../inboxes/records.ts';
import type { Logger } from '../log.ts';
import { freeAllParked, freeEmptied } from '../messages/sql/ending.ts';
import { giveUpStagedBefore, STAGED_MS } from '../messages/sql/imports.ts';
import { REFUSAL_KEPT_MS } from '../refusals/sql.ts';
import { USAGE_KEPT_MS } from '../usage/sql.ts';
import { EXPLAINED_KEPT_MS } from '../waits/sql.ts';
import { DELIVERY_KEPT_MS, removeEndedWebhooks } from '../webhooks/sql/removal.ts';
import { freeEndedInboxes } from './deletion.ts';

/**
 * Deletes about `limit` rows that still meet the condition when they are locked; a smaller count means that
 * none is left.
 */
type Chore = (tx: Tx, limit: number, now: number) => Promise<number>;

/** How late the end of a replay may be on a busy server before it counts as cut. */
const REPLAY_GRACE_MS = MINUTE_MS;

const markCutReplays: Chore = async (tx, limit, now) => {
  const late = await tx.all<{ seq: number }>(
    sql`select seq from inboxes where replay_until > 0 and replay_until <= ${now - REPLAY_GRACE_MS}
      limit ${limit} ${FOR_UPDATE_SKIP_LOCKED}`,
  );
  return tx.run(
    sql`update inboxes set replay_until = 0, version = version + 1 where seq ${anyOf(late.map(({ seq }) => seq))}`,
  );
};

const removeOld = (table: string, key: string, isOld: (now: number) => Sql): Chore => {
  const [from, columns] = [constant(table), constant(key)];
  return (tx, limit, now) =>
    tx.run(
      // Locked rows are left for the next sweep, to prevent deadlocks with deletions.
      sql`delete from ${from} where (${columns}) in
        (select ${columns} from ${from} where ${isOld(now)} limit ${limit} ${FOR_UPDATE_SKIP_LOCKED}) and ${isOld(now)}`,
    );
};

const CHORES: readonly Chore[] = [
  // Deleted ones first. Skips locked inboxes, to prevent deadlocks.
  (tx, limit, now) =>
    freeEndedInboxes(
      tx,
      limit,
      now,
      sql`freed = 0 and expires_at <= ${now} order by expires_at limit 1 ${FOR_UPDATE_SKIP_LOCKED}`,
    ),
  (tx, limit) => freeEmptied(tx, limit),
  (tx, _limit, now) => giveUpStagedBefore(tx, now - STAGED_MS),
  // After the inboxes, because freeing them parks their large sources.
  freeAllParked,
  removeOld(
    'inboxes',
    'seq',
    (now) => sql`freed = 1 and emptied_up_to = 0 and expires_at <= ${now - TOMBSTONE_MS}`,
  ),
  markCutReplays,
  removeEndedWebhooks,
  removeOld('deliveries', 'id', (now) => sql`ended_at <= ${now - DELIVERY_KEPT_MS}`),
  // The address of a live inbox is reserved for longer than the inbox lives.
  removeOld('addresses', 'address', (now) => sql`reserved_until <= ${now}`),
  removeOld('refusals', 'seq', (now) => sql`at <= ${now - REFUSAL_KEPT_MS}`),
  removeOld('failed_waits', 'id', (now) => sql`ended_at <= ${now - EXPLAINED_KEPT_MS}`),
  removeOld('deleted_inboxes', 'id', (now) => sql`deleted_at <= ${now - TOMBSTONE_MS}`),
  removeOld('idempotency', 'key_id, key_hash', (now) => sql`expires_at <= ${now}`),
  removeOld('provider_items', 'owner, provider, kind, name', (now) => sql`expires_at <= ${now}`),
  removeOld('outgoing', 'id', (now) => sql`ended_at <= ${now - DELIVERY_KEPT_MS}`),
  removeOld('sessions', 'hash', (now) => sql`used_at <= ${now - SESSION_IDLE_MS}`),
  removeOld('usage_days', 'account_id, day', (now) => sql`day < ${dayOf(now - USAGE_KEPT_MS)}`),
  removeOld('usage_months', 'account_id, month', (now) => sql`month < ${monthOf(now - USAGE_KEPT_MS)}`),
];

export interface StoreFigures {
  liveInboxes: number;
  pendingDeliveries: number;
  /** When the first waiting delivery is due, epoch milliseconds; null without one. */
  firstDueAt: number | null;
}

const PING = sql`${perEngine({
  sqlite: 'select id from accounts limit 1',
  // Writes to the WAL: the COMMIT of an empty transaction does not wait for a synchronous standby.
  postgres: "select pg_logical_emit_message(true, 'mayfly', '')",
})}`;

export const upkeep = {
  /** Counts by indexes: under 1 ms for 10,000 inboxes, 60 to 90 ms for a million. Callers should cache the result. */
  measure: read(async (db, now: number): Promise<StoreFigures> => {
    const row = await db.first<StoreFigures>(
      sql`select (select count(*) from inboxes where freed = 0 and expires_at > ${now}) as "liveInboxes",
        (select count(*) from deliveries where ended_at is null) as "pendingDeliveries",
        (select min(due_at) from deliveries where due_at is not null) as "firstDueAt"`,
    );
    return row ?? { liveInboxes: 0, pendingDeliveries: 0, firstDueAt: null };
  }),

  /** Throws `unavailable` if the storage cannot be written to, where a read may succeed. */
  ping: write(
    async (tx): Promise<void> => {
      await tx.first(PING);
    },
    { keepsInboxes: true },
  ),

  /** Time of the database server, epoch milliseconds, the same for all nodes; null for SQLite. */
  time: read(async (db): Promise<number | null> => {
    const row = await db.first<{ time: number | null }>(sql`select ${databaseTime(null)} as time`);
    return row?.time ?? null;
  }),

  /**
   * Deletes about `limit` rows in a transaction of a few milliseconds. @returns how many; fewer than `limit`
   * means that none is left
   */
  sweep: steps(
    async (transaction, now: number, limit: number): Promise<number> => {
      const chores = CHORES.map((chore) => (tx: Tx, left: number) => chore(tx, left, now));
      try {
        return await transaction((tx) => inSequence(...chores)(tx, limit), 'step');
      } catch (error) {
        if (!(error instanceof AppError && error.code === 'storage_damaged')) throw error;
        // A damaged page must stop only the chore that needs it.
        let freed = 0;
        for (const chore of chores)
          freed += await transaction((tx) => chore(tx, limit), 'step').catch(() => 0);
        if (freed < limit) throw error;
        return freed;
      }
    },
    { mayUseReserve: true },
  ),
};

/** Space is freed within a minute of an expiry: that leaves time for the work itself. */
const SWEEP_EVERY_MS = 15_000;
/** Rows per transaction: a few milliseconds, during which other writes wait. */
const SWEEP_ROWS = 200;

interface SweeperDeps {
  upkeep: { sweep(now: number, limit: number): Promise<number> };
  clock: Clock;
  log: Logger;
}

/** Deletes expired data, which no read returns, until `signal` aborts. */
export async function sweepUntil(signal: AbortSignal, { upkeep, clock, log }: SweeperDeps): Promise<void> {
  let isFailing = false;
  while (!signal.aborted) {
    try {
      let freed = 0;
      for (let step = SWEEP_ROWS; step >= SWEEP_ROWS && !signal.aborted; freed += step) {
        step = await upkeep.sweep(clock.now(), SWEEP_ROWS);
      }
      if (freed > 0) log.info({ freed }, 'Expired rows were deleted');
      isFailing = false;
    } catch (err) {
      if (!isFailing) log.error({ err }, 'Expired rows could not be deleted; each run tries again');
      isFailing = true;
    }
    await clock.sleep(SWEEP_EVERY_MS, signal);
  }
}
