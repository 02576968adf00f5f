import { NEVER } from '../../database/schema.ts';
import { anyOf, FOR_UPDATE_SKIP_LOCKED, perEngine, read, sql, type Tx, write } from '../../database/sql.ts';
import type { DeliveryRecord } from './log.ts';
import { cancelPending, INBOX_ENDED, trimLog } from './removal.ts';
import { signingSecrets, type WebhookRecord } from './webhooks.ts';

// Claiming deliveries and recording results lock the webhook's row until the commit, so that the limit of
// concurrent attempts holds for all nodes together. Storing mail never takes this lock: it inserts into
// `wakes`, which the next claim reads. `next_at` is when a delivery may be claimed; null if none is pending.

type LeasedDelivery = Pick<DeliveryRecord, 'id' | 'eventId' | 'inboxId' | 'messageId' | 'createdAt'>;

export interface ClaimedDelivery extends LeasedDelivery {
  webhookId: string;
  accountId: string;
  url: string;
  secrets: string[];
  /** Starts at 1; starts at 1 again after a replay. */
  attemptNumber: number;
  /** End of the lease. It identifies the claim when the result is recorded. */
  leasedUntil: number;
  prompt: boolean;
}

type ClaimLimits = Record<'prompt' | 'other' | 'leaseMs', number>;

/** Limit of concurrent attempts for a webhook that responds promptly. Other webhooks have one at a time. */
export const CONCURRENCY = 4;
// Limits that keep a transaction short (a few milliseconds). The next claim continues.
const WEBHOOKS_PER_CLAIM = 50;
const CANCELLED_PER_CLAIM = 100;
const WAKES_PER_TRANSACTION = 1_000;

export const LEAST = perEngine({ sqlite: 'min', postgres: 'least' });
const GREATEST = perEngine({ sqlite: 'max', postgres: 'greatest' });

/** Computes `next_at` again. @param pauseMs SQL for the milliseconds before the next claim of a webhook */
export async function reschedule(tx: Tx, ids: readonly string[], now: number, pauseMs = sql`0`) {
  const ofWebhook = sql`from deliveries d where d.webhook_id = w.id`;
  await tx.run(
    sql`with queues as (
        select id, cast(${now} as bigint) + ${pauseMs} as pauses_until,
          case prompt when 1 then ${CONCURRENCY} else 1 end as concurrency,
          (select count(*) ${ofWebhook} and leased_until is not null) as under_way,
          (select min(leased_until) ${ofWebhook} and leased_until is not null) as lease_ends,
          (select min(due_at) ${ofWebhook} and due_at is not null) as first_due
        from webhooks w where id ${anyOf(ids)}
      ), times as (
        select id,
          ${GREATEST}(pauses_until, case when under_way >= concurrency then lease_ends else 0 end) as blocked,
          ${LEAST}(coalesce(lease_ends, ${NEVER}), coalesce(first_due, ${NEVER})) as first
        from queues
      )
      update webhooks
      set blocked_until = times.blocked,
        next_at = case when times.first < ${NEVER} then ${GREATEST}(times.blocked, times.first) end
      from times where webhooks.id = times.id`,
  );
}

/** Makes the webhooks in `wakes` due, except those that another transaction has locked. */
async function takeWakes(tx: Tx, now: number): Promise<void> {
  const oldest = sql`select seq, webhook_id from wakes order by seq limit ${WAKES_PER_TRANSACTION}`;
  const woken = await tx.all<{ id: string }>(
    sql`select id from webhooks where id in (select webhook_id from (${oldest}) as w) ${FOR_UPDATE_SKIP_LOCKED}`,
  );
  if (woken.length === 0) return;
  const ids = woken.map(({ id }) => id);
  await tx.run(
    sql`delete from wakes where seq in (select seq from (${oldest}) as w where webhook_id ${anyOf(ids)})`,
  );
  // The first attempt is due at once, even if the clock of the node that added it is ahead.
  await tx.run(
    sql`update deliveries set due_at = ${now} where webhook_id ${anyOf(ids)} and due_at > ${now} and round = 0`,
  );
  await tx.run(
    sql`update webhooks
      set next_at = case when next_at < ${now} then next_at else ${GREATEST}(blocked_until, cast(${now} as bigint)) end
      where id ${anyOf(ids)}`,
  );
}

type DueWebhook = Pick<WebhookRecord, 'id' | 'accountId' | 'url' | 'disabledReason'> & {
  secrets: string;
  enabled: number;
  endsAt: number;
};

async function endQueue(tx: Tx, webhook: DueWebhook, wall: number, schedule: number): Promise<void> {
  const { id, endsAt, disabledReason } = webhook;
  const disabled = ['The webhook was disabled.', disabledReason ?? ''].join(' ').trimEnd();
  const pending = sql`select id from deliveries where webhook_id = ${id} and due_at is not null
    union all select id from deliveries where webhook_id = ${id} and leased_until is not null`;
  const some = sql`${pending} limit ${CANCELLED_PER_CLAIM}`;
  await cancelPending(tx, some, endsAt <= wall ? INBOX_ENDED : disabled, wall);
  await trimLog(tx, id);
  await tx.run(
    sql`update webhooks set next_at = case when exists (${pending}) then cast(${schedule} as bigint) end where id = ${id}`,
  );
}

