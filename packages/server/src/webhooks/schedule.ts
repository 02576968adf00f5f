import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../clock.ts';
import type { AttemptOutcome } from './outbound/outcome.ts';
import { ATTEMPT_TIMEOUT_MS } from './outbound/send.ts';
import type { FailureStreak } from './sql/record.ts';

/** Longer than an attempt can take, so a lease expires only if the process that holds it has crashed. */
export const LEASE_MS = ATTEMPT_TIMEOUT_MS + 45_000;

export const RETRY_DELAYS_MS: readonly number[] = [
  5 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  6 * HOUR_MS,
];
export const MAX_ATTEMPTS = RETRY_DELAYS_MS.length + 1;
/** Delays vary randomly by this share, so that deliveries that failed together are not retried together. */
const JITTER = 0.2;
/** Maximum delay by a Retry-After header, so that no delivery stays pending forever. */
export const MAX_RETRY_AFTER_MS = DAY_MS;
const FAILING_FOR_MS = 5 * DAY_MS;
/** More than {@link MAX_ATTEMPTS}, so that one failed delivery alone never disables a webhook. */
export const MIN_FAILED_ATTEMPTS = 10;

type NextStep =
  | { state: 'pending'; inMs: number }
  | { state: 'delivered'; reason: null }
  /** If `isGone`, the webhook must be disabled too. Its owner sees `reason`. */
  | { state: 'failed'; reason: string; isGone: boolean };

/** @param attemptNumber starts at 1 @param now wall clock in epoch milliseconds, for a date in Retry-After */
export function nextStep(
  attemptNumber: number,
  result: Pick<AttemptOutcome, 'ok' | 'status' | 'retryAfter'>,
  now: number,
  random: number,
  delays = RETRY_DELAYS_MS,
): NextStep {
  if (result.ok) return { state: 'delivered', reason: null };
  // By the Standard Webhooks specification, a receiver responds 410 to unsubscribe.
  if (result.status === 410)
    return { state: 'failed', reason: 'The endpoint answered 410 Gone.', isGone: true };
  const delay = delays[attemptNumber - 1];
  if (delay === undefined) return { state: 'failed', reason: 'All attempts failed.', isGone: false };
  const jittered = Math.round(delay * (1 - JITTER + 2 * JITTER * random));
  const requested = result.retryAfter === null ? undefined : parseRetryAfter(result.retryAfter, now);
  // Retry-After can only postpone a retry: earlier retries would use up the attempts too soon.
  return { state: 'pending', inMs: Math.max(jittered, requested ?? 0) };
}

/** Parses a Retry-After header (RFC 9110 section 10.2.3). @returns milliseconds; undefined if invalid */
export function parseRetryAfter(header: string, now: number): number | undefined {
  const value = header.trim();
  // A date in the obsolete asctime format has no time zone, and means UTC.
  const wait = /^\d+$/.test(value)
    ? Number(value) * SECOND_MS
    : Date.parse(value.endsWith('GMT') ? value : `${value} GMT`) - now;
  return Number.isNaN(wait) ? undefined : Math.min(Math.max(wait, 0), MAX_RETRY_AFTER_MS);
}

export const hasOnlyFailed = ({ failingSince, failedAttempts }: FailureStreak, now: number): boolean =>
  failingSince !== null && failedAttempts >= MIN_FAILED_ATTEMPTS && now - failingSince >= FAILING_FOR_MS;
