import type { Selectable } from 'kysely';
import type { ClaimedDelivery, ClaimLimits, DeliveryStore } from '../../contract/webhooks.ts';
import type { Db, Dialect, Engine, Tx } from '../engine.ts';
import { prepare, type Slots } from '../prepared.ts';
import type { DeliveriesTable, WebhooksTable } from '../tables/webhooks.ts';
import { cancelOfWebhook, INBOX_ENDED } from './queue.ts';
import { aheadAt, CLOCK_TOLERANCE_MS, concurrencyOf, createReschedule, prepareUnderWay } from './schedule.ts';
import { createTakeWakes } from './wakes.ts';
import { signingSecrets } from './webhooks.ts';

/** Webhooks found by one query; more are found as long as the limits allow. */
const WEBHOOKS_PER_QUERY = 50;
/** Webhooks claimed at once where each has a transaction of its own: a part of the connections of a node. */
const WEBHOOKS_AT_ONCE = 4;
/** Deliveries cancelled in one claim and webhook: about a millisecond; the next claim continues. */
const CANCELLED_PER_CLAIM = 100;

type Webhook = Selectable<WebhooksTable>;

/** The wall clock, for data, and the time of schedules and leases. */
interface Times {
  wall: number;
  schedule: number;
}

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
async function endQueue(
  tx: Tx,
  dialect: Dialect,
  webhook: Webhook,
  { wall, schedule }: Times,
): Promise<void> {
  const reason =
    webhook.ends_at <= wall
      ? INBOX_ENDED
      : ['The webhook was disabled.', webhook.disabled_reason ?? ''].join(' ').trimEnd();
  const ended = await cancelOfWebhook(tx, dialect, webhook.id, reason, CANCELLED_PER_CLAIM, wall);
  await tx
    .updateTable('webhooks')
    .set({ next_at: ended < CANCELLED_PER_CLAIM ? null : schedule, scheduled_at: schedule })
    .where('id', '=', webhook.id)
    .execute();
}

/** Prepares the claim of one webhook's due deliveries, up to `room`, in a transaction that has locked it. */
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
      // Another transaction may have cancelled it since the subquery read it.
      .where('due_at', '<=', value.now)
      .returningAll(),
  );

  return async (tx: Tx, webhook: Webhook, room: number, leaseMs: number, { wall, schedule }: Times) => {
    const { id } = webhook;
    // The times of the deliveries run ahead by so much.
    const now = schedule + aheadAt(webhook, schedule);
    await lapse(tx, { webhook: id, now });
    const [{ underWay } = { underWay: 0 }] = await selectUnderWay(tx, { webhook: id });
    const limit = Math.max(0, Math.min(room, concurrencyOf(webhook) - underWay));
    const leasedUntil = now + leaseMs;
    const rows = limit === 0 ? [] : await lease(tx, { webhook: id, now, leasedUntil, limit });
    await reschedule(tx, webhook, schedule);
    return rows
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .map((row) => toClaimed(webhook, row, leasedUntil, wall));
  };
}

/** Prepares finding webhooks that may have due deliveries, those that wait longest first. */
function createFindDue(db: Db) {
  const selectDue = prepare((value: Slots<{ prompt: number; now: number }>) =>
    db
      .selectFrom('webhooks')
      .select('id')
      .where('prompt', '=', value.prompt)
      .where('next_at', '<=', value.now)
      .orderBy('next_at')
      .limit(WEBHOOKS_PER_QUERY),
  );
  /** Those whose schedules were set before the clock ran back. */
  const selectAhead = prepare((value: Slots<{ prompt: number; after: number }>) =>
    db
      .selectFrom('webhooks')
      .select('id')
      .where('prompt', '=', value.prompt)
      .where('scheduled_at', '>', value.after)
      .where('next_at', 'is not', null)
      .orderBy('scheduled_at')
      .limit(WEBHOOKS_PER_QUERY),
  );
  return async (on: Db, prompt: 0 | 1, now: number): Promise<string[]> => {
    const due = await selectDue(on, { prompt, now });
    const ahead = await selectAhead(on, { prompt, after: now + CLOCK_TOLERANCE_MS });
    return [...new Set([...due, ...ahead].map(({ id }) => id))];
  };
}

