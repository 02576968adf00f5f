import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { DAY_MS, MINUTE_MS } from '../../clock.ts';
import { giveUpStagedBefore } from '../../messages/sql/imports.ts';
import { REFUSAL_KEPT_MS } from '../../refusals/sql.ts';
import { dayOf, monthOf } from '../../usage/calendar.ts';
import { USAGE_KEPT_MS } from '../../usage/sql.ts';
import type { StoreFigures, Upkeep } from '../contract/index.ts';
import {
  DELIVERY_KEPT_MS,
  EXPLAINED_KEPT_MS,
  MAX_KEPT_DELIVERIES,
  SESSION_IDLE_MS,
  STAGED_MS,
  TOMBSTONE_MS,
} from '../contract/retention.ts';
import { inSequence, type Removal } from './delete-in-steps.ts';
import type { Db, Engine, Tx } from './engine.ts';
import { kitOn } from './kit-on.ts';
import { removeContentOf } from './reports/explained-waits.ts';
import { DELETED, type Tables } from './tables/index.ts';
import { cancelOfInboxes, removeEnded, removeNextWebhook } from './webhooks/queue.ts';
import { createTakeWakes } from './webhooks/wakes.ts';

/**
 * Deletes about `limit` rows that are no longer needed at `now`; fewer mean that nothing is left. A row that
 * another transaction may have changed since it was read is deleted only if it still meets the condition.
 */
type Chore = (tx: Tx, limit: number, now: number) => Promise<number>;

/**
 * Cancels the deliveries of inboxes that ended, deleted ones first, and frees their messages. An inbox that
 * another transaction has locked is left for later: a sweep that waits for one inbox while it has locked another
 * could deadlock. Once a message is freed the inbox has ended for good: a request that was made just before its
 * end, and is late, must not extend an inbox that has lost messages. Those that are left are then freed as those
 * of an emptied inbox.
 */
function freeEndedInboxes({ dialect }: Engine, { freeMessages, sources }: Removal): Chore {
  return async (tx, limit, now) => {
    const released: number[] = [];
    let freed = 0;
    while (freed < limit) {
      const ended = await dialect
        .lockFreeRows(
          tx
            .selectFrom('inboxes')
            .select(['seq', 'id', 'expires_at'])
            .where('freed', '=', 0)
            .where('expires_at', '<=', now)
            .orderBy('expires_at')
            .limit(1),
        )
        .executeTakeFirst();
      if (!ended) break;
      freed += await cancelOfInboxes(tx, limit - freed, [ended.id], now);
      if (freed >= limit) break;
      freed += await freeMessages(tx, ended.seq, limit - freed, released);
      await removeContentOf(tx, [ended.id]);
      const isDone = freed < limit;
      // A deleted inbox cannot be extended.
      if (!isDone && ended.expires_at === DELETED) break;
      await tx
        .updateTable('inboxes')
        .set((row) => ({
          freed: 1,
          message_count: 0,
          emptied_up_to: isDone ? 0 : row.ref('last_received_at'),
        }))
        .where('seq', '=', ended.seq)
        .execute();
      freed += 1;
    }
    await sources.release(tx, released);
    return freed;
  };
}

/**
 * Deletes rows that are old.
 * @param key columns that identify a row
 * @param isOld the condition at a time
 */
function removeOld(
  table: keyof Tables & string,
  key: readonly string[],
  isOld: (now: number) => RawBuilder<SqlBool>,
): Chore {
  const from = sql.table(table);
  const columns = sql.join(key.map((name) => sql.ref(name)));
  return async (tx, limit, now) => {
    const old = sql`select ${columns} from ${from} where ${isOld(now)} limit ${limit}`;
    const removed = sql`delete from ${from} where (${columns}) in (${old}) and ${isOld(now)} returning 1`;
    return (await removed.execute(tx)).rows.length;
  };
}

/** By the time that the limits count with, which is not `now` where several machines write. */
const removeSharedLimits = ({ dialect }: Engine): Chore => {
  return async (tx, limit, now) => {
    const ended = dialect.lockFreeRows(
      tx.selectFrom('shared_limits').select('key').where('ends_at', '<=', dialect.time(now)).limit(limit),
    );
    const removed = tx.deleteFrom('shared_limits').where('key', 'in', ended).returning('key');
    return (await removed.execute()).length;
  };
};

const removeEndedWebhooks = ({ dialect }: Engine): Chore => {
  return (tx, limit, now) => {
    const ended = tx
      .selectFrom('webhooks')
      .select('id')
      .where('ends_at', '<=', now - TOMBSTONE_MS);
    return removeNextWebhook(tx, limit, ended, dialect.lockFreeToRemove);
  };
};

const removeOldDeliveries = ({ dialect }: Engine): Chore => {
  return (tx, limit, now) => {
    const old = tx
      .selectFrom('deliveries')
      .select(['id', 'webhook_id'])
      .where('ended_at', '<=', now - DELIVERY_KEPT_MS)
      .limit(limit);
    return removeEnded(tx, dialect, old);
  };
};

/** How late a replay on a busy server may be before it is taken for cut. */
const REPLAY_GRACE_MS = MINUTE_MS;

