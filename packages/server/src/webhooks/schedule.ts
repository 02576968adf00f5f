/**
 * When a delivery is tried again, and when an endpoint is given up (decisions, section 5). Pure:
 * the time and the chance are arguments.
 */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Waits after the first, second, … failed attempt, before jitter. */
export const RETRY_DELAYS_MS: readonly number[] = [
  5 * SECOND,
  30 * SECOND,
  2 * MINUTE,
  10 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  6 * HOUR,
];
/** Eight: the first one and a retry for each delay. */
export const MAX_ATTEMPTS = RETRY_DELAYS_MS.length + 1;
/** Each wait varies by so much either way: deliveries that failed together do not come back together. */
export const JITTER = 0.2;
/** The longest pause a receiver may ask for: a delivery must come to an end some day. */
export const MAX_RETRY_AFTER_MS = 24 * HOUR;
/** After so long with nothing but failures an endpoint is disabled. */
export const FAILING_FOR_MS = 5 * 24 * HOUR;
/** …if there were so many: more than one delivery has, so that one bad moment of a quiet endpoint is not enough. */
export const MIN_FAILED_ATTEMPTS = 10;

/** What the schedule needs to know of an attempt; an `AttemptOutcome` of the sender is one. */
export interface AttemptResult {
  /** True for a 2xx answer in time. */
  ok: boolean;
  /** The status of the answer, or null when none came. */
  status: number | null;
  /** The answer's Retry-After header as it came, or null. */
  retryAfter: string | null;
}

export type NextStep =
  | { kind: 'delivered' }
  /** `at` is epoch milliseconds. */
  | { kind: 'retry'; at: number }
  | { kind: 'given-up' }
  /** The delivery ends and the endpoint gets no more; the sentence is for its owner. */
  | { kind: 'disable'; reason: string };

/**
 * What follows an attempt.
 * @param attemptNumber of the attempt that just ended, from 1
 * @param now epoch milliseconds at its end
 * @param random in [0, 1)
 * @param delays other waits than {@link RETRY_DELAYS_MS}, given by tests
 */
export function nextStep(
  attemptNumber: number,
  result: AttemptResult,
  now: number,
  random: number,
  delays = RETRY_DELAYS_MS,
): NextStep {
  if (!Number.isInteger(attemptNumber) || attemptNumber < 1) {
    throw new RangeError(`not an attempt's number: ${attemptNumber}`);
  }
  if (result.ok) return { kind: 'delivered' };
  // Standard Webhooks: 410 is how a receiver says that it wants no more.
  if (result.status === 410) return { kind: 'disable', reason: 'The endpoint answered 410 Gone.' };
  const delay = delays[attemptNumber - 1];
  if (delay === undefined) return { kind: 'given-up' };
  const jittered = Math.round(delay * (1 - JITTER + 2 * JITTER * random));
  const asked = result.retryAfter === null ? undefined : parseRetryAfter(result.retryAfter, now);
  // Retry-After only ever puts a retry off: an earlier one would run through the attempts too soon.
  return { kind: 'retry', at: now + Math.max(jittered, asked ?? 0) };
}

/** IMF-fixdate and the obsolete RFC 850 form. */
const HTTP_DATE =
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6}, \d\d[ -][A-Z][a-z]{2}[ -](?:\d{4}|\d\d) [\d:]{8} GMT$/;
/** The obsolete asctime form, which is UTC without saying so. */
const ASCTIME = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4}$/;

/**
 * The wait that a Retry-After header asks for (RFC 9110 section 10.2.3: seconds, or any of the three
 * date forms of section 5.6.7), in milliseconds from `now`, from 0 to {@link MAX_RETRY_AFTER_MS}.
 * Undefined when the header is neither.
 */
export function parseRetryAfter(header: string, now: number): number | undefined {
  const value = header.trim();
  let wait: number;
  if (/^\d+$/.test(value)) wait = Number(value) * SECOND;
  else if (HTTP_DATE.test(value)) wait = Date.parse(value) - now;
  else if (ASCTIME.test(value)) wait = Date.parse(`${value} GMT`) - now;
  else return undefined;
  return Number.isNaN(wait) ? undefined : Math.min(Math.max(wait, 0), MAX_RETRY_AFTER_MS);
}

/** What an endpoint has seen since its last success, or since it was made or enabled. */
export interface FailureStreak {
  /** The first failed attempt; null when there is none. */
  failingSince: number | null;
  failedAttempts: number;
}

/**
 * True when an endpoint has seen nothing but failures for {@link FAILING_FOR_MS}, and enough of them
 * ({@link MIN_FAILED_ATTEMPTS}), and is to be disabled.
 */
export function hasOnlyFailed({ failingSince, failedAttempts }: FailureStreak, now: number): boolean {
  if (failingSince === null || failedAttempts < MIN_FAILED_ATTEMPTS) return false;
  return now - failingSince >= FAILING_FOR_MS;
}
