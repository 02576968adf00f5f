import type { Clock } from '../clock.ts';
import type { Plan } from './plans.ts';

/** Buckets that are full again say nothing; this many accounts are looked through for them at once. */
const FORGET_FROM_ACCOUNTS = 10_000;
const SECOND_MS = 1_000;

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
}

/**
 * Keeps the buckets in memory: what a restart forgets is a pause of `burst / requestsPerSecond` seconds.
 * @param nodes how many nodes answer requests now; each has that share of every bucket
 */
export function createRateLimit(clock: Pick<Clock, 'now'>, nodes: () => number = () => 1): RateLimit {
  const states = new Map<string, State>();

  const forgetFull = (now: number): void => {
    // Any plan's bucket is full after so long: the built-in ones take 5 s.
    const MINUTE_MS = 60 * SECOND_MS;
    for (const [accountId, { at }] of states) if (now - at > MINUTE_MS) states.delete(accountId);
  };

  /** The bucket filled up to now, and what it may hold here. */
  const fill = (accountId: string, plan: Plan): { state: State; size: number; perMs: number } => {
    const now = clock.now();
    const share = Math.max(1, nodes());
    const size = Math.max(1, plan.burst / share);
    const perMs = plan.requestsPerSecond / share / SECOND_MS;
    let state = states.get(accountId);
    if (!state) {
      if (states.size >= FORGET_FROM_ACCOUNTS) forgetFull(now);
      state = { tokens: size, at: now };
      states.set(accountId, state);
    }
    state.tokens = Math.min(size, state.tokens + Math.max(0, now - state.at) * perMs);
    state.at = now;
    return { state, size, perMs };
  };

  return {
    take(accountId, plan) {
      if (plan.requestsPerSecond === Number.POSITIVE_INFINITY) return 0;
      const { state, perMs } = fill(accountId, plan);
      if (state.tokens < 1) return Math.max(1, Math.ceil((1 - state.tokens) / perMs / SECOND_MS));
      state.tokens -= 1;
      return 0;
    },

    bucket(accountId, plan) {
      if (plan.requestsPerSecond === Number.POSITIVE_INFINITY) return null;
      const { state, size, perMs } = fill(accountId, plan);
      const fullInSeconds = Math.ceil((size - state.tokens) / perMs / SECOND_MS);
      return { left: Math.floor(state.tokens), fullInSeconds };
    },
  };
}
