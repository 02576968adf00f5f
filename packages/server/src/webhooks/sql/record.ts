import { anyOf, eachOf, FOR_UPDATE, sql, type Tx, write } from '../../database/sql.ts';
import type { AttemptRecord, DeliveryState } from './log.ts';
import { LEAST, reschedule } from './queue.ts';

export interface AttemptResult {
  webhookId: string;
  deliveryId: string;
  /** The lease end that the claim returned. If the stored one differs, the lease was lost. */
  leasedUntil: number;
  /** The attempt to log; null if none was made because the message no longer exists. */
  attempt: AttemptRecord | null;
  next: /** `at` is a time of the schedule. */
  { state: 'pending'; at: number } | { state: Exclude<DeliveryState, 'pending'>; reason: string | null };
}

/** Failures of a webhook since its last success. */
export interface FailureStreak {
  failingSince: number | null;
  failedAttempts: number;
}

/** Webhooks with slower responses are not prompt. */
export const PROMPT_MS = 2_000;

/** Pause of a failing webhook, longer after each failure: otherwise its queue would be sent at full speed. */
const PAUSE_MS = sql`case failed_attempts when 0 then 0
  else ${LEAST}(1000, 25 << cast(${LEAST}(failed_attempts - 1, 10) as integer)) end`;

interface LockedWebhook extends FailureStreak {
  id: string;
  prompt: number;
}

function after(webhook: LockedWebhook, { at, error, durationMs }: AttemptRecord): LockedWebhook {
  const { id, failingSince, failedAttempts } = webhook;
  if (error) return { id, failingSince: failingSince ?? at, failedAttempts: failedAttempts + 1, prompt: 0 };
  return { id, failingSince: null, failedAttempts: 0, prompt: durationMs <= PROMPT_MS ? 1 : 0 };
}

/**
 * Updates the deliveries whose lease is unchanged since the claim; for others, only counts the attempt.
 * @returns the attempt number by delivery id, without deliveries that no longer exist
 */
async function updateDeliveries(
  tx: Tx,
  results: readonly AttemptResult[],
  wall: number,
): Promise<Map<string, number>> {
  const rows = results.map(({ deliveryId: id, leasedUntil: leased, attempt, next }) => ({
    ...{ id, leased, made: attempt ? 1 : 0, state: next.state },
    ...(next.state === 'pending' ? { due: next.at } : { reason: next.reason, ended: wall }),
  }));
  const held = await tx.all<{ id: string; attempts: number }>(
    sql`update deliveries
      set attempts = attempts + made, round = round + made, state = new_state, reason = new_reason, due_at = due,
        ended_at = ended, leased_until = null
      from (select r.value ->> 'id' as delivery, cast(r.value ->> 'leased' as bigint) as leased,
          cast(r.value ->> 'made' as bigint) as made, r.value ->> 'state' as new_state,
          r.value ->> 'reason' as new_reason, cast(r.value ->> 'due' as bigint) as due,
          cast(r.value ->> 'ended' as bigint) as ended
        from ${eachOf(rows)} as r) as result
      where id = delivery and leased_until = leased
      returning id, attempts`,
  );
  const numbers = new Map(held.map(({ id, attempts }) => [id, attempts]));
  const late = rows.filter(({ id, made }) => made === 1 && !numbers.has(id)).map(({ id }) => id);
  if (late.length === 0) return numbers;
  const counted = await tx.all<{ id: string; attempts: number }>(
    sql`update deliveries set attempts = attempts + 1, round = round + 1 where id ${anyOf(late)} returning id, attempts`,
  );
  for (const { id, attempts } of counted) numbers.set(id, attempts);
  return numbers;
}

async function insertAttempts(
  tx: Tx,
  results: readonly AttemptResult[],
  numbers: ReadonlyMap<string, number>,
): Promise<void> {
  const rows = results.flatMap(({ deliveryId, attempt }) => {
    const number = numbers.get(deliveryId);
    if (!attempt || number === undefined) return [];
    const { at, status, durationMs, error, responseStart } = attempt;
    // Stored as JSON, because PostgreSQL rejects a NUL in text.
    const texts = { error: error && JSON.stringify(error), response: JSON.stringify(responseStart) };
    return [{ deliveryId, number, at, status, durationMs, ...texts }];
  });
  if (rows.length === 0) return;
  await tx.run(
    sql`insert into attempts (delivery_id, number, at, status, duration_ms, error, response_start)
      select r.value ->> 'deliveryId', cast(r.value ->> 'number' as bigint), cast(r.value ->> 'at' as bigint),
        cast(r.value ->> 'status' as bigint), cast(r.value ->> 'durationMs' as bigint), r.value ->> 'error',
        r.value ->> 'response'
      from ${eachOf(rows)} as r
      where true -- Without it, SQLite reads "on conflict" as a join.
      -- One delivery has two results here if its lease expired while the storage was down.
      on conflict do nothing`,
  );
}

async function updateStreaks(tx: Tx, webhooks: readonly LockedWebhook[]): Promise<void> {
  if (webhooks.length === 0) return;
  await tx.run(
    sql`update webhooks
      set failing_since = streak.since, failed_attempts = streak.attempts, prompt = streak.is_prompt
      from (select r.value ->> 'id' as webhook, cast(r.value ->> 'failingSince' as bigint) as since,
          cast(r.value ->> 'failedAttempts' as bigint) as attempts, cast(r.value ->> 'prompt' as bigint) as is_prompt
        from ${eachOf(webhooks)} as r) as streak
      where id = streak.webhook`,
  );
}

/**
 * Stores attempts and new states in one transaction. A delivery whose lease expired keeps its state, but the attempt
 * is logged. @returns the failures of each result's webhook, undefined if that no longer exists
 */
export const record = write(
  async (
    tx,
    results: AttemptResult[],
    wall: number,
    schedule: number = wall,
  ): Promise<(FailureStreak | undefined)[]> => {
    // Lock order by id prevents deadlocks.
    const locked = await tx.all<LockedWebhook>(
      sql`select id, prompt, failing_since as "failingSince", failed_attempts as "failedAttempts" from webhooks
        where id ${anyOf([...new Set(results.map(({ webhookId }) => webhookId))])} order by id ${FOR_UPDATE}`,
    );
    if (locked.length === 0) return results.map(() => undefined);
    const webhooks = new Map(locked.map((webhook) => [webhook.id, webhook]));
    const numbers = await updateDeliveries(tx, results, wall);
    await insertAttempts(tx, results, numbers);
    const streaks = results.map(({ webhookId, deliveryId, attempt }): FailureStreak | undefined => {
      const before = webhooks.get(webhookId);
      if (!before) return undefined;
      const webhook = attempt && numbers.has(deliveryId) ? after(before, attempt) : before;
      webhooks.set(webhookId, webhook);
      return { failingSince: webhook.failingSince, failedAttempts: webhook.failedAttempts };
    });
    const changed = locked.flatMap((before) => {
      const now = webhooks.get(before.id) ?? before;
      const isSame = now.prompt === before.prompt && now.failedAttempts + before.failedAttempts === 0;
      return isSame ? [] : [now];
    });
    await updateStreaks(tx, changed);
    await reschedule(tx, [...webhooks.keys()], schedule, PAUSE_MS);
    return streaks;
  },
  { keepsInboxes: true, mayUseReserve: true },
);
