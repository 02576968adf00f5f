import { DAY_MS, HOUR_MS } from '../../clock.ts';
/** How long rows are kept and when they may be deleted. Every engine and the sweeper use these values. */

/** For this long after its end an inbox is reported as expired instead of unknown. */
export const TOMBSTONE_MS = DAY_MS;
/** For this long after its end an inbox's address is reserved for its account: late mail must not reach others. */
export const ADDRESS_QUARANTINE_MS = 7 * DAY_MS;
/**
 * The sink's expiry: the last millisecond that four-digit years can write (RFC 3339), so that
 * every comparison finds it in the future. Inboxes of other kinds end earlier.
 */
export const PERMANENT_UNTIL = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
/** The newest messages that the sink keeps: as many as an inbox of the largest plan. */
export const SINK_MESSAGES = 10_000;
/** How long idempotency keys are stored; payment APIs use a day as well. */
export const IDEMPOTENCY_MS = DAY_MS;
/** How long the explanation of a failed wait is stored: as long as what is known of an inbox that has ended. */
export const EXPLAINED_KEPT_MS = DAY_MS;
/** How long ended deliveries stay in the log: a failure before a weekend can still be examined after it. */
export const DELIVERY_KEPT_MS = 7 * DAY_MS;
/** Ended deliveries in a webhook's log: those of a busy day, a few megabytes. */
export const MAX_KEPT_DELIVERIES = 10_000;
/** A session of the console ends after this long without a request: a night, so that each day begins signed out. */
export const SESSION_IDLE_MS = 12 * HOUR_MS;
/** The longest life of a session, in use or not: a stolen cookie works for a week at most. */
export const SESSION_MAX_MS = 7 * DAY_MS;
/**
 * How long mails are kept that are stored under a name and belong to no inbox yet: longer than an import takes, of
 * which a crash leaves them behind.
 */
export const STAGED_MS = HOUR_MS;
