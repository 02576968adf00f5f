import type { SelectQueryBuilder } from 'kysely';
import { CONCURRENCY } from '../../contract/webhooks.ts';
import type { Db, Tx } from '../engine.ts';
import { prepare, type Slots } from '../prepared.ts';
import type { Tables } from '../tables.ts';

/** The reason of deliveries whose inbox was deleted or expired; the log shows it. */
export const INBOX_ENDED = 'The inbox ended.';

/** Selects how many attempts of a webhook are in progress, and when the first of their leases ends. */
export function prepareUnderWay(db: Db) {
  return prepare((value: Slots<{ webhook: string }>) =>
    db
      .selectFrom('deliveries')
      .select((row) => [row.fn.countAll<number>().as('underWay'), row.fn.min('leased_until').as('leaseEnds')])
      .where('webhook_id', '=', value.webhook)
      .where('leased_until', 'is not', null),
  );
}

/** Sets the time of a webhook's next claim, after anything changed in its queue. */
export type Reschedule = (
  tx: Tx,
  webhook: { id: string; prompt: number },
  /** Nothing is claimed before. */
  pausedUntil?: number,
) => Promise<void>;

export function createReschedule(db: Db): Reschedule {
  const selectUnderWay = prepareUnderWay(db);
  const selectDue = prepare((value: Slots<{ webhook: string }>) =>
    db
      .selectFrom('deliveries')
      .select((row) => row.fn.min('due_at').as('dueAt'))
      .where('webhook_id', '=', value.webhook)
      .where('due_at', 'is not', null),
  );
  const update = prepare((value: Slots<{ webhook: string; nextAt: number | null; blockedUntil: number }>) =>
    db
      .updateTable('webhooks')
      .set({ next_at: value.nextAt, blocked_until: value.blockedUntil })
      .where('id', '=', value.webhook),
  );
  return async (tx, { id: webhook, prompt }, pausedUntil = 0) => {
    const [{ underWay, leaseEnds } = { underWay: 0, leaseEnds: null }] = await selectUnderWay(tx, {
      webhook,
    });
    const [{ dueAt } = { dueAt: null }] = await selectDue(tx, { webhook });
    const isFull = underWay >= concurrencyOf({ prompt });
    const blockedUntil = Math.max(pausedUntil, isFull && leaseEnds !== null ? leaseEnds : 0);
    const times = [leaseEnds, dueAt].filter((time) => time !== null);
    const nextAt = times.length > 0 ? Math.max(blockedUntil, Math.min(...times)) : null;
    await update(tx, { webhook, nextAt, blockedUntil });
  };
}

/** Attempts of a webhook that may be in progress at once. */
export function concurrencyOf({ prompt }: { prompt: number }): number {
  return prompt === 1 ? CONCURRENCY : 1;
}

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
 * Removes about `limit` rows of webhooks that have ended, with their deliveries.
 * @param next returns the next such webhook
 */
export async function removeEachWebhook(
  tx: Tx,
  limit: number,
  next: () => Promise<{ id: string } | undefined>,
): Promise<number> {
  let freed = 0;
  while (freed < limit) {
    const webhook = await next();
    if (!webhook) break;
    const some = tx
      .selectFrom('deliveries')
      .select('id')
      .where('webhook_id', '=', webhook.id)
      .limit(limit - freed);
    const rows = await removeDeliveries(tx, some, 'any');
    freed += rows;
    if (rows > 0) continue;
    await tx.deleteFrom('webhooks').where('id', '=', webhook.id).execute();
    freed += 1;
  }
  return freed;
}
