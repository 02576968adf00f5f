import { CONCURRENCY } from '../../contract/webhooks.ts';
import type { Db, Tx } from '../engine.ts';
import { prepare, type Slots } from '../prepared.ts';

/*
 * When a webhook is claimed next, and what happens after the schedule's clock ran back.
 *
 * Each row of `webhooks` carries `scheduled_at`, the schedule's time of its last change. A `scheduled_at` in
 * the future proves that the clock ran back: after a restart on a machine whose clock was corrected, or after
 * a change to a database server with another clock. The delays that were agreed must hold nevertheless, so the
 * webhook's deliveries keep their times, and `ahead_ms` tells how far these run ahead of the schedule's time.
 * No delivery is rewritten, however many wait, and a lease keeps the end that proves it.
 *
 * A clock that ran forward between two processes cannot be told from time that passed: leases end and retries
 * come early by that much, which delivery at least once allows. Within a process neither happens, because the
 * schedule's clock does not follow the steps of the wall clock (webhooks/schedule-clock.ts).
 */

/** Nodes estimate the schedule's time from the same clock; their estimates differ by less than this. */
export const CLOCK_TOLERANCE_MS = 1_000;

/** What the schedule of a webhook depends on. */
export interface Scheduled {
  id: string;
  prompt: number;
  scheduled_at: number;
  ahead_ms: number;
}

/** How far the times of a webhook's deliveries run ahead of the schedule's time `now`, milliseconds. */
export function aheadAt({ scheduled_at, ahead_ms }: Scheduled, now: number): number {
  const ranBackMs = scheduled_at - now;
  return ranBackMs > CLOCK_TOLERANCE_MS ? ahead_ms + ranBackMs : ahead_ms;
}

/** What is in a webhook's queue. */
export interface Queued {
  /** Attempts in progress. */
  underWay: number;
  /** When the first of their leases ends; null without any. */
  leaseEnds: number | null;
  /** When the first delivery that waits is due; null without any. */
  dueAt: number | null;
}

/**
 * The times of a webhook after anything changed in its queue.
 * @param now the schedule's time
 * @param pauseMs nothing is claimed for so long
 */
export function nextTimes(webhook: Scheduled, queued: Queued, now: number, pauseMs: number) {
  const { underWay, leaseEnds, dueAt } = queued;
  const ahead = aheadAt(webhook, now);
  const isFull = underWay >= concurrencyOf(webhook);
  const blockedUntil = Math.max(now + pauseMs, isFull && leaseEnds !== null ? leaseEnds - ahead : 0);
  const times = [leaseEnds, dueAt].filter((time) => time !== null).map((time) => time - ahead);
  const nextAt = times.length > 0 ? Math.max(blockedUntil, Math.min(...times)) : null;
  // Without deliveries that wait nothing runs ahead.
  return { nextAt, blockedUntil, ahead: nextAt === null ? 0 : ahead };
}

/** Selects how many attempts of a webhook are in progress, and when the first of their leases ends. */
export function prepareUnderWay(db: Db) {
  return prepare((value: Slots<{ webhook: string }>) =>
    db
      .selectFrom('deliveries')
      .select((row) => [row.fn.countAll<number>().as('underWay'), row.fn.min('leased_until').as('leaseEnds')])
      .where('webhook_id', '=', value.webhook)
      .where('leased_until', 'is not', null),
  );
}

/**
 * Sets the time of a webhook's next claim, after anything changed in its queue.
 * @param now the schedule's time
 * @param pauseMs nothing is claimed for so long
 */
export type Reschedule = (tx: Tx, webhook: Scheduled, now: number, pauseMs?: number) => Promise<void>;

export function createReschedule(db: Db): Reschedule {
  const selectUnderWay = prepareUnderWay(db);
  const selectDue = prepare((value: Slots<{ webhook: string }>) =>
    db
      .selectFrom('deliveries')
      .select((row) => row.fn.min('due_at').as('dueAt'))
      .where('webhook_id', '=', value.webhook)
      .where('due_at', 'is not', null),
  );
  type Change = { webhook: string; nextAt: number | null; blockedUntil: number; now: number; ahead: number };
  const update = prepare((value: Slots<Change>) =>
    db
      .updateTable('webhooks')
      .set({
        next_at: value.nextAt,
        blocked_until: value.blockedUntil,
        scheduled_at: value.now,
        ahead_ms: value.ahead,
      })
      .where('id', '=', value.webhook),
  );
  return async (tx, webhook, now, pauseMs = 0) => {
    const { id } = webhook;
    const [leased = { underWay: 0, leaseEnds: null }] = await selectUnderWay(tx, { webhook: id });
    const [{ dueAt } = { dueAt: null }] = await selectDue(tx, { webhook: id });
    const times = nextTimes(webhook, { ...leased, dueAt }, now, pauseMs);
    await update(tx, { webhook: id, now, ...times });
  };
}

/** Attempts of a webhook that may be in progress at once. */
export function concurrencyOf({ prompt }: { prompt: number }): number {
  return prompt === 1 ? CONCURRENCY : 1;
}
