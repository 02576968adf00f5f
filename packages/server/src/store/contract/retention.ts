import { DAY_MS, HOUR_MS } from '../../clock.ts';
/** How long rows are kept and when they may be deleted. Every engine and the sweeper use these values. */

/** A session of the console ends after this long without a request: a night, so that each day begins signed out. */
export const SESSION_IDLE_MS = 12 * HOUR_MS;
/** The longest life of a session, in use or not: a stolen cookie works for a week at most. */
export const SESSION_MAX_MS = 7 * DAY_MS;
/**
 * How long mails are kept that are stored under a name and belong to no inbox yet: longer than an import takes, of
 * which a crash leaves them behind.
 */
export const STAGED_MS = HOUR_MS;
