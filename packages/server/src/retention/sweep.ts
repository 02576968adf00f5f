import { type Clock, dayOf, MINUTE_MS, monthOf } from '../clock.ts';
import { SESSION_IDLE_MS } from '../console/sql.ts';
import {
  anyOf,
  constant,
  databaseTime,
  FOR_UPDATE_SKIP_LOCKED,
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
import { freeEmptied, ROWS_PER_INBOX } from '../messages/sql/ending.ts';
import { giveUpStagedBefore, STAGED_MS } from '../messages/sql/imports.ts';
import { freeParked } from '../reading/sql.ts';
import { REFUSAL_KEPT_MS } from '../refusals/sql.ts';
import { USAGE_KEPT_MS } from '../usage/sql.ts';
import { EXPLAINED_KEPT_MS, removeContentOf } from '../waits/sql.ts';
import { cancelOfInboxes, DELIVERY_KEPT_MS, removeEndedWebhook } from '../webhooks/sql/removal.ts';

/** Deletes about `limit` rows and returns how many. Fewer than `limit` means that no row is left. */
export type Chore = (tx: Tx, limit: number, now: number) => Promise<number>;

export const inSequence =
  (chores: readonly Chore[]): Chore =>
  async (tx, limit, now) => {
    let freed = 0;
    for (const chore of chores) {
      if (freed >= limit) break;
      freed += await chore(tx, limit - freed, now);
    }
    return freed;
  };

/** @param lock SQL that locks the rows to delete. The default skips locked rows, which prevents deadlocks. */
export const removeSome = (
  table: string,
  key: string,
  which: (now: number) => Sql,
  lock = FOR_UPDATE_SKIP_LOCKED,
): Chore => {
  const [from, columns] = [constant(table), constant(key)];
  return (tx, limit, now) =>
    tx.run(
      // Materialized, because PostgreSQL may repeat a subquery for each row, and find other rows each time.
      sql`with chosen as materialized (select ${columns} from ${from} where ${which(now)} limit ${limit} ${lock})
        delete from ${from} where (${columns}) in (select ${columns} from chosen) and ${which(now)}`,
    );
};

/**
 * Marks expired inboxes as `freed`; they cannot be extended then. {@link freeEmptied} deletes their messages
 * in another transaction, because sources of messages must be locked before deliveries, and this transaction
 * has locked deliveries. @returns 0 if no inbox has expired; otherwise `limit`, so that no chore follows
 */
const endInboxes: Chore = async (tx, limit, now) => {
  const most = Math.ceil(limit / ROWS_PER_INBOX);
  // Lock order: inboxes before their deliveries. Locked inboxes are skipped, to prevent deadlocks.
  const ended = await tx.all<{ seq: number; id: string }>(
    sql`select seq, id from inboxes where freed = 0 and expires_at <= ${now}
      order by expires_at limit ${most} ${FOR_UPDATE_SKIP_LOCKED}`,
  );
  if (ended.length === 0) return 0;
  const ids = ended.map(({ id }) => id);
  if ((await cancelOfInboxes(tx, limit, ids, now)) >= limit) return limit;
  await removeContentOf(tx, ids);
  await tx.run(
    sql`update inboxes set freed = 1, message_count = 0, emptied_up_to = last_received_at
      where seq ${anyOf(ended.map(({ seq }) => seq))}`,
  );
  return limit;
};

const removeInboxes = removeSome(
  'inboxes',
  'seq',
  (now) => sql`freed = 1 and emptied_up_to = 0 and expires_at <= ${now - TOMBSTONE_MS}`,
);

export const FREEING: readonly Chore[] = [
  endInboxes,
  freeEmptied,
  // After `freeEmptied`, because it deletes the large sources of the messages that `freeEmptied` deletes.
  freeParked,
  async (tx, limit, now) =>
    ROWS_PER_INBOX * (await removeInboxes(tx, Math.ceil(limit / ROWS_PER_INBOX), now)),
  removeEndedWebhook,
];

/** A replay gets the state `cut` if it is still running this long after its planned end. */
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

const CHORES: readonly Chore[] = [
  (tx, _limit, now) => giveUpStagedBefore(tx, now - STAGED_MS),
  ...FREEING,
  markCutReplays,
  removeSome('deliveries', 'id', (now) => sql`ended_at <= ${now - DELIVERY_KEPT_MS}`),
  // Deletes no address of a live inbox, because an address is reserved for longer than its inbox lives.
  removeSome('addresses', 'address', (now) => sql`reserved_until <= ${now}`),
  removeSome('refusals', 'seq', (now) => sql`at <= ${now - REFUSAL_KEPT_MS}`),
  removeSome('failed_waits', 'id', (now) => sql`ended_at <= ${now - EXPLAINED_KEPT_MS}`),
  removeSome('deleted_inboxes', 'id', (now) => sql`deleted_at <= ${now - TOMBSTONE_MS}`),
  removeSome('idempotency', 'key_id, key_hash', (now) => sql`expires_at <= ${now}`),
  removeSome('provider_items', 'owner, provider, kind, name', (now) => sql`expires_at <= ${now}`),
  removeSome('outgoing', 'id', (now) => sql`ended_at <= ${now - DELIVERY_KEPT_MS}`),
  removeSome('sessions', 'hash', (now) => sql`used_at <= ${now - SESSION_IDLE_MS}`),
  removeSome('usage_days', 'account_id, day', (now) => sql`day < ${dayOf(now - USAGE_KEPT_MS)}`),
  removeSome('usage_months', 'account_id, month', (now) => sql`month < ${monthOf(now - USAGE_KEPT_MS)}`),
];

export interface StoreFigures {
  liveInboxes: number;
  pendingDeliveries: number;
  /** When the first pending delivery is due, epoch milliseconds; null if none has a due time. */
  firstDueAt: number | null;
}

const PING = sql`${perEngine({
  sqlite: 'select id from accounts limit 1',
  // Must write to the WAL: the COMMIT of an empty transaction does not wait for a synchronous standby.
  postgres: "select pg_logical_emit_message(true, 'mayfly', '')",
})}`;

export const upkeep = {
  /** Takes under 1 ms for 10,000 inboxes and 60 to 90 ms for a million. Callers should cache the result. */
  measure: read(async (db, now: number): Promise<StoreFigures> => {
    const row = await db.first<StoreFigures>(
      sql`select (select count(*) from inboxes where freed = 0 and expires_at > ${now}) as "liveInboxes",
        (select count(*) from deliveries where ended_at is null) as "pendingDeliveries",
        (select min(due_at) from deliveries where due_at is not null) as "firstDueAt"`,
    );
    return row ?? { liveInboxes: 0, pendingDeliveries: 0, firstDueAt: null };
  }),

  /** Tests that the storage accepts writes, and not only reads. @throws AppError `unavailable` */
  ping: write({ keepsInboxes: true }, async (tx): Promise<void> => {
    await tx.first(PING);
  }),

  /** Time of the database server, epoch milliseconds, the same for all nodes; null for SQLite. */
  time: read(async (db): Promise<number | null> => {
    const row = await db.first<{ time: number | null }>(sql`select ${databaseTime(null)} as time`);
    return row?.time ?? null;
  }),

  sweep: steps({ mayUseReserve: true }, async (transaction, now: number, limit: number): Promise<number> => {
    try {
      return await transaction((tx) => inSequence(CHORES)(tx, limit, now), 'step');
    } catch (error) {
      if (!(error instanceof AppError && error.code === 'storage_damaged')) throw error;
      // Run each chore alone, because a damaged page must stop only the chore that needs it.
      let freed = 0;
      for (const chore of CHORES)
        freed += await transaction((tx) => chore(tx, limit, now), 'step').catch(() => 0);
      if (freed < limit) throw error;
      return freed;
    }
  }),
};

/** Interval of sweeps. A sweep without work takes under 1 ms. */
const SWEEP_EVERY_MS = 2_000;
/** Rows per transaction. A transaction takes a few milliseconds, during which other writes wait. */
const SWEEP_ROWS = 200;
/** Pause between two transactions, during which waiting writes can run. */
const PAUSE_MS = 5;

interface SweeperDeps {
  upkeep: { sweep(now: number, limit: number): Promise<number> };
  clock: Clock;
  log: Logger;
}

export async function sweepUntil(signal: AbortSignal, { upkeep, clock, log }: SweeperDeps): Promise<void> {
  let isFailing = false;
  while (!signal.aborted) {
    let freed = 0;
    try {
      freed = await upkeep.sweep(clock.now(), SWEEP_ROWS);
      isFailing = false;
    } catch (err) {
      if (!isFailing) log.error({ err }, 'Expired rows could not be deleted; each run tries again');
      isFailing = true;
    }
    await clock.sleep(freed < SWEEP_ROWS ? SWEEP_EVERY_MS : PAUSE_MS, signal);
  }
}
