import { DAY_MS } from '../../clock.ts';
import type { Tx } from '../../database/sql.ts';
import { anyOf, eachOf, FOR_UPDATE_SKIP_LOCKED, perEngine, type Sql, sql } from '../../database/sql.ts';
import { TOMBSTONE_MS } from '../../inboxes/records.ts';

// Lock order: a webhook before its deliveries, as in `record` and `replay`; otherwise they could deadlock.

/** Long enough to examine a failure from before a weekend. */
export const DELIVERY_KEPT_MS = 7 * DAY_MS;
/** Deliveries kept per webhook: a few megabytes. */
export const MAX_KEPT_DELIVERIES = 10_000;

/** Shown in the log for deliveries whose inbox was deleted or expired. */
export const INBOX_ENDED = 'The inbox ended.';

/** Row lock that waits for transactions that add deliveries, and blocks later ones. */
export const LOCK_TO_REMOVE = perEngine({ sqlite: '', postgres: 'for update' });
const LOCK_FREE_TO_REMOVE = perEngine({ sqlite: '', postgres: 'for update skip locked' });

/** @param ids query for the ids of deliveries @returns how many were cancelled */
export const cancelPending = (tx: Tx, ids: Sql, reason: string, now: number): Promise<number> =>
  tx.run(
    sql`update deliveries
      set state = 'cancelled', reason = ${reason}, due_at = null, leased_until = null, ended_at = ${now}
      where id in (${ids}) and ended_at is null`,
  );

/** Cancels up to `limit` pending deliveries. @returns how many */
export const cancelOfInboxes = (tx: Tx, limit: number, inboxIds: readonly string[], now: number) =>
  cancelPending(
    tx,
    sql`select id from deliveries where inbox_id ${anyOf(inboxIds)} and ended_at is null limit ${limit}`,
    INBOX_ENDED,
    now,
  );

/** @returns the number of deleted rows */
async function deleteDeliveries(tx: Tx, condition: Sql): Promise<number> {
  const deleted = await tx.all<{ webhookId: string }>(
    sql`delete from deliveries where ${condition} returning webhook_id as "webhookId"`,
  );
  if (deleted.length === 0) return 0;
  const counts = [...Map.groupBy(deleted, ({ webhookId }) => webhookId)];
  await tx.run(
    sql`update webhooks set kept = kept - gone.count
      from (select r.value ->> 'id' as webhook_id, cast(r.value ->> 'count' as bigint) as count
        from ${eachOf(counts.map(([id, { length }]) => ({ id, count: length })))} as r) as gone
      where id = gone.webhook_id`,
  );
  return deleted.length;
}

/**
 * Removes ended deliveries. Skips webhooks that another transaction has locked: waiting for one
 * while another is locked could deadlock.
 * @param which a query for `id` and `"webhookId"` @returns the number of rows removed
 */
async function removeEnded(tx: Tx, which: Sql): Promise<number> {
  const found = await tx.all<{ id: string; webhookId: string }>(which);
  if (found.length === 0) return 0;
  const webhooks = [...new Set(found.map(({ webhookId }) => webhookId))];
  const free = await tx.all<{ id: string }>(
    sql`select id from webhooks where id ${anyOf(webhooks)} ${FOR_UPDATE_SKIP_LOCKED}`,
  );
  const locked = new Set(free.map(({ id }) => id));
  const ids = found.filter(({ webhookId }) => locked.has(webhookId)).map(({ id }) => id);
  return deleteDeliveries(tx, sql`id ${anyOf(ids)} and ended_at is not null`);
}

/** Removes about `limit` rows. @returns how many */
export const removeOldDeliveries = (tx: Tx, limit: number, now: number) =>
  removeEnded(
    tx,
    sql`select id, webhook_id as "webhookId" from deliveries where ended_at <= ${now - DELIVERY_KEPT_MS} limit ${limit}`,
  );

/** Removes about `limit` rows of the oldest ended deliveries of webhooks with a long log. @returns how many */
export async function trimLogs(tx: Tx, limit: number): Promise<number> {
  const full = await tx.all<{ id: string; kept: number }>(
    sql`select id, kept from webhooks where kept > ${MAX_KEPT_DELIVERIES} limit ${limit}`,
  );
  let freed = 0;
  for (const { id, kept } of full) {
    if (freed >= limit) break;
    freed += await removeEnded(
      tx,
      sql`select id, webhook_id as "webhookId" from deliveries
        where webhook_id = ${id} and ended_at is not null
        order by id limit ${Math.min(kept - MAX_KEPT_DELIVERIES, limit - freed)}`,
    );
  }
  return freed;
}

/**
 * Removes about `limit` rows of one webhook: removing several in one transaction could deadlock.
 * @param lock {@link LOCK_TO_REMOVE} waits for mail that is being stored
 * @returns 0 if there is none; otherwise `limit`, because there may be more
 */
export async function removeNextWebhook(
  tx: Tx,
  limit: number,
  which: Sql,
  lock = LOCK_FREE_TO_REMOVE,
): Promise<number> {
  const webhook = await tx.first<{ id: string }>(sql`select id from webhooks where ${which} limit 1 ${lock}`);
  if (!webhook) return 0;
  const { id } = webhook;
  const some = sql`select id from deliveries where webhook_id = ${id} limit ${limit}`;
  if ((await deleteDeliveries(tx, sql`id in (${some})`)) >= limit) return limit;
  // No delivery can be added meanwhile, because the webhook's row is locked.
  await tx.run(sql`delete from wakes where webhook_id = ${id}`);
  await tx.run(sql`delete from webhooks where id = ${id}`);
  return limit;
}

/** Removes webhooks whose inbox ended a day ago. @returns as {@link removeNextWebhook} */
export const removeEndedWebhooks = (tx: Tx, limit: number, now: number) =>
  removeNextWebhook(tx, limit, sql`ends_at <= ${now - TOMBSTONE_MS}`);
