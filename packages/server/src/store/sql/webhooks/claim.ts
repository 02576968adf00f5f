import type { Selectable } from 'kysely';
import type { ClaimedDelivery, ClaimLimits, DeliveryStore } from '../../contract/webhooks.ts';
import type { Db, Dialect, Tx } from '../dialect.ts';
import { onConnection, prepare, type Runner, type Slots } from '../prepared.ts';
import type { DeliveriesTable, WebhooksTable } from '../tables.ts';
import { cancelOfWebhook, concurrencyOf, createReschedule, INBOX_ENDED, prepareUnderWay } from './queue.ts';
import { signingSecrets } from './webhooks.ts';

/** Webhooks looked at in one query; more are asked for as long as there is room. */
const WEBHOOKS_PER_LOOK = 50;
/** Deliveries cancelled in one claim and webhook: about a millisecond; the next claim goes on. */
const CANCELLED_PER_LOOK = 100;

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

/**
 * Claiming, webhook by webhook. `webhooks.next_at` says when a queue is worth a look, so a claim costs
 * what it finds, however many deliveries wait elsewhere; and the lock on the webhook's row keeps its
 * concurrency exact on any number of nodes.
 */
export function createClaim(db: Db, dialect: Dialect): DeliveryStore['claim'] {
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

  async function claimOf(on: Runner, webhook: Webhook, room: number, leaseMs: number, now: number) {
    const { id } = webhook;
    await lapse(on, { webhook: id, now });
    const [{ underWay } = { underWay: 0 }] = await selectUnderWay(on, { webhook: id });
    const limit = Math.max(0, Math.min(room, concurrencyOf(webhook) - underWay));
    const leasedUntil = now + leaseMs;
    const rows = limit === 0 ? [] : await lease(on, { webhook: id, now, leasedUntil, limit });
    await reschedule(on, webhook);
    return rows
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .map((row) => toClaimed(webhook, row, leasedUntil, now));
  }

  /** Ends what is pending at a webhook that gets no more. */
  async function endQueue(tx: Tx, webhook: Webhook, now: number): Promise<void> {
    const reason =
      webhook.ends_at <= now
        ? INBOX_ENDED
        : ['The webhook was disabled.', webhook.disabled_reason ?? ''].join(' ').trimEnd();
    const ended = await cancelOfWebhook(tx, webhook.id, reason, CANCELLED_PER_LOOK, now);
    await tx
      .updateTable('webhooks')
      .set({ next_at: ended < CANCELLED_PER_LOOK ? null : now })
      .where('id', '=', webhook.id)
      .execute();
  }

  const selectDue = prepare((value: Slots<{ prompt: number; now: number }>) =>
    dialect.lockRows(
      db
        .selectFrom('webhooks')
        .selectAll()
        .where('prompt', '=', value.prompt)
        .where('next_at', '<=', value.now)
        .orderBy('next_at')
        .limit(WEBHOOKS_PER_LOOK),
    ),
  );

  async function claimHalf(tx: Tx, prompt: 0 | 1, limit: number, leaseMs: number, now: number) {
    const claimed: ClaimedDelivery[] = [];
    const seen = new Set<string>();
    while (claimed.length < limit) {
      const due = await onConnection(tx, (on) => selectDue(on, { prompt, now }));
      const webhooks = due.filter(({ id }) => !seen.has(id));
      if (webhooks.length === 0) break;
      for (const webhook of webhooks) {
        if (claimed.length >= limit) break;
        seen.add(webhook.id);
        if (webhook.enabled === 0 || webhook.ends_at <= now) await endQueue(tx, webhook, now);
        else {
          const room = limit - claimed.length;
          claimed.push(...(await onConnection(tx, (on) => claimOf(on, webhook, room, leaseMs, now))));
        }
      }
    }
    return claimed;
  }

  return (limits: ClaimLimits, now: number) =>
    db
      .transaction()
      .execute(async (tx) => [
        ...(await claimHalf(tx, 1, limits.prompt, limits.leaseMs, now)),
        ...(await claimHalf(tx, 0, limits.other, limits.leaseMs, now)),
      ]);
}
