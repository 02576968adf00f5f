import type { Clock } from '../clock.ts';
import type { Plan } from './plans.ts';

/** Buckets that are full again say nothing, and are forgotten so often: no look through all of them for each request. */
const FORGET_EVERY_MS = 60_000;
const SECOND_MS = 1_000;
/** Sums of fractions are off by less: who waited as long as told is let in. */
const ROUNDING = 1e-6;

/** What is left of an account's bucket. */
export interface Bucket {
  /** Whole requests that may come at once now. */
  left: number;
  /** Seconds until it is full again, rounded up. */
  fullInSeconds: number;
}

/** The rate limit by account: a token bucket that holds `burst` and fills by `requestsPerSecond`. */
export interface RateLimit {
  /**
   * Takes one request out of the account's bucket.
   * @returns 0, or the seconds until the next one is allowed
   */
  take(accountId: string, plan: Plan): number;
  /** Null for a plan without this limit. */
  bucket(accountId: string, plan: Plan): Bucket | null;
}

interface State {
  tokens: number;
  /** When `tokens` was true, epoch milliseconds. */
  at: number;
  /** When the bucket is full again if nobody asks. */
  fullAt: number;
}

/** True for a plan that limits the rate; without a size a bucket lets everything through. */
export const limitsRate = ({ requestsPerSecond, burst }: Plan): boolean =>
  Number.isFinite(requestsPerSecond) && Number.isFinite(burst);

/**
 * Keeps the buckets in memory: what a restart forgets is a pause of `burst / requestsPerSecond` seconds.
 * @param nodes how many nodes answer requests now; each has that share of every bucket
 */
export function createRateLimit(clock: Pick<Clock, 'now'>, nodes: () => number = () => 1): RateLimit {
  const states = new Map<string, State>();
  let forgetAt = clock.now() + FORGET_EVERY_MS;

  const forgetFull = (now: number): void => {
    if (now < forgetAt) return;
    forgetAt = now + FORGET_EVERY_MS;
    for (const [accountId, { fullAt }] of states) if (fullAt <= now) states.delete(accountId);
  };

  /** The bucket filled up to now, and what it may hold here. */
  const fill = (accountId: string, plan: Plan): { state: State; size: number; perMs: number } => {
    const now = clock.now();
    forgetFull(now);
    const share = Math.max(1, nodes());
    const size = Math.max(1, plan.burst / share);
    const perMs = plan.requestsPerSecond / share / SECOND_MS;
    let state = states.get(accountId);
    if (!state) {
      state = { tokens: size, at: now, fullAt: now };
      states.set(accountId, state);
    }
    state.tokens = Math.min(size, state.tokens + Math.max(0, now - state.at) * perMs);
    state.at = now;
    state.fullAt = now + (size - state.tokens) / perMs;
    return { state, size, perMs };
  };

  return {
    take(accountId, plan) {
      if (!limitsRate(plan)) return 0;
      const { state, perMs } = fill(accountId, plan);
      if (state.tokens < 1 - ROUNDING) return Math.ceil((1 - state.tokens) / perMs / SECOND_MS);
      state.tokens -= 1;
      state.fullAt += 1 / perMs;
      return 0;
    },

    bucket(accountId, plan) {
      if (!limitsRate(plan)) return null;
      const { state, size, perMs } = fill(accountId, plan);
      const fullInSeconds = Math.ceil((size - state.tokens) / perMs / SECOND_MS);
      return { left: Math.max(0, Math.floor(state.tokens + ROUNDING)), fullInSeconds };
    },
  };
}
