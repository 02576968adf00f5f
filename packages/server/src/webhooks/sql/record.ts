import { type Tx, write } from '../../database/operations.ts';
import { anyOf, eachOf, FOR_UPDATE, perEngine, sql } from '../../database/sql.ts';
import type { AttemptRecord, DeliveryState } from './log.ts';
import { reschedule } from './queue.ts';

/** The result of a claimed delivery. */
export interface AttemptResult {
  webhookId: string;
  deliveryId: string;
  /** As claimed. */
  leasedUntil: number;
  /** Null if no attempt was made because the message does not exist any more. */
  attempt: AttemptRecord | null;
  next: /** `at` is a time of the schedule. */
  { state: 'pending'; at: number } | { state: Exclude<DeliveryState, 'pending'>; reason: string | null };
}

/** Failures of a webhook since its last success. */
export interface FailureStreak {
  failingSince: number | null;
  failedAttempts: number;
}

/** A webhook with slower responses is not prompt, so that it does not delay the prompt ones. */
export const PROMPT_MS = 2_000;

/**
 * A failing webhook pauses between its attempts, longer after each failure: otherwise one that is down and
 * has a long queue would be called as fast as it refuses. A second at most is short beside the first retry,
 * and delays a webhook that fails now and then very little.
 */
const PAUSE_MS = sql`case failed_attempts when 0 then 0
  else ${perEngine({ sqlite: 'min', postgres: 'least' })}(1000,
    25 << cast(${perEngine({ sqlite: 'min', postgres: 'least' })}(failed_attempts - 1, 10) as integer)) end`;

interface LockedWebhook extends FailureStreak {
  id: string;
  prompt: number;
}

const after = (webhook: LockedWebhook, { at, error, durationMs }: AttemptRecord): LockedWebhook =>
  error === null
    ? { id: webhook.id, failingSince: null, failedAttempts: 0, prompt: durationMs <= PROMPT_MS ? 1 : 0 }
    : {
        id: webhook.id,
        failingSince: webhook.failingSince ?? at,
        failedAttempts: webhook.failedAttempts + 1,
        prompt: 0,
      };

/**
 * Changes the states of deliveries that are still leased as they were claimed, and counts the attempts of all.
 * @returns the number of the attempt by the id of the delivery, for those that exist
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
    // As JSON text: it carries what PostgreSQL would refuse, such as a NUL.
    const texts = { error: error && JSON.stringify(error), response: JSON.stringify(responseStart) };
    return [{ deliveryId, number, at, status, durationMs, ...texts }];
  });
  if (rows.length === 0) return;
  await tx.run(
    sql`insert into attempts (delivery_id, number, at, status, duration_ms, error, response_start)
      select r.value ->> 'deliveryId', cast(r.value ->> 'number' as bigint), cast(r.value ->> 'at' as bigint),
        cast(r.value ->> 'status' as bigint), cast(r.value ->> 'durationMs' as bigint), r.value ->> 'error',
        r.value ->> 'response'
      from ${eachOf(rows)} as r`,
  );
}

/** Stores the streaks that have changed. */
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

/** Records results of different deliveries. @returns the failures after each result */
async function recordSome(
  tx: Tx,
  results: readonly AttemptResult[],
  wall: number,
  schedule: number,
): Promise<(FailureStreak | undefined)[]> {
  // In the order of their ids, so that no two transactions wait for each other.
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
    const { failingSince, failedAttempts, prompt } =
      attempt && numbers.has(deliveryId) ? after(before, attempt) : before;
    webhooks.set(webhookId, { id: webhookId, failingSince, failedAttempts, prompt });
    return { failingSince, failedAttempts };
  });
  const changed = locked.flatMap((before) => {
    const now = webhooks.get(before.id) ?? before;
    const isSame = now.prompt === before.prompt && now.failedAttempts + before.failedAttempts === 0;
    return isSame ? [] : [now];
  });
  await updateStreaks(tx, changed);
  await reschedule(tx, [...webhooks.keys()], schedule, PAUSE_MS);
  return streaks;
}

/**
 * Stores attempts and the new states of their deliveries in one transaction. A delivery whose lease ended keeps its
 * state; the attempt is logged nevertheless. The number of statements does not depend on that of the results.
 * @returns the failures of each result's webhook, undefined if the webhook does not exist any more
 */
export const record = write(
  async (
    tx,
    results: AttemptResult[],
    now: number,
    schedule: number = now,
  ): Promise<(FailureStreak | undefined)[]> => {
    const streaks: (FailureStreak | undefined)[] = [];
    // A statement changes a row once: of a delivery whose lease ended, two attempts may be recorded together.
    const rounds = new Map<string, number>();
    const roundOf = ({ deliveryId }: AttemptResult) => {
      const round = rounds.get(deliveryId) ?? 0;
      rounds.set(deliveryId, round + 1);
      return round;
    };
    for (const [, part] of Map.groupBy(results.entries(), ([, result]) => roundOf(result))) {
      const some = part.map(([, result]) => result);
      for (const [place, streak] of (await recordSome(tx, some, now, schedule)).entries())
        streaks[part[place]?.[0] ?? 0] = streak;
    }
    return streaks;
  },
  { keepsInboxes: true, mayUseReserve: true },
);
