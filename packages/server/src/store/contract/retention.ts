import { DAY_MS, HOUR_MS } from '../../clock.ts';
/** How long rows are kept and when they may be deleted. Every engine and the sweeper use these values. */

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
