import { newId } from '../../../ids.ts';
import { CONCURRENCY } from '../../contract/webhooks.ts';
import { freeInSteps } from '../delete-in-steps.ts';
import type { Db, Tx } from '../dialect.ts';
import { prepare, type Runner, type Slots } from '../prepared.ts';

/** Said of deliveries whose inbox was deleted or expired; the log shows it. */
export const INBOX_ENDED = 'The inbox ended.';

/** A message that was just placed in an inbox. */
interface PlacedMessage {
  accountId: string;
  inboxId: string;
  messageId: string;
  /** Whether the inbox ever had a webhook of its own. */
  hasWebhook: boolean;
}

/** The deliveries of one batch of mails, written in its transaction. */
export interface Enqueuing {
  /** Adds the deliveries of a message; answers how many. */
  add(message: PlacedMessage): Promise<number>;
  /** Tells the webhooks; to be called once, at the end of the transaction. */
  finish(): Promise<void>;
}

/**
 * Enqueues deliveries for new messages: one question a batch and account when there are no webhooks.
 * @returns begins a batch on a connection
 */
export function createEnqueue(db: Db): (on: Runner, now: number) => Enqueuing {
  const enabled = (value: Slots<{ accountId: string; now: number }>) =>
    db
      .selectFrom('webhooks')
      .select('id')
      .where('account_id', '=', value.accountId)
      .where('enabled', '=', 1)
      .where('ends_at', '>', value.now);
  const ofAccount = prepare((value: Slots<{ accountId: string; now: number }>) =>
    enabled(value).where('inbox_id', 'is', null),
  );
  const ofInbox = prepare((value: Slots<{ accountId: string; inboxId: string; now: number }>) =>
    enabled(value).where('inbox_id', '=', value.inboxId),
  );
  type NewDelivery = {
    id: string;
    webhook: string;
    event: string;
    inbox: string;
    message: string;
    now: number;
  };
  const insert = prepare((value: Slots<NewDelivery>) =>
    db.insertInto('deliveries').values({
      id: value.id,
      webhook_id: value.webhook,
      event_id: value.event,
      inbox_id: value.inbox,
      message_id: value.message,
      state: 'pending',
      created_at: value.now,
      due_at: value.now,
      round: 0,
      attempts: 0,
    }),
  );
  const wake = prepare((value: Slots<{ webhook: string; count: number; now: number }>) =>
    db
      .updateTable('webhooks')
      .set((row) => ({
        kept: row('kept', '+', value.count),
        next_at: row
          .case()
          .when('next_at', '<', value.now)
          .then(row.ref('next_at'))
          .when('blocked_until', '>', value.now)
          .then(row.ref('blocked_until'))
          .else(value.now)
          .end(),
      }))
      .where('id', '=', value.webhook),
  );

  return (on, now) => {
    const known = new Map<string, { id: string }[]>();
    const added = new Map<string, number>();
    const webhooksOf = async ({ accountId, inboxId, hasWebhook }: PlacedMessage) => {
      const webhooks = known.get(accountId) ?? (await ofAccount(on, { accountId, now }));
      known.set(accountId, webhooks);
      return hasWebhook ? [...webhooks, ...(await ofInbox(on, { accountId, inboxId, now }))] : webhooks;
    };
    return {
      async add(message) {
        const webhooks = await webhooksOf(message);
        if (webhooks.length === 0) return 0;
        const event = newId('evt', now);
        for (const { id: webhook } of webhooks) {
          const { inboxId, messageId } = message;
          const id = newId('dlv', now);
          await insert(on, { id, webhook, event, inbox: inboxId, message: messageId, now });
          added.set(webhook, (added.get(webhook) ?? 0) + 1);
        }
        return webhooks.length;
      },
      async finish() {
        // In the order of their ids, so that no two transactions wait for each other.
        for (const [webhook, count] of [...added].sort(([a], [b]) => (a < b ? -1 : 1))) {
          await wake(on, { webhook, count, now });
        }
      },
    };
  };
}

/** How many attempts of a webhook are under way, and when the first of their leases ends. */
export function prepareUnderWay(db: Db) {
  return prepare((value: Slots<{ webhook: string }>) =>
    db
      .selectFrom('deliveries')
      .select((row) => [row.fn.countAll<number>().as('underWay'), row.fn.min('leased_until').as('leaseEnds')])
      .where('webhook_id', '=', value.webhook)
      .where('leased_until', 'is not', null),
  );
}

/** Sets the time at which a webhook is looked at again, after anything changed in its queue. */
export type Reschedule = (
  on: Runner,
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
  return async (on, { id: webhook, prompt }, pausedUntil = 0) => {
    const [{ underWay, leaseEnds } = { underWay: 0, leaseEnds: null }] = await selectUnderWay(on, {
      webhook,
    });
    const [{ dueAt } = { dueAt: null }] = await selectDue(on, { webhook });
    const isFull = underWay >= concurrencyOf({ prompt });
    const blockedUntil = Math.max(pausedUntil, isFull && leaseEnds !== null ? leaseEnds : 0);
    const times = [leaseEnds, dueAt].filter((time) => time !== null);
    const nextAt = times.length > 0 ? Math.max(blockedUntil, Math.min(...times)) : null;
    await update(on, { webhook, nextAt, blockedUntil });
  };
}

/** Attempts that may be under way at once. */
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

/** Cancels up to `limit` pending deliveries of an inbox; answers how many. */
export async function cancelOfInbox(tx: Tx, inboxId: string, limit: number, now: number): Promise<number> {
  const pending = tx
    .selectFrom('deliveries')
    .select('id')
    .where('inbox_id', '=', inboxId)
    .where('ended_at', 'is', null)
    .limit(limit);
  const rows = tx.updateTable('deliveries').set(cancelled(INBOX_ENDED, now)).where('id', 'in', pending);
  return (await rows.returning('id').execute()).length;
}

/** Cancels up to `limit` pending deliveries of a webhook; answers how many. */
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
    const rows = tx.updateTable('deliveries').set(cancelled(reason, now)).where('id', 'in', pending);
    count += (await rows.returning('id').execute()).length;
  }
  return count;
}

/** Removes deliveries with their attempts; answers how many rows that were. */
export async function removeDeliveries(tx: Tx, ids: string[]): Promise<number> {
  if (ids.length === 0) return 0;
  const attempts = await tx
    .deleteFrom('attempts')
    .where('delivery_id', 'in', ids)
    .returning('number')
    .execute();
  const removed = await tx.deleteFrom('deliveries').where('id', 'in', ids).returning('webhook_id').execute();
  for (const [webhook, rows] of Map.groupBy(removed, ({ webhook_id }) => webhook_id)) {
    await tx
      .updateTable('webhooks')
      .set((row) => ({ kept: row('kept', '-', rows.length) }))
      .where('id', '=', webhook)
      .execute();
  }
  return attempts.length + removed.length;
}

/** Removes some deliveries of a webhook that is gone; answers how many rows, 0 when none is left. */
export async function removeOfWebhook(tx: Tx, webhookId: string, limit: number): Promise<number> {
  const rows = await tx
    .selectFrom('deliveries')
    .select('id')
    .where('webhook_id', '=', webhookId)
    .limit(limit)
    .execute();
  return removeDeliveries(
    tx,
    rows.map(({ id }) => id),
  );
}

/** Removes a webhook that is gone, with its log. */
export async function removeWebhook(db: Db, webhookId: string): Promise<void> {
  await freeInSteps(db, (tx, limit) => removeOfWebhook(tx, webhookId, limit));
  await db.deleteFrom('webhooks').where('id', '=', webhookId).execute();
}
