import type { DeleteQueryBuilder, DeleteResult, SelectQueryBuilder } from 'kysely';
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

/** Cancels up to `limit` pending deliveries of inboxes; returns how many. */
export async function cancelOfInboxes(
  tx: Tx,
  limit: number,
  inboxIds: readonly string[],
  now: number,
): Promise<number> {
  const pending = tx
    .selectFrom('deliveries')
    .select('id')
    .where('inbox_id', 'in', inboxIds)
    .where('ended_at', 'is', null)
    .limit(limit);
  const rows = tx
    .updateTable('deliveries')
    .set(cancelled(INBOX_ENDED, now))
    .where('id', 'in', pending)
    .where('ended_at', 'is', null);
  return (await rows.returning('id').execute()).length;
}

/** Cancels up to `limit` pending deliveries of a webhook; returns how many. Fewer than `limit`: none are left. */
export async function cancelOfWebhook(
  tx: Tx,
  dialect: Dialect,
  webhookId: string,
  reason: string,
  limit: number,
  now: number,
): Promise<number> {
  let count = 0;
  for (const column of ['due_at', 'leased_until'] as const) {
    // Locked, so that one which another transaction cancels does not count instead of one that is left.
    const pending = dialect.lockRows(
      tx
        .selectFrom('deliveries')
        .select('id')
        .where('webhook_id', '=', webhookId)
        .where(column, 'is not', null)
        .limit(limit - count),
    );
    const rows = tx.updateTable('deliveries').set(cancelled(reason, now)).where('id', 'in', pending);
    count += (await rows.returning('id').execute()).length;
  }
  return count;
}

/**
 * Deletes deliveries with their attempts. The transaction has locked their webhooks: `record` and `replay` lock a
 * webhook before its deliveries, and could deadlock with one that does it the other way round.
 * @returns the rows deleted
 */
async function deleteWithAttempts(
  tx: Tx,
  deliveries: DeleteQueryBuilder<Tables, 'deliveries', DeleteResult>,
): Promise<number> {
  const deleted = await deliveries.returning(['id', 'webhook_id']).execute();
  if (deleted.length === 0) return 0;
  const attempts = await tx
    .deleteFrom('attempts')
    .where(
      'delivery_id',
      'in',
      deleted.map(({ id }) => id),
    )
    .returning('number')
    .execute();
  for (const [webhook, { length }] of Map.groupBy(deleted, ({ webhook_id }) => webhook_id)) {
    await tx
      .updateTable('webhooks')
      .set((row) => ({ kept: row('kept', '-', length) }))
      .where('id', '=', webhook)
      .execute();
  }
  return attempts.length + deleted.length;
}

/**
 * Removes ended deliveries with their attempts. Those of a webhook that another transaction has locked are left
 * for later: one that waits for a webhook while it has locked another could deadlock.
 * @param which a query for the deliveries; one of them that is replayed meanwhile is kept
 * @returns the rows removed
 */
export async function removeEnded(
  tx: Tx,
  { lockFreeRows }: Dialect,
  which: SelectQueryBuilder<Tables, 'deliveries', { id: string; webhook_id: string }>,
): Promise<number> {
  const found = await which.execute();
  if (found.length === 0) return 0;
  const webhooks = [...new Set(found.map(({ webhook_id }) => webhook_id))];
  const free = await lockFreeRows(
    tx.selectFrom('webhooks').select('id').where('id', 'in', webhooks),
  ).execute();
  const locked = new Set(free.map(({ id }) => id));
  const ids = found.filter(({ webhook_id }) => locked.has(webhook_id)).map(({ id }) => id);
  if (ids.length === 0) return 0;
  return deleteWithAttempts(
    tx,
    tx.deleteFrom('deliveries').where('id', 'in', ids).where('ended_at', 'is not', null),
  );
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
  const rows = await deleteWithAttempts(tx, tx.deleteFrom('deliveries').where('id', 'in', some));
  // Its row is locked, so no delivery can be added any more.
  if (rows < limit) await tx.deleteFrom('webhooks').where('id', '=', webhook.id).execute();
  return limit;
}
