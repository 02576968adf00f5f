import type { Selectable } from 'kysely';
import type { ClaimedDelivery, ClaimLimits, DeliveryStore } from '../../contract/webhooks.ts';
import type { Db, Engine, Tx } from '../engine.ts';
import { prepare, type Slots } from '../prepared.ts';
import type { DeliveriesTable, WebhooksTable } from '../tables.ts';
import { cancelOfWebhook, concurrencyOf, createReschedule, INBOX_ENDED, prepareUnderWay } from './queue.ts';
import { signingSecrets } from './webhooks.ts';

/** Webhooks read in one query; more are read as long as the limits allow. */
const WEBHOOKS_PER_QUERY = 50;
/** Deliveries cancelled in one claim and webhook: about a millisecond; the next claim continues. */
const CANCELLED_PER_CLAIM = 100;

type Webhook = Selectable<WebhooksTable>;

function toClaimed(
  webhook: Webhook,
  delivery: Selectable<DeliveriesTable>,
  leasedUntil: number,
  now: number,
): ClaimedDelivery {
  return {
    id: delivery.id,
    webhookId: webhook.id,
    accountId: webhook.account_id,
    eventId: delivery.event_id,
    inboxId: delivery.inbox_id,
    messageId: delivery.message_id,
    createdAt: delivery.created_at,
    url: webhook.url,
    secrets: signingSecrets(webhook.secrets, now),
    attemptNumber: delivery.round + 1,
    leasedUntil,
    prompt: webhook.prompt === 1,
  };
}

/** Cancels the pending deliveries of a webhook that was disabled or has ended. */
async function endQueue(tx: Tx, webhook: Webhook, now: number): Promise<void> {
  const reason =
    webhook.ends_at <= now
      ? INBOX_ENDED
      : ['The webhook was disabled.', webhook.disabled_reason ?? ''].join(' ').trimEnd();
  const ended = await cancelOfWebhook(tx, webhook.id, reason, CANCELLED_PER_CLAIM, now);
  await tx
    .updateTable('webhooks')
    .set({ next_at: ended < CANCELLED_PER_CLAIM ? null : now })
    .where('id', '=', webhook.id)
    .execute();
}

/** Prepares the claim of one webhook's due deliveries, up to `room`. */
function createClaimOf(db: Db) {
  const reschedule = createReschedule(db);
  const selectUnderWay = prepareUnderWay(db);
  /** Deliveries whose claimer died are due again. */
  const lapse = prepare((value: Slots<{ webhook: string; now: number }>) =>
    db
      .updateTable('deliveries')
      .set((row) => ({ due_at: row.ref('leased_until'), leased_until: null }))
      .where('webhook_id', '=', value.webhook)
      .where('leased_until', '<=', value.now),
  );
  type Lease = { webhook: string; now: number; leasedUntil: number; limit: number };
  const lease = prepare((value: Slots<Lease>) =>
    db
      .updateTable('deliveries')
      .set({ due_at: null, leased_until: value.leasedUntil })
      .where('id', 'in', (row) =>
        row
          .selectFrom('deliveries')
          .select('id')
          .where('webhook_id', '=', value.webhook)
          .where('due_at', '<=', value.now)
          .orderBy('due_at')
          .orderBy('id')
          .limit(value.limit),
      )
      .returningAll(),
  );

  return async (tx: Tx, webhook: Webhook, room: number, leaseMs: number, now: number) => {
    const { id } = webhook;
    await lapse(tx, { webhook: id, now });
    const [{ underWay } = { underWay: 0 }] = await selectUnderWay(tx, { webhook: id });
    const limit = Math.max(0, Math.min(room, concurrencyOf(webhook) - underWay));
    const leasedUntil = now + leaseMs;
    const rows = limit === 0 ? [] : await lease(tx, { webhook: id, now, leasedUntil, limit });
    await reschedule(tx, webhook);
    return rows
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .map((row) => toClaimed(webhook, row, leasedUntil, now));
  };
}

/**
 * Claiming, webhook by webhook. `webhooks.next_at` says when a webhook may have due deliveries, so the cost
 * of a claim depends on what it finds and not on how many deliveries wait; the lock on the webhook's row
 * keeps its concurrency exact on any number of nodes.
 */
export function createClaim({ db, dialect, transaction }: Engine): DeliveryStore['claim'] {
  const claimOf = createClaimOf(db);
  const selectDue = prepare((value: Slots<{ prompt: number; now: number }>) =>
    dialect.lockRows(
      db
        .selectFrom('webhooks')
        .selectAll()
        .where('prompt', '=', value.prompt)
        .where('next_at', '<=', value.now)
        .orderBy('next_at')
        .limit(WEBHOOKS_PER_QUERY),
    ),
  );

  /** Claims at webhooks that are prompt, or at all others. */
  async function claimHalf(tx: Tx, prompt: 0 | 1, limit: number, leaseMs: number, now: number) {
    const claimed: ClaimedDelivery[] = [];
    const seen = new Set<string>();
    while (claimed.length < limit) {
      const due = await selectDue(tx, { prompt, now });
      const webhooks = due.filter(({ id }) => !seen.has(id));
      if (webhooks.length === 0) break;
      for (const webhook of webhooks) {
        seen.add(webhook.id);
        claimed.push(...(await claimOrEnd(tx, webhook, limit - claimed.length, leaseMs, now)));
        if (claimed.length >= limit) break;
      }
    }
    return claimed;
  }

  async function claimOrEnd(tx: Tx, webhook: Webhook, room: number, leaseMs: number, now: number) {
    if (webhook.enabled === 1 && webhook.ends_at > now) return claimOf(tx, webhook, room, leaseMs, now);
    await endQueue(tx, webhook, now);
    return [];
  }

  return (limits: ClaimLimits, now: number) =>
    transaction(async (tx) => [
      ...(await claimHalf(tx, 1, limits.prompt, limits.leaseMs, now)),
      ...(await claimHalf(tx, 0, limits.other, limits.leaseMs, now)),
    ]);
}
