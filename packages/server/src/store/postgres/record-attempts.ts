import type { Pool, PoolClient } from 'pg';
import { together } from '../../database/postgres/errors.ts';
import { runFlights } from '../../database/postgres/transactions.ts';
import type { AttemptResult, DeliveryStore, FailureStreak } from '../contract/webhooks.ts';
import { pauseAfter, type Streak, stateColumns, streakAfter } from '../sql/webhooks/record-attempts.ts';
import { aheadAt, nextTimes, type Queued, type Scheduled } from '../sql/webhooks/schedule.ts';

/*
 * `record` on PostgreSQL: five statements for any number of attempts, sent in three flights. What they mean is
 * that of sql/webhooks/record-attempts.ts.
 */

type Webhook = Scheduled & Streak;
type WebhookQueue = Queued & { id: string };

interface Times {
  wall: number;
  schedule: number;
}

/** Locks the webhooks in the order of their ids, so that no two transactions wait for each other. */
async function lockWebhooks(
  client: PoolClient,
  results: readonly AttemptResult[],
): Promise<Map<string, Webhook>> {
  const { rows } = await client.query({
    name: 'lock webhooks',
    text: `select id, prompt, scheduled_at, ahead_ms, failing_since, failed_attempts from webhooks
      where id = any($1) order by id for no key update`,
    values: [[...new Set(results.map(({ webhookId }) => webhookId))]],
  });
  return new Map(rows.map((row: Webhook) => [row.id, row]));
}

/**
 * Counts the attempts of deliveries, and changes the states of those that are still leased as they were claimed.
 * @returns the attempts of each delivery that exists
 */
async function updateDeliveries(
  client: PoolClient,
  results: readonly AttemptResult[],
  webhooks: ReadonlyMap<string, Webhook>,
  { wall, schedule }: Times,
): Promise<Map<string, number>> {
  const columns = results.map(({ webhookId, next }) => {
    const webhook = webhooks.get(webhookId);
    return stateColumns(next, wall, webhook ? aheadAt(webhook, schedule) : 0);
  });
  const { rows } = await client.query({
    name: 'record states',
    text: `update deliveries d
      set attempts = d.attempts + made, round = d.round + made,
        state = case when d.leased_until = leased then new_state else d.state end,
        reason = case when d.leased_until = leased then new_reason else d.reason end,
        due_at = case when d.leased_until = leased then new_due_at else d.due_at end,
        ended_at = case when d.leased_until = leased then new_ended_at else d.ended_at end,
        leased_until = case when d.leased_until = leased then null else d.leased_until end
      from unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::bigint[], $7::bigint[])
        as result(delivery, made, leased, new_state, new_reason, new_due_at, new_ended_at)
      where d.id = delivery returning d.id, d.attempts`,
    values: [
      results.map(({ deliveryId }) => deliveryId),
      results.map(({ attempt }) => (attempt ? 1 : 0)),
      results.map(({ leasedUntil }) => leasedUntil),
      columns.map(({ state }) => state),
      columns.map(({ reason }) => reason),
      columns.map(({ dueAt }) => dueAt),
      columns.map(({ endedAt }) => endedAt),
    ],
  });
  return new Map(rows.map(({ id, attempts }) => [id, attempts]));
}

async function readQueues(client: PoolClient, webhooks: readonly string[]): Promise<WebhookQueue[]> {
  const ofWebhook = 'from deliveries d where d.webhook_id = w.id and';
  const { rows } = await client.query({
    name: 'read queues',
    text: `select w.id,
        (select count(*) ${ofWebhook} leased_until is not null) as "underWay",
        (select min(leased_until) ${ofWebhook} leased_until is not null) as "leaseEnds",
        (select min(due_at) ${ofWebhook} due_at is not null) as "dueAt"
      from unnest($1::text[]) as w(id)`,
    values: [webhooks],
  });
  return rows;
}

