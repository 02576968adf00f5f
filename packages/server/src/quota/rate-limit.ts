import type { Plan } from '../accounts/plans.ts';
import type { Clock } from '../clock.ts';

/** Full buckets carry no information and are dropped this often, rather than searched for at every request. */
const FORGET_EVERY_MS = 60_000;
const SECOND_MS = 1_000;
/** Tolerance for rounding of fractions: a client that waited for `Retry-After` is admitted. */
const ROUNDING = 1e-6;

/** The result of one request, and the state of its account's bucket. */
export interface Taken {
  /** 0 when the request is admitted, otherwise the seconds until the next one is. */
  retryAfterSeconds: number;
  /** Whole requests that are admitted at once now. */
  left: number;
  /** Seconds until the bucket is full again, rounded up. */
  fullInSeconds: number;
}

/** The rate limit by account: a token bucket that holds `burst` and refills at `requestsPerSecond`. */
export interface RateLimit {
  /** Takes one request from the account's bucket, if there is one. @returns null for a plan without a rate limit */
  take(accountId: string, plan: Plan): Taken | null;
}

interface Bucket {
  tokens: number;
  /** When `tokens` was computed, monotonic milliseconds. */
  at: number;
  /** When the bucket is full again without further requests. */
  fullAt: number;
}

/** True for a plan that limits the rate. */
export const limitsRate = ({ requestsPerSecond, burst }: Plan): boolean =>
  Number.isFinite(requestsPerSecond) && Number.isFinite(burst);

/**
 * Keeps the buckets in memory: a restart loses a wait of at most `burst / requestsPerSecond` seconds.
 * @param nodes how many nodes answer requests now; each has that share of every bucket
 */
export function createRateLimit(clock: Pick<Clock, 'monotonic'>, nodes: () => number = () => 1): RateLimit {
  const buckets = new Map<string, Bucket>();
  let forgetAt = clock.monotonic() + FORGET_EVERY_MS;

  const forgetFull = (now: number): void => {
    if (now < forgetAt) return;
    forgetAt = now + FORGET_EVERY_MS;
    for (const [accountId, { fullAt }] of buckets) if (fullAt <= now) buckets.delete(accountId);
  };

  /** The bucket refilled up to now, its size and its rate on this node. */
  const refill = (accountId: string, plan: Plan): { bucket: Bucket; size: number; perMs: number } => {
    const now = clock.monotonic();
    forgetFull(now);
    const share = Math.max(1, nodes());
    const size = Math.max(1, plan.burst / share);
    const perMs = plan.requestsPerSecond / share / SECOND_MS;
    let bucket = buckets.get(accountId);
    if (!bucket) {
      bucket = { tokens: size, at: now, fullAt: now };
      buckets.set(accountId, bucket);
    }
    bucket.tokens = Math.min(size, bucket.tokens + Math.max(0, now - bucket.at) * perMs);
    bucket.at = now;
    bucket.fullAt = now + (size - bucket.tokens) / perMs;
    return { bucket, size, perMs };
  };

  return {
    take(accountId, plan) {
      if (!limitsRate(plan)) return null;
      const { bucket, size, perMs } = refill(accountId, plan);
      const missing = 1 - bucket.tokens;
      const isAdmitted = missing <= ROUNDING;
      if (isAdmitted) {
        bucket.tokens -= 1;
        bucket.fullAt += 1 / perMs;
      }
      return {
        retryAfterSeconds: isAdmitted ? 0 : Math.ceil(missing / perMs / SECOND_MS),
        left: Math.max(0, Math.floor(bucket.tokens + ROUNDING)),
        fullInSeconds: Math.ceil((size - bucket.tokens) / perMs / SECOND_MS),
      };
    },
  };
}