const lease = (tx: Tx, webhookId: string, now: number, leasedUntil: number, limit: number) =>
  tx.all<LeasedDelivery & { round: number }>(
    sql`update deliveries set due_at = null, leased_until = ${leasedUntil}
      where id in (select id from deliveries where webhook_id = ${webhookId} and due_at <= ${now}
          order by due_at, id limit ${limit})
        -- Another transaction may have cancelled the delivery since the subquery read its row.
        and due_at <= ${now}
      returning id, event_id as "eventId", inbox_id as "inboxId", message_id as "messageId",
        created_at as "createdAt", round`,
  );

async function claimSome(
  tx: Tx,
  { prompt, limit, leaseMs }: { prompt: boolean; limit: number; leaseMs: number },
  wall: number,
  schedule: number,
): Promise<ClaimedDelivery[]> {
  if (limit === 0) return [];
  const due = await tx.all<DueWebhook>(
    sql`select id, account_id as "accountId", url, secrets, enabled, disabled_reason as "disabledReason",
        ends_at as "endsAt"
      from webhooks where prompt = ${prompt ? 1 : 0} and next_at <= ${schedule}
      order by next_at limit ${Math.min(limit, WEBHOOKS_PER_CLAIM)} ${FOR_UPDATE_SKIP_LOCKED}`,
  );
  const hasEnded = ({ enabled, endsAt }: DueWebhook) => enabled !== 1 || endsAt <= wall;
  for (const webhook of due.filter(hasEnded)) await endQueue(tx, webhook, wall, schedule);
  const live = due.filter((webhook) => !hasEnded(webhook));
  if (live.length === 0) return [];
  const ids = live.map(({ id }) => id);
  // A lease has expired only if its process has crashed. Make such deliveries due again.
  await tx.run(
    sql`update deliveries set due_at = leased_until, leased_until = null
      where webhook_id ${anyOf(ids)} and leased_until <= ${schedule}`,
  );
  const leasedUntil = schedule + leaseMs;
  const claimed: ClaimedDelivery[] = [];
  for (const { id: webhookId, accountId, url, secrets } of live) {
    const inProgress = await tx.all(
      sql`select id from deliveries where webhook_id = ${webhookId} and leased_until is not null limit ${CONCURRENCY}`,
    );
    const room = Math.min((prompt ? CONCURRENCY : 1) - inProgress.length, limit - claimed.length);
    if (room <= 0) continue;
    const rows = await lease(tx, webhookId, schedule, leasedUntil, room);
    const of = { webhookId, accountId, url, secrets: signingSecrets(secrets, wall), leasedUntil, prompt };
    for (const { round, ...row } of rows.sort((a, b) => (a.id < b.id ? -1 : 1)))
      claimed.push({ ...row, ...of, attemptNumber: round + 1 });
  }
  await reschedule(tx, ids, schedule);
  return claimed;
}

export const queue = {
  claim: write(
    { keepsInboxes: true },
    async (tx, { prompt, other, leaseMs }: ClaimLimits, now: number, schedule: number = now) => {
      await takeWakes(tx, schedule);
      return [
        ...(await claimSome(tx, { prompt: true, limit: prompt, leaseMs }, now, schedule)),
        ...(await claimSome(tx, { prompt: false, limit: other, leaseMs }, now, schedule)),
      ];
    },
  ),

  nextAt: read(async (db, schedule: number): Promise<number | null> => {
    // One subquery for each value of `prompt`, because the index begins with that column.
    const first = await db.first<{ woken: number | null; prompt: number | null; other: number | null }>(
      sql`select (select 1 from wakes limit 1) as woken,
        (select min(next_at) from webhooks where prompt = 1 and next_at is not null) as prompt,
        (select min(next_at) from webhooks where prompt = 0 and next_at is not null) as other`,
    );
    if (!first || first.woken !== null) return schedule;
    const times = [first.prompt, first.other].filter((time) => time !== null);
    return times.length === 0 ? null : Math.min(...times);
  }),

  /** Releases all leases. Only for the start of a single server, when no other process can hold a lease. */
  releaseAll: write({ mayUseReserve: true }, async (tx, schedule: number): Promise<void> => {
    await tx.run(
      sql`update deliveries set due_at = ${schedule}, leased_until = null where leased_until is not null`,
    );
    await tx.run(sql`update deliveries set due_at = ${schedule} where due_at > ${schedule} and round = 0`);
    await tx.run(sql`update webhooks set next_at = ${schedule}, blocked_until = 0 where next_at is not null`);
  }),
};
