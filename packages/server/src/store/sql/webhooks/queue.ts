import type { SelectQueryBuilder } from 'kysely';
import type { Dialect, Tx } from '../engine.ts';
import type { Tables } from '../tables/index.ts';

/** The reason of deliveries whose inbox was deleted or expired; the log shows it. */
export const INBOX_ENDED = 'The inbox ended.';

const cancelled = (reason: string, now: number) => ({
  state: 'cancelled' as const,
  reason,
  due_at: null,
  leased_until: null,
  ended_at: now,
});

/** Cancels up to `limit` pending deliveries of an inbox; returns how many. */
export async function cancelOfInbox(tx: Tx, limit: number, inboxId: string, now: number): Promise<number> {
  const pending = tx
    .selectFrom('deliveries')
    .select('id')
    .where('inbox_id', '=', inboxId)
    .where('ended_at', 'is', null)
    .limit(limit);
  const rows = tx
    .updateTable('deliveries')
    .set(cancelled(INBOX_ENDED, now))
    .where('id', 'in', pending)
    .where('ended_at', 'is', null);
  return (await rows.returning('id').execute()).length;
}

/** Cancels up to `limit` pending deliveries of a webhook; returns how many. */
export async function cancelOfWebhook(
  tx: Tx,
  webhookId: string,
  reason: string,
  limit: number,
  now: number,
): Promise<number> {
  let count = 0;
  for (const column of ['due_at', 'leased_until'] as const) {
    const pending = tx
      .selectFrom('deliveries')
      .select('id')
      .where('webhook_id', '=', webhookId)
      .where(column, 'is not', null)
      .limit(limit - count);
    const rows = tx
      .updateTable('deliveries')
      .set(cancelled(reason, now))
      .where('id', 'in', pending)
      .where('ended_at', 'is', null);
    count += (await rows.returning('id').execute()).length;
  }
  return count;
}

/**
 * Removes deliveries with their attempts.
 * @param which a query for the ids
 * @param mayRemove a condition that the row must still meet when it is deleted: another transaction may have
 *   changed it since the query read it
 * @returns the rows removed
 */
export async function removeDeliveries(
  tx: Tx,
  which: SelectQueryBuilder<Tables, 'deliveries', { id: string }>,
  mayRemove: 'any' | 'ended',
): Promise<number> {
  let deletion = tx.deleteFrom('deliveries').where('id', 'in', which);
  if (mayRemove === 'ended') deletion = deletion.where('ended_at', 'is not', null);
  const removed = await deletion.returning(['id', 'webhook_id']).execute();
  if (removed.length === 0) return 0;
  const attempts = await tx
    .deleteFrom('attempts')
    .where(
      'delivery_id',
      'in',
      removed.map(({ id }) => id),
    )
    .returning('number')
    .execute();
  const webhooks = Map.groupBy(removed, ({ webhook_id }) => webhook_id);
  // In the order of their ids, so that no two transactions wait for each other.
  for (const [webhook, rows] of [...webhooks].sort(([a], [b]) => (a < b ? -1 : 1))) {
    await tx
      .updateTable('webhooks')
      .set((row) => ({ kept: row('kept', '-', rows.length) }))
      .where('id', '=', webhook)
      .execute();
  }
  return attempts.length + removed.length;
}

/**
 * Removes about `limit` rows of a webhook that has ended, with its deliveries. One webhook in a transaction:
 * mail that is being stored may hold up its removal, and two that wait for several webhooks could deadlock.
 * @param which a query for the webhooks
 * @param lock `lockToRemove` to wait for such mail, `lockFreeToRemove` to leave the webhook for later
 * @returns 0 if there is none; otherwise `limit`, because there may be more
 */
export async function removeNextWebhook(
  tx: Tx,
  limit: number,
  which: SelectQueryBuilder<Tables, 'webhooks', { id: string }>,
  lock: Dialect['lockToRemove'],
): Promise<number> {
  const webhook = await lock(which.limit(1)).executeTakeFirst();
  if (!webhook) return 0;
  const some = tx.selectFrom('deliveries').select('id').where('webhook_id', '=', webhook.id).limit(limit);
  const rows = await removeDeliveries(tx, some, 'any');
  // Its row is locked, so no delivery can be added any more.
  if (rows < limit) await tx.deleteFrom('webhooks').where('id', '=', webhook.id).execute();
  return limit;
}
