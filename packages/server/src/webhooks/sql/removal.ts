import { DAY_MS } from '../../clock.ts';
import { anyOf, FOR_UPDATE, perEngine, type Sql, sql, type Tx } from '../../database/sql.ts';
import { TOMBSTONE_MS } from '../../inboxes/records.ts';

// Lock order: a webhook before its deliveries, as in `record` and `replay`; otherwise they could deadlock.

/** A week, so that a failure before a weekend can still be examined after it. */
export const DELIVERY_KEPT_MS = 7 * DAY_MS;
export const MAX_KEPT_DELIVERIES = 10_000;
/** More than the deliveries that end between two calls of {@link trimLog}, so that the log does not grow. */
const TRIMMED_AT_ONCE = 200;

export const INBOX_ENDED = 'The inbox ended.';

/** Locks a webhook against transactions that add deliveries; skips it if such a transaction has locked it. */
const LOCK_TO_REMOVE = perEngine({ sqlite: '', postgres: 'for update skip locked' });

/** Locks deliveries by id, to prevent deadlocks. @param ids query for ids @returns how many were cancelled */
export const cancelPending = (tx: Tx, ids: Sql, reason: string, now: number): Promise<number> =>
  tx.run(
    sql`with locked as materialized (select id from deliveries where id in (${ids}) order by id ${FOR_UPDATE})
      update deliveries
      set state = 'cancelled', reason = ${reason}, due_at = null, leased_until = null, ended_at = ${now}
      where id in (select id from locked) and ended_at is null`,
  );

export const cancelOfInboxes = (tx: Tx, limit: number, inboxIds: readonly string[], now: number) =>
  cancelPending(
    tx,
    sql`select id from deliveries where inbox_id ${anyOf(inboxIds)} and ended_at is null limit ${limit}`,
    INBOX_ENDED,
    now,
  );

/** Deletes some of the oldest ended deliveries if a webhook's log is too long. The webhook must be locked. */
export async function trimLog(tx: Tx, webhookId: string): Promise<void> {
  const ofWebhook = sql`select id from deliveries where webhook_id = ${webhookId}`;
  const oldestKept = sql`${ofWebhook} order by id desc limit 1 offset ${MAX_KEPT_DELIVERIES - 1}`;
  await tx.run(
    sql`delete from deliveries
      where id in (${ofWebhook} and ended_at is not null and id < (${oldestKept}) order by id limit ${TRIMMED_AT_ONCE})`,
  );
}

/** Deletes about `limit` rows of a webhook that ended over a day ago. @returns `limit`; 0 if there is none */
export async function removeEndedWebhook(tx: Tx, limit: number, now: number): Promise<number> {
  const webhook = await tx.first<{ id: string }>(
    sql`select id from webhooks where ends_at <= ${now - TOMBSTONE_MS} limit 1 ${LOCK_TO_REMOVE}`,
  );
  if (!webhook) return 0;
  const { id } = webhook;
  const some = sql`select id from deliveries where webhook_id = ${id} limit ${limit}`;
  if ((await tx.run(sql`delete from deliveries where id in (${some})`)) >= limit) return limit;
  await tx.run(sql`delete from wakes where webhook_id = ${id}`);
  await tx.run(sql`delete from webhooks where id = ${id}`);
  return limit;
}