/** How an engine divides a claim into transactions. */
export interface ClaimScope {
  /** A transaction for each webhook, so that no row is locked for long, or one for all where that costs less. */
  transactions: 'each webhook' | 'one';
  /** Returns the order in which webhooks are claimed: several nodes should not begin with the same one. */
  order(ids: string[]): string[];
}

/**
 * Claiming, webhook by webhook. `webhooks.next_at` says when a webhook may have due deliveries, so the cost
 * of a claim depends on what it finds and not on how many deliveries wait; the lock on the webhook's row
 * keeps its concurrency exact on any number of nodes. What another node has locked is left to it.
 */
export function createClaim(engine: Engine, scope: ClaimScope): DeliveryStore['claim'] {
  const { db, dialect, transaction } = engine;
  const takeWakes = createTakeWakes(engine);
  const findDue = createFindDue(db);
  const claimOf = createClaimOf(db);
  const lock = prepare((value: Slots<{ id: string }>) =>
    dialect.lockFreeRows(db.selectFrom('webhooks').selectAll().where('id', '=', value.id)),
  );

  async function claimOne(tx: Tx, id: string, room: number, leaseMs: number, times: Times) {
    const [webhook] = await lock(tx, { id });
    if (!webhook || webhook.next_at === null) return [];
    if (webhook.enabled !== 1 || webhook.ends_at <= times.wall) {
      await endQueue(tx, dialect, webhook, times);
      return [];
    }
    return claimOf(tx, webhook, room, leaseMs, times);
  }

  type Within = <T>(work: (tx: Tx) => Promise<T>) => Promise<T>;
  const atOnce = scope.transactions === 'one' ? 1 : WEBHOOKS_AT_ONCE;

  /** Claims at webhooks that are prompt, or at all others, and adds to `claimed`. */
  async function claimHalf(
    { on, within }: { on: Db; within: Within },
    claimed: ClaimedDelivery[],
    half: { prompt: 0 | 1; limit: number; leaseMs: number },
    times: Times,
  ): Promise<void> {
    const seen = new Set<string>();
    let room = half.limit;
    while (room > 0) {
      const due = (await findDue(on, half.prompt, times.schedule)).filter((id) => !seen.has(id));
      if (due.length === 0) return;
      for (const left = scope.order(due); left.length > 0 && room > 0; ) {
        const some = left.splice(0, Math.min(atOnce, room));
        for (const id of some) seen.add(id);
        const share = Math.floor(room / some.length);
        const claims = await Promise.all(
          some.map((id) => within((tx) => claimOne(tx, id, share, half.leaseMs, times))),
        );
        for (const claim of claims) {
          claimed.push(...claim);
          room -= claim.length;
        }
      }
    }
  }

  async function claimAll(on: Db, within: Within, limits: ClaimLimits, times: Times) {
    const { prompt, other, leaseMs } = limits;
    const claimed: ClaimedDelivery[] = [];
    await within((tx) => takeWakes(tx, Number.MAX_SAFE_INTEGER, times.schedule));
    try {
      await claimHalf({ on, within }, claimed, { prompt: 1, limit: prompt, leaseMs }, times);
      await claimHalf({ on, within }, claimed, { prompt: 0, limit: other, leaseMs }, times);
    } catch (error) {
      // What was committed is attempted now, not after its lease; the next claim meets the same failure.
      if (scope.transactions === 'one' || claimed.length === 0) throw error;
    }
    return claimed;
  }

  return (limits, wall, schedule = wall) => {
    const times = { wall, schedule };
    if (scope.transactions === 'each webhook') return claimAll(db, transaction, limits, times);
    return transaction((tx) => claimAll(tx, (work) => work(tx), limits, times));
  };
}