async function insertAttempts(
  client: PoolClient,
  results: readonly AttemptResult[],
  numbers: ReadonlyMap<string, number>,
): Promise<void> {
  const made = results.flatMap(({ deliveryId, attempt }) => {
    const number = numbers.get(deliveryId);
    return attempt && number !== undefined ? [{ ...attempt, deliveryId, number }] : [];
  });
  if (made.length === 0) return;
  await client.query({
    name: 'add attempts',
    text: `insert into attempts (delivery_id, number, at, status, duration_ms, error, response_start)
      select * from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::text[])`,
    values: [
      made.map(({ deliveryId }) => deliveryId),
      made.map(({ number }) => number),
      made.map(({ at }) => at),
      made.map(({ status }) => status),
      made.map(({ durationMs }) => durationMs),
      made.map(({ error }) => error && JSON.stringify(error)),
      made.map(({ responseStart }) => JSON.stringify(responseStart)),
    ],
  });
}

async function updateWebhooks(
  client: PoolClient,
  webhooks: ReadonlyMap<string, Webhook>,
  queues: readonly WebhookQueue[],
  schedule: number,
): Promise<void> {
  const changed = queues.flatMap((queue) => {
    const webhook = webhooks.get(queue.id);
    if (!webhook) return [];
    const times = nextTimes(webhook, queue, schedule, pauseAfter(webhook.failed_attempts));
    return [{ ...webhook, ...times }];
  });
  await client.query({
    name: 'move webhooks',
    text: `update webhooks w
      set failing_since = moved.failing_since, failed_attempts = moved.failed_attempts, prompt = moved.prompt,
        next_at = moved.next_at, blocked_until = moved.blocked_until, scheduled_at = $8, ahead_ms = moved.ahead
      from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
        as moved(id, failing_since, failed_attempts, prompt, next_at, blocked_until, ahead)
      where w.id = moved.id`,
    values: [
      changed.map(({ id }) => id),
      changed.map(({ failing_since }) => failing_since),
      changed.map(({ failed_attempts }) => failed_attempts),
      changed.map(({ prompt }) => prompt),
      changed.map(({ nextAt }) => nextAt),
      changed.map(({ blockedUntil }) => blockedUntil),
      changed.map(({ ahead }) => ahead),
      schedule,
    ],
  });
}

/** Records results of different deliveries. @returns the failures after each result, and what is still under way */
async function recordSome(client: PoolClient, results: readonly AttemptResult[], times: Times) {
  const webhooks = await lockWebhooks(client, results);
  const [numbers, queues] = await together([
    updateDeliveries(client, results, webhooks, times),
    readQueues(client, [...webhooks.keys()]),
  ]);
  const streaks = results.map(({ webhookId, deliveryId, attempt }): FailureStreak | undefined => {
    const before = webhooks.get(webhookId);
    if (!before) return undefined;
    const after =
      attempt && numbers.has(deliveryId) ? { ...before, ...streakAfter(before, attempt) } : before;
    webhooks.set(webhookId, after);
    return { failingSince: after.failing_since, failedAttempts: after.failed_attempts };
  });
  const written = together([
    insertAttempts(client, results, numbers),
    updateWebhooks(client, webhooks, queues, times.schedule),
  ]);
  return { streaks, written };
}

/** Splits results so that no part has two of the same delivery: one whose lease ended may have two attempts. */
function partsOf(results: readonly AttemptResult[]): number[][] {
  const repeated = new Map<string, number>();
  const places = results.map(({ deliveryId }) => {
    const part = repeated.get(deliveryId) ?? 0;
    repeated.set(deliveryId, part + 1);
    return part;
  });
  return [...Map.groupBy(places.keys(), (index) => places[index]).values()];
}

/** Recording the attempts of claimed deliveries. */
export function createRecord(pool: Pool): DeliveryStore['record'] {
  return (results, wall, schedule = wall) =>
    runFlights(pool, async (client, begun) => {
      await begun;
      const streaks: (FailureStreak | undefined)[] = [];
      let last: Promise<unknown> = Promise.resolve();
      for (const part of partsOf(results)) {
        await last;
        const some = part.flatMap((index) => results[index] ?? []);
        const recorded = await recordSome(client, some, { wall, schedule });
        part.forEach((index, place) => {
          streaks[index] = recorded.streaks[place];
        });
        last = recorded.written;
      }
      return { result: streaks, written: last };
    });
}
