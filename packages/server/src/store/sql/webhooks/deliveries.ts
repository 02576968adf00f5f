import type { Selectable, SelectQueryBuilder } from 'kysely';
import { TOMBSTONE_MS } from '../../../inboxes/records.ts';
import type { AttemptRecord, DeliveryRecord, DeliveryState, DeliveryStore } from '../../contract/webhooks.ts';
import type { Db, Dialect, Engine, Tx } from '../engine.ts';
import type { Tables } from '../tables/index.ts';
import type { AttemptsTable, DeliveriesTable } from '../tables/webhooks.ts';
import { CLOCK_TOLERANCE_MS } from './schedule.ts';

/** A row of the log: a delivery with one of its attempts, or with none. */
type Joined = { [K in keyof Omit<AttemptsTable, 'delivery_id'>]: AttemptsTable[K] | null };

function toAttempt({ at, status, duration_ms, error, response_start }: Joined): AttemptRecord[] {
  if (at === null || duration_ms === null || response_start === null) return [];
  return [
    {
      ...{ at, status, durationMs: duration_ms },
      error: error === null ? null : JSON.parse(error),
      responseStart: JSON.parse(response_start),
    },
  ];
}

function toDelivery(
  row: Selectable<DeliveriesTable> & { ahead_ms: number },
  attempts: AttemptRecord[],
): DeliveryRecord {
  return {
    id: row.id,
    webhookId: row.webhook_id,
    eventId: row.event_id,
    inboxId: row.inbox_id,
    messageId: row.message_id,
    state: row.state,
    reason: row.reason,
    createdAt: row.created_at,
    nextAttemptAt: row.due_at === null ? null : row.due_at - row.ahead_ms,
    attempts,
  };
}

/** Which deliveries of the log to read. */
interface LogQuery {
  accountId: string;
  webhookId: string;
  /** One delivery, or those before an id. */
  id?: string;
  before?: string | null;
  state?: DeliveryState;
  limit: number;
}

/**
 * Deliveries with their attempts, newest first: in one statement, so that no delivery is seen after an attempt
 * and its attempts before it.
 * @param deliveries selects rows of deliveries
 */
export async function readDeliveries(
  on: Db,
  deliveries: SelectQueryBuilder<Tables, never, Selectable<DeliveriesTable>>,
): Promise<DeliveryRecord[]> {
  const rows = await on
    .selectFrom(deliveries.as('d'))
    .innerJoin('webhooks as w', 'w.id', 'd.webhook_id')
    .leftJoin('attempts as a', 'a.delivery_id', 'd.id')
    .selectAll('d')
    .select('w.ahead_ms')
    .select(['a.number', 'a.at', 'a.status', 'a.duration_ms', 'a.error', 'a.response_start'])
    .orderBy('d.id', 'desc')
    .orderBy('a.number')
    .execute();
  return [...Map.groupBy(rows, ({ id }) => id).values()].flatMap((group) => {
    const [delivery] = group;
    return delivery ? [toDelivery(delivery, group.flatMap(toAttempt))] : [];
  });
}

/** Deliveries of a webhook of the account, newest first. */
async function readLog(on: Db, query: LogQuery, now: number): Promise<DeliveryRecord[]> {
  let deliveries = on
    .selectFrom('deliveries as d')
    .innerJoin('webhooks as w', 'w.id', 'd.webhook_id')
    .selectAll('d')
    .where('d.webhook_id', '=', query.webhookId)
    .where('w.account_id', '=', query.accountId)
    .where('w.ends_at', '>', now - TOMBSTONE_MS)
    .orderBy('d.id', 'desc')
    .limit(query.limit);
  if (query.id !== undefined) deliveries = deliveries.where('d.id', '=', query.id);
  if (query.before) deliveries = deliveries.where('d.id', '<', query.before);
  if (query.state !== undefined) deliveries = deliveries.where('d.state', '=', query.state);
  return readDeliveries(on, deliveries);
}

/**
 * Makes a webhook due for the next claim, also during a pause after failures, because its owner asked for it.
 * @param at the time at which its deliveries became due, by the wall clock
 * @param added how many of them are new
 */
async function wake(tx: Tx, webhookId: string, at: number, added: number): Promise<void> {
  await tx.updateTable('webhooks').set({ blocked_until: 0 }).where('id', '=', webhookId).execute();
  await tx.insertInto('wakes').values({ webhook_id: webhookId, at, added }).execute();
}

/** A page of the log. */
async function readPage(on: Db, query: LogQuery, now: number) {
  const { limit } = query;
  const found = await readLog(on, { ...query, limit: limit + 1 }, now);
  return { deliveries: found.slice(0, limit), hasMore: found.length > limit };
}

/** Makes ended deliveries pending again, of those with the ids; returns how many. */
async function replayAll(
  tx: Tx,
  state: Exclude<DeliveryState, 'pending'>,
  ids: string[],
  now: number,
): Promise<number> {
  if (ids.length === 0) return 0;
  const replayed = await tx
    .updateTable('deliveries')
    .set(newRound(now))
    .where('id', 'in', ids)
    .where('state', '=', state)
    .where((row) =>
      row.or([
        row('inbox_id', 'is', null),
        // Correlated: a list of all live inboxes may have a million entries.
        row.exists(
          row
            .selectFrom('inboxes')
            .select('inboxes.id')
            .whereRef('inboxes.id', '=', 'deliveries.inbox_id')
            .where('inboxes.expires_at', '>', now)
            .where('inboxes.freed', '=', 0),
        ),
      ]),
    )
    .returning('id')
    .execute();
  return replayed.length;
}

