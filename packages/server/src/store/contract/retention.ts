/** How long rows are kept and when they may be deleted. Every engine and the sweeper use these values. */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** For so long after its end an inbox's owner reads "expired" instead of "unknown" (decisions, section 2). */
export const TOMBSTONE_MS = 24 * HOUR;
/** An ended address goes to no other account for so long: late mail must not reach a stranger. */
export const ADDRESS_QUARANTINE_MS = 7 * 24 * HOUR;
/**
 * The sink's expiry: the last millisecond that four-digit years can write (RFC 3339), so that every
 * comparison of times sees it in the future. An inbox of another kind never lives that long.
 */
export const PERMANENT_UNTIL = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
/** The sink keeps so many messages, the newest: as many as the largest plan's inbox holds. */
export const SINK_MESSAGES = 10_000;
/** An idempotency key is remembered for a day, as payment APIs do. */
export const IDEMPOTENCY_MS = 24 * HOUR;
/**
 * Requests by day and month are kept for a year and a month, so that one month can be held against the
 * same month of the year before.
 */
export const USAGE_KEPT_MS = 400 * 24 * HOUR;
/** Refusals explain a test that just failed; older ones explain nothing. */
export const REFUSAL_KEPT_MS = 24 * HOUR;
/** Shares of a month's quota whose passing is remembered, shown and logged, per cent: a warning, and the end. */
export const USAGE_THRESHOLDS = [80, 100] as const;
/** An ended delivery stays in the log for so long: a week has a Monday on which somebody asks. */
export const DELIVERY_KEPT_MS = 7 * 24 * HOUR;
/** A webhook's log holds so many besides what is pending: a busy day, and a few megabytes. */
export const MAX_KEPT_DELIVERIES = 10_000;
/** A session of the console ends after so long without a request: a night, so that each day begins signed out. */
export const SESSION_IDLE_MS = 12 * HOUR;
/** No session lives longer, in use or not: a stolen cookie is of use for a week at most. */
export const SESSION_MAX_MS = 7 * 24 * HOUR;
