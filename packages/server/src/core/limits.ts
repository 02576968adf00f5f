/** Limits that several rooms share. Each stands here with its reason; config names those that an operator may change. */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** For so long after its end an inbox's owner reads "expired" instead of "unknown" (decisions, section 2). */
export const TOMBSTONE_MS = 24 * HOUR;
/** An ended address goes to no other account for so long: late mail must not reach a stranger. */
export const ADDRESS_QUARANTINE_MS = 7 * 24 * HOUR;
/** A generated address waits so long for the inbox that it was generated for. */
export const ADDRESS_HOLD_MS = 10 * MINUTE;
/** An idempotency key is remembered for a day, as payment APIs do. */
export const IDEMPOTENCY_MS = 24 * HOUR;
/**
 * Requests by day and month are kept for a year and a month, so that one month can be held against the
 * same month of the year before.
 */
export const USAGE_KEPT_MS = 400 * 24 * HOUR;
/** Refusals explain a test that just failed; older ones explain nothing. */
export const REFUSAL_KEPT_MS = 24 * HOUR;
/** RFC 5321 section 4.5.3.1.8 asks for at least 100 recipients; a test needs no more. */
export const MAX_RECIPIENTS = 100;
/** Lifetime of an inbox that does not name one, minutes. */
export const DEFAULT_TTL_MINUTES = 60;
/** Shares of a month's quota whose passing is remembered, shown and logged, per cent: a warning, and the end. */
export const USAGE_THRESHOLDS = [80, 100] as const;
/** After a rotation the old secret signs too for so long: receivers are changed one by one. */
export const OLD_SECRET_MS = 24 * HOUR;
/** An ended delivery stays in the log for so long: a week has a Monday on which somebody asks. */
export const DELIVERY_KEPT_MS = 7 * 24 * HOUR;
/** A webhook's log holds so many besides what is pending: a busy day, and a few megabytes. */
export const MAX_KEPT_DELIVERIES = 10_000;
/**
 * Bytes left free in front of a mail in its memory, so that adding our Received line copies nothing. A
 * HELO name and a host name have at most 255 letters each (RFC 5321 section 4.5.3.1.2).
 */
export const TRACE_HEADROOM_BYTES = 1024;