/** The columns of a delivery that is attempted anew. */
const newRound = (now: number) => ({
  state: 'pending' as const,
  reason: null,
  due_at: now,
  ended_at: null,
  round: 0,
});

/** A live webhook of the account, locked. */
async function lockOwn(tx: Tx, dialect: Dialect, accountId: string, webhookId: string, now: number) {
  const own = tx
    .selectFrom('webhooks')
    .select('id')
    .where('id', '=', webhookId)
    .where('account_id', '=', accountId)
    .where('ends_at', '>', now);
  return dialect.lockRows(own).executeTakeFirst();
}

async function findOn(on: Db, accountId: string, webhookId: string, id: string, now: number) {
  return (await readLog(on, { accountId, webhookId, id, limit: 1 }, now))[0];
}

/** Reading the log of deliveries, and when the next is due. */
function createReads({ db }: Engine): Pick<DeliveryStore, 'nextAt' | 'find' | 'list' | 'listByState'> {
  return {
    async nextAt(now) {
      const woken = await db.selectFrom('wakes').select('seq').limit(1).executeTakeFirst();
      if (woken) return now;
      const ahead = await db
        .selectFrom('webhooks')
        .select('id')
        .where('scheduled_at', '>', now + CLOCK_TOLERANCE_MS)
        .where('next_at', 'is not', null)
        .limit(1)
        .executeTakeFirst();
      if (ahead) return now;
      // One query for each value of `prompt`, because the index begins with it.
      const times: number[] = [];
      for (const prompt of [0, 1]) {
        const row = await db
          .selectFrom('webhooks')
          .select('next_at')
          .where('prompt', '=', prompt)
          .where('next_at', 'is not', null)
          .orderBy('next_at')
          .limit(1)
          .executeTakeFirst();
        if (row && row.next_at !== null) times.push(row.next_at);
      }
      return times.length > 0 ? Math.min(...times) : null;
    },

    find: (accountId, webhookId, deliveryId, now) => findOn(db, accountId, webhookId, deliveryId, now),

    list: (accountId, webhookId, page, now) => readPage(db, { ...page, accountId, webhookId }, now),

    listByState: (accountId, webhookId, page, now) => readPage(db, { ...page, accountId, webhookId }, now),
  };
}

/** The queue and log of deliveries; each engine claims and records them in its own way. */
export function createDeliveries(engine: Engine): Omit<DeliveryStore, 'claim' | 'record' | 'listOfMessage'> {
  const { dialect, transaction } = engine;
  return {
    ...createReads(engine),

    releaseAll: (now) =>
      transaction(async (tx) => {
        const released = await tx
          .updateTable('deliveries')
          .set({ due_at: now, leased_until: null })
          .where('leased_until', 'is not', null)
          .returning('webhook_id')
          .execute();
        for (const id of new Set(released.map(({ webhook_id }) => webhook_id))) {
          await tx.updateTable('webhooks').set({ next_at: now }).where('id', '=', id).execute();
        }
      }),

    addTest: (accountId, webhookId, { deliveryId, eventId }, now) =>
      transaction(async (tx) => {
        const webhook = await lockOwn(tx, dialect, accountId, webhookId, now);
        if (!webhook) return undefined;
        await tx
          .insertInto('deliveries')
          .values({
            id: deliveryId,
            webhook_id: webhookId,
            event_id: eventId,
            state: 'pending',
            created_at: now,
            due_at: now,
            round: 0,
            attempts: 0,
          })
          .execute();
        await wake(tx, webhookId, now, 1);
        return findOn(tx, accountId, webhookId, deliveryId, now);
      }),

    replay: (accountId, webhookId, deliveryId, now) =>
      transaction(async (tx) => {
        const webhook = await lockOwn(tx, dialect, accountId, webhookId, now);
        if (!webhook) return undefined;
        await tx
          .updateTable('deliveries')
          .set(newRound(now))
          .where('id', '=', deliveryId)
          .where('webhook_id', '=', webhookId)
          .where('leased_until', 'is', null)
          .execute();
        await wake(tx, webhookId, now, 0);
        return findOn(tx, accountId, webhookId, deliveryId, now);
      }),

    replaySome: (accountId, webhookId, { state, after, upTo, limit }, now) =>
      transaction(async (tx) => {
        if (!(await lockOwn(tx, dialect, accountId, webhookId, now))) return undefined;
        const rows = await tx
          .selectFrom('deliveries')
          .select(['id', 'state'])
          .where('webhook_id', '=', webhookId)
          .where('id', '>', after)
          .where('id', '<=', upTo)
          .orderBy('id')
          .limit(limit)
          .execute();
        const ids = rows.filter((row) => row.state === state).map(({ id }) => id);
        const replayed = await replayAll(tx, state, ids, now);
        if (replayed > 0) await wake(tx, webhookId, now, 0);
        return { replayed, last: rows.length < limit ? null : (rows.at(-1)?.id ?? null) };
      }),
  };
}
