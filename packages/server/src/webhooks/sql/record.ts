import { EMPTY, FOR_UPDATE, sql, type Tx, write } from '../../database/sql.ts';
import type { AttemptRecord, DeliveryState } from './log.ts';
import { LEAST, reschedule } from './queue.ts';
import { trimLog } from './removal.ts';

export interface AttemptResult {
  webhookId: string;
  deliveryId: string;
  leasedUntil: number;
  /** The attempt to log; null if none was made, because the message or its inbox no longer exists. */
  attempt: AttemptRecord | null;
  next:
    | { state: 'pending'; at: number }
    | { state: Exclude<DeliveryState, 'pending'>; reason: string | null };
}

export interface FailureStreak {
  failingSince: number | null;
  failedAttempts: number;
}

/** A webhook counts as prompt if its last attempt got a 2xx response within this time. */
export const PROMPT_MS = 2_000;

const MAX_LOGGED = 100;

/** Pause after an attempt of a failing webhook, milliseconds: 25, doubled by each failure in a row, up to 1,000. */
const PAUSE_MS = sql`case failed_attempts when 0 then 0
  else ${LEAST}(1000, 25 << cast(${LEAST}(failed_attempts - 1, 10) as integer)) end`;

async function updateDelivery(
  tx: Tx,
  { deliveryId, leasedUntil, attempt, next }: AttemptResult,
  wall: number,
): Promise<boolean> {
  const delivery = await tx.first<{ attempts: string; leasedUntil: number | null }>(
    sql`select attempts, leased_until as "leasedUntil" from deliveries where id = ${deliveryId} ${FOR_UPDATE}`,
  );
  if (!delivery) return false;
  const made = attempt ? [attempt] : [];
  const attempts: AttemptRecord[] = [...JSON.parse(delivery.attempts), ...made];
  const ends =
    next.state === 'pending'
      ? sql`reason = null, due_at = ${next.at}, ended_at = null`
      : sql`reason = ${next.reason}, due_at = null, ended_at = ${wall}`;
  const isHeld = delivery.leasedUntil === leasedUntil;
  await tx.run(
    sql`update deliveries
      set attempts = ${JSON.stringify(attempts.slice(-MAX_LOGGED))}, round = round + ${made.length}
        ${isHeld ? sql`, state = ${next.state}, leased_until = null, ${ends}` : EMPTY}
      where id = ${deliveryId}`,
  );
  return true;
}

/** Logs an attempt, even if its lease has ended. @returns undefined if the webhook does not exist any more */
export const record = write(
  { keepsInboxes: true, mayUseReserve: true },
  async (tx, result: AttemptResult, wall: number, schedule: number = wall) => {
    const { webhookId, attempt } = result;
    const streak = await tx.first<FailureStreak>(
      sql`select failing_since as "failingSince", failed_attempts as "failedAttempts" from webhooks
        where id = ${webhookId} ${FOR_UPDATE}`,
    );
    if (!streak) return undefined;
    if ((await updateDelivery(tx, result, wall)) && attempt) {
      const isFailed = attempt.error !== null;
      streak.failingSince = isFailed ? (streak.failingSince ?? attempt.at) : null;
      streak.failedAttempts = isFailed ? streak.failedAttempts + 1 : 0;
      await tx.run(
        sql`update webhooks set failing_since = ${streak.failingSince}, failed_attempts = ${streak.failedAttempts},
            prompt = ${!isFailed && attempt.durationMs <= PROMPT_MS ? 1 : 0} where id = ${webhookId}`,
      );
    }
    // Trim only after 1 of 32 deliveries (ids are base 32), because trimLog reads the ids of the whole log.
    if (result.deliveryId.endsWith('0')) await trimLog(tx, webhookId);
    await reschedule(tx, [webhookId], schedule, PAUSE_MS);
    return streak;
  },
);
