import type { StoreFigures, Upkeep } from '../contract/index.ts';
import {
  DELIVERY_KEPT_MS,
  MAX_KEPT_DELIVERIES,
  REFUSAL_KEPT_MS,
  SESSION_IDLE_MS,
  TOMBSTONE_MS,
  USAGE_KEPT_MS,
} from '../contract/retention.ts';
import { type FreeMessages, freeEmptied } from './delete-in-steps.ts';
import type { Db, Dialect, Tx } from './dialect.ts';
import type { Sources } from './messages/sources.ts';
import { cancelOfInbox, removeDeliveries, removeOfWebhook } from './webhooks/queue.ts';

/** Frees about `limit` rows that are past their time at `now`; fewer mean that nothing is left. */
type Chore = (tx: Tx, limit: number, now: number) => Promise<number>;

/** Frees the messages of inboxes that ended, deleted ones first, and ends their pending deliveries. */
function freeEndedInboxes(dialect: Dialect, freeMessages: FreeMessages): Chore {
  return async (tx, limit, now) => {
    let freed = 0;
    while (freed < limit) {
      const ended = await dialect
        .lockRows(
          tx
            .selectFrom('inboxes')
            .select(['seq', 'id'])
            .where('freed', '=', 0)
            .where('expires_at', '<=', now)
            .orderBy('expires_at')
            .limit(1),
        )
        .executeTakeFirst();
      if (!ended) break;
      freed += await cancelOfInbox(tx, ended.id, limit - freed, now);
      const left = limit - freed;
      if (left <= 0) break;
      const rows = await freeMessages(tx, ended.seq, left);
      freed += rows;
      if (rows >= left) break;
      await tx
        .updateTable('inboxes')
        .set({ freed: 1, message_count: 0 })
        .where('seq', '=', ended.seq)
        .execute();
      freed += 1;
    }
    return freed;
  };
}

const removeTombstones: Chore = async (tx, limit, now) => {
  const old = tx
    .selectFrom('inboxes')
    .select('seq')
    .where('freed', '=', 1)
    .where('expires_at', '<=', now - TOMBSTONE_MS)
    .limit(limit);
  return (await tx.deleteFrom('inboxes').where('seq', 'in', old).returning('seq').execute()).length;
};

const removeReservations: Chore = async (tx, limit, now) => {
  // A live inbox's address is reserved for days longer than the inbox lives.
  const old = tx.selectFrom('addresses').select('address').where('reserved_until', '<=', now).limit(limit);
  return (await tx.deleteFrom('addresses').where('address', 'in', old).returning('address').execute()).length;
};

const removeRefusals: Chore = async (tx, limit, now) => {
  const old = tx
    .selectFrom('refusals')
    .select('seq')
    .where('at', '<=', now - REFUSAL_KEPT_MS)
    .limit(limit);
  return (await tx.deleteFrom('refusals').where('seq', 'in', old).returning('seq').execute()).length;
};

const removeSessions: Chore = async (tx, limit, now) => {
  const old = tx
    .selectFrom('sessions')
    .select('hash')
    .where('used_at', '<=', now - SESSION_IDLE_MS)
    .limit(limit);
  return (await tx.deleteFrom('sessions').where('hash', 'in', old).returning('hash').execute()).length;
};

const removeIdempotencyKeys: Chore = async (tx, limit, now) => {
  const old = await tx
    .selectFrom('idempotency')
    .select(['key_id', 'key_hash'])
    .where('expires_at', '<=', now)
    .limit(limit)
    .execute();
  for (const { key_id, key_hash } of old) {
    await tx
      .deleteFrom('idempotency')
      .where('key_id', '=', key_id)
      .where('key_hash', '=', key_hash)
      // A new request may have replaced it since.
      .where('expires_at', '<=', now)
      .execute();
  }
  return old.length;
};

/** The day in UTC that a time is in, as usage is counted. */
const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10);

const removeOldUsageDays: Chore = async (tx, limit, now) => {
  const old = await tx
    .selectFrom('usage_days')
    .select(['account_id', 'day'])
    .where('day', '<', dayOf(now - USAGE_KEPT_MS))
    .limit(limit)
    .execute();
  for (const { account_id, day } of old) {
    await tx.deleteFrom('usage_days').where('account_id', '=', account_id).where('day', '=', day).execute();
  }
  return old.length;
};