/** Marks replays whose process has ended without noting it. */
const markCutReplays = ({ dialect }: Engine): Chore => {
  return async (tx, limit, now) => {
    const late = await dialect
      .lockFreeRows(
        tx
          .selectFrom('inboxes')
          .select('seq')
          .where('replay_until', '>', 0)
          .where('replay_until', '<=', now - REPLAY_GRACE_MS)
          .limit(limit),
      )
      .execute();
    if (late.length === 0) return 0;
    await tx
      .updateTable('inboxes')
      .set((row) => ({ replay_until: 0, version: row('version', '+', 1) }))
      .where(
        'seq',
        'in',
        late.map(({ seq }) => seq),
      )
      .execute();
    return late.length;
  };
};

/** Wakes are taken within a second wherever a worker runs. */
const STALE_WAKE_MS = DAY_MS;

/** Takes the wakes that no worker has taken for long, so that their number is bounded without a worker. */
function takeStaleWakes(engine: Engine): Chore {
  const takeWakes = createTakeWakes(engine);
  return (tx, _limit, now) => takeWakes(tx, now - STALE_WAKE_MS, now);
}

/** Removes the oldest ended deliveries of webhooks with a long log. */
const trimDeliveries = ({ dialect }: Engine): Chore => {
  return async (tx, limit) => {
    const full = await tx
      .selectFrom('webhooks')
      .select(['id', 'kept'])
      .where('kept', '>', MAX_KEPT_DELIVERIES)
      .limit(limit)
      .execute();
    let freed = 0;
    for (const { id, kept } of full) {
      if (freed >= limit) break;
      const oldest = tx
        .selectFrom('deliveries')
        .select(['id', 'webhook_id'])
        .where('webhook_id', '=', id)
        .where('ended_at', 'is not', null)
        .orderBy('id')
        .limit(Math.min(kept - MAX_KEPT_DELIVERIES, limit - freed));
      freed += await removeEnded(tx, dialect, oldest);
    }
    return freed;
  };
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
    // PostgreSQL counts in a type that its driver returns as text.
    liveInboxes: Number(live.count),
    pendingDeliveries: Number(waiting.count) + Number(running.count),
    firstDueAt: waiting.first === null ? null : Number(waiting.first),
  };
}

/** One search of an index for each account. */
async function newestTime(db: Db): Promise<number> {
  const { newest } = await db
    .selectFrom('account_orders as o')
    .innerJoin('messages as m', (join) =>
      join.onRef('m.account_seq', '=', 'o.account_seq').onRef('m.account_order', '=', 'o.last'),
    )
    .select((row) => row.fn.max('m.received_at').as('newest'))
    .executeTakeFirstOrThrow();
  return newest === null ? 0 : Number(newest);
}

/** Freeing space and counting; no other read depends on it. */
export function createUpkeep(engine: Engine, removal: Removal): Upkeep {
  const { db, dialect, transaction } = engine;
  const chores: Chore[] = [
    freeEndedInboxes(engine, removal),
    (tx, limit) => removal.freeEmptied(tx, limit),
    (tx, _limit, now) => giveUpStagedBefore(kitOn(tx), now - STAGED_MS),
    // After the inboxes, which leave their large sources to it.
    (tx, limit) => removal.sources.freeParked(tx, limit),
    removeOld(
      'inboxes',
      ['seq'],
      (now) => sql`freed = 1 and emptied_up_to = 0 and expires_at <= ${now - TOMBSTONE_MS}`,
    ),
    markCutReplays(engine),
    removeEndedWebhooks(engine),
    removeOldDeliveries(engine),
    takeStaleWakes(engine),
    trimDeliveries(engine),
    // A live inbox's address is reserved for days longer than the inbox lives.
    removeOld('addresses', ['address'], (now) => sql`reserved_until <= ${now}`),
    removeOld('refusals', ['seq'], (now) => sql`at <= ${now - REFUSAL_KEPT_MS}`),
    removeOld('failed_waits', ['id'], (now) => sql`ended_at <= ${now - EXPLAINED_KEPT_MS}`),
    removeOld('deleted_inboxes', ['id'], (now) => sql`deleted_at <= ${now - TOMBSTONE_MS}`),
    removeOld('idempotency', ['key_id', 'key_hash'], (now) => sql`expires_at <= ${now}`),
    removeOld('sessions', ['hash'], (now) => sql`used_at <= ${now - SESSION_IDLE_MS}`),
    removeSharedLimits(engine),
    removeOld('usage_days', ['account_id', 'day'], (now) => sql`day < ${dayOf(now - USAGE_KEPT_MS)}`),
    removeOld('usage_months', ['account_id', 'month'], (now) => sql`month < ${monthOf(now - USAGE_KEPT_MS)}`),
  ];
  return {
    measure: (now) => measure(db, now),
    newestTime: () => newestTime(db),
    async time() {
      const time = sql<number | null>`${dialect.time(null)}`.as('time');
      return (await db.selectNoFrom(time).executeTakeFirstOrThrow()).time;
    },
    async sweep(now, limit) {
      const steps = chores.map((chore) => (tx: Tx, left: number) => chore(tx, left, now));
      try {
        return await transaction((tx) => inSequence(...steps)(tx, limit), 'step');
      } catch (error) {
        if (!dialect.mayDependOnContent(error)) throw error;
        // A damaged page stops the chore that needs it, and no other.
        let freed = 0;
        for (const step of steps) freed += await transaction((tx) => step(tx, limit), 'step').catch(() => 0);
        if (freed < limit) throw error;
        return freed;
      }
    },
  };
}
