import {
  type AttemptRecord,
  type AttemptResult,
  type DeliveryStore,
  type FailureStreak,
  PROMPT_MS,
} from '../../contract/webhooks.ts';
import type { Db, Engine, Tx } from '../engine.ts';
import { prepare, type Slots } from '../prepared.ts';
import { aheadAt, createReschedule } from './schedule.ts';

/**
 * A failing webhook pauses between its attempts, longer after each failure: otherwise one that is down and
 * has a long queue would be called as fast as it refuses. A second at most is short beside the first retry,
 * and delays a webhook that fails now and then very little.
 */
const FIRST_PAUSE_MS = 25;
const MAX_PAUSE_MS = 1_000;

export function pauseAfter(failedAttempts: number): number {
  if (failedAttempts === 0) return 0;
  return Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(failedAttempts - 1, 10));
}

/**
 * The columns of a delivery's state.
 * @param aheadMs how far the times of its webhook's deliveries run ahead
 */
export function stateColumns(next: AttemptResult['next'], wall: number, aheadMs: number) {
  return next.state === 'pending'
    ? { state: next.state, reason: null, dueAt: next.at + aheadMs, endedAt: null }
    : { state: next.state, reason: next.reason, dueAt: null, endedAt: wall };
}

/** A webhook's failures since its last success. */
export interface Streak {
  failing_since: number | null;
  failed_attempts: number;
  prompt: number;
}

export function streakAfter(before: Streak, attempt: AttemptRecord): Streak {
  if (attempt.error === null) {
    return { failing_since: null, failed_attempts: 0, prompt: attempt.durationMs <= PROMPT_MS ? 1 : 0 };
  }
  return {
    failing_since: before.failing_since ?? attempt.at,
    failed_attempts: before.failed_attempts + 1,
    prompt: 0,
  };
}

/** Prepares adding an attempt to the log. */
function createAddAttempt(db: Db) {
  const countAttempt = prepare((value: Slots<{ delivery: string }>) =>
    db
      .updateTable('deliveries')
      .set((row) => ({ attempts: row('attempts', '+', 1), round: row('round', '+', 1) }))
      .where('id', '=', value.delivery)
      .returning('attempts'),
  );
  type NewAttempt = Omit<AttemptRecord, 'error'> & { delivery: string; number: number; error: string | null };
  const insertAttempt = prepare((value: Slots<NewAttempt>) =>
    db.insertInto('attempts').values({
      delivery_id: value.delivery,
      number: value.number,
      at: value.at,
      status: value.status,
      duration_ms: value.durationMs,
      error: value.error,
      response_start: value.responseStart,
    }),
  );
  /** Adds an attempt; false if the delivery does not exist any more. */
  return async function addAttempt(tx: Tx, delivery: string, attempt: AttemptRecord): Promise<boolean> {
    const [row] = await countAttempt(tx, { delivery });
    if (!row) return false;
    await insertAttempt(tx, {
      ...attempt,
      ...{ delivery, number: row.attempts },
      error: attempt.error && JSON.stringify(attempt.error),
      responseStart: JSON.stringify(attempt.responseStart),
    });
    return true;
  };
}

/** Recording the attempts of claimed deliveries. */
export function createRecord(engine: Engine): DeliveryStore['record'] {
  const { db, dialect, transaction } = engine;
  const addAttempt = createAddAttempt(db);
  const reschedule = createReschedule(db);
  const lockWebhook = prepare((value: Slots<{ webhook: string }>) =>
    dialect.lockRows(
      db
        .selectFrom('webhooks')
        .select(['id', 'prompt', 'scheduled_at', 'ahead_ms', 'failing_since', 'failed_attempts'])
        .where('id', '=', value.webhook),
    ),
  );
  const updateStreak = prepare((value: Slots<Streak & { webhook: string }>) =>
    db
      .updateTable('webhooks')
      .set({
        failing_since: value.failing_since,
        failed_attempts: value.failed_attempts,
        prompt: value.prompt,
      })
      .where('id', '=', value.webhook),
  );
  type NewState = ReturnType<typeof stateColumns> & { delivery: string; leasedUntil: number };
  const updateState = prepare((value: Slots<NewState>) =>
    db
      .updateTable('deliveries')
      .set({
        state: value.state,
        reason: value.reason,
        due_at: value.dueAt,
        ended_at: value.endedAt,
        leased_until: null,
      })
      .where('id', '=', value.delivery)
      .where('leased_until', '=', value.leasedUntil),
  );

  async function recordOne(
    tx: Tx,
    result: AttemptResult,
    { wall, schedule }: { wall: number; schedule: number },
  ): Promise<FailureStreak | undefined> {
    const { webhookId: webhook, deliveryId: delivery, attempt, leasedUntil, next } = result;
    const [before] = await lockWebhook(tx, { webhook });
    if (!before) return undefined;
    let after = before;
    if (attempt && (await addAttempt(tx, delivery, attempt))) {
      const streak = streakAfter(before, attempt);
      await updateStreak(tx, { ...streak, webhook });
      after = { ...before, ...streak };
    }
    const state = stateColumns(next, wall, aheadAt(before, schedule));
    await updateState(tx, { ...state, delivery, leasedUntil });
    await reschedule(tx, after, schedule, pauseAfter(after.failed_attempts));
    return { failingSince: after.failing_since, failedAttempts: after.failed_attempts };
  }

  return (results, wall, schedule = wall) =>
    transaction(async (tx) => {
      const streaks: (FailureStreak | undefined)[] = [];
      // Webhooks are locked in the order of their ids, so that no two transactions wait for each other.
      const order = [...results.entries()].sort(([, a], [, b]) => (a.webhookId < b.webhookId ? -1 : 1));
      for (const [index, result] of order) streaks[index] = await recordOne(tx, result, { wall, schedule });
      return streaks;
    });
}