const removeOldUsageMonths: Chore = async (tx, limit, now) => {
  const old = await tx
    .selectFrom('usage_months')
    .select(['account_id', 'month'])
    .where('month', '<', dayOf(now - USAGE_KEPT_MS).slice(0, 7))
    .limit(limit)
    .execute();
  for (const { account_id, month } of old) {
    await tx
      .deleteFrom('usage_months')
      .where('account_id', '=', account_id)
      .where('month', '=', month)
      .execute();
  }
  return old.length;
};

const removeEndedWebhooks: Chore = async (tx, limit, now) => {
  let freed = 0;
  while (freed < limit) {
    const ended = await tx
      .selectFrom('webhooks')
      .select('id')
      .where('ends_at', '<=', now - TOMBSTONE_MS)
      .limit(1)
      .executeTakeFirst();
    if (!ended) break;
    const rows = await removeOfWebhook(tx, ended.id, limit - freed);
    freed += rows;
    if (rows > 0) continue;
    await tx.deleteFrom('webhooks').where('id', '=', ended.id).execute();
    freed += 1;
  }
  return freed;
};

const removeOldDeliveries: Chore = async (tx, limit, now) => {
  const old = await tx
    .selectFrom('deliveries')
    .select('id')
    .where('ended_at', '<=', now - DELIVERY_KEPT_MS)
    .limit(limit)
    .execute();
  return removeDeliveries(
    tx,
    old.map(({ id }) => id),
  );
};

/** Of a webhook with a long log the oldest deliveries go, but never one that is pending. */
const trimDeliveries: Chore = async (tx, limit) => {
  const full = await tx
    .selectFrom('webhooks')
    .select(['id', 'kept'])
    .where('kept', '>', MAX_KEPT_DELIVERIES)
    .limit(limit)
    .execute();
  let freed = 0;
  for (const { id, kept } of full) {
    if (freed >= limit) break;
    const oldest = await tx
      .selectFrom('deliveries')
      .select('id')
      .where('webhook_id', '=', id)
      .where('ended_at', 'is not', null)
      .orderBy('id')
      .limit(Math.min(kept - MAX_KEPT_DELIVERIES, limit - freed))
      .execute();
    freed += await removeDeliveries(
      tx,
      oldest.map((one) => one.id),
    );
  }
  return freed;
};

async function measure(db: Db, now: number): Promise<StoreFigures> {
  const count = db.fn.countAll<number>().as('count');
  const live = await db
    .selectFrom('inboxes')
    .select(count)
    .where('freed', '=', 0)
    .where('expires_at', '>', now)
    .executeTakeFirstOrThrow();
  const waiting = await db
    .selectFrom('deliveries')
    .select([count, db.fn.min('due_at').as('first')])
    .where('due_at', 'is not', null)
    .executeTakeFirstOrThrow();
  const running = await db
    .selectFrom('deliveries')
    .select(count)
    .where('leased_until', 'is not', null)
    .executeTakeFirstOrThrow();
  return {
    // PostgreSQL counts in a type that its driver gives as text.
    liveInboxes: Number(live.count),
    pendingDeliveries: Number(waiting.count) + Number(running.count),
    firstDueAt: waiting.first === null ? null : Number(waiting.first),
  };
}

/** The part of the store that frees space and counts; no other read depends on it. */
export function createUpkeep(db: Db, dialect: Dialect, sources: Sources, freeMessages: FreeMessages): Upkeep {
  const freeParked: Chore = (tx, limit) => sources.freeParked(tx, limit);
  const chores: Chore[] = [
    freeEndedInboxes(dialect, freeMessages),
    (tx, limit) => freeEmptied(tx, freeMessages, limit),
    // After the inboxes, because these leave their large sources to it.
    freeParked,
    removeTombstones,
    removeEndedWebhooks,
    removeOldDeliveries,
    trimDeliveries,
    removeReservations,
    removeRefusals,
    removeIdempotencyKeys,
    removeSessions,
    removeOldUsageDays,
    removeOldUsageMonths,
  ];
  return {
    measure: (now) => measure(db, now),
    sweep: (now, limit) =>
      db.transaction().execute(async (tx) => {
        let freed = 0;
        for (const chore of chores) {
          if (freed >= limit) break;
          freed += await chore(tx, limit - freed, now);
        }
        return freed;
      }),
  };
}
