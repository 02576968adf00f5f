import type { Plan } from '../accounts/plans.ts';
import type { Clock } from '../clock.ts';

/** Buckets that are full again say nothing, and are forgotten so often: no look through all of them for each request. */
const FORGET_EVERY_MS = 60_000;
const SECOND_MS = 1_000;
/** Sums of fractions are off by less: who waited as long as told is let in. */
const ROUNDING = 1e-6;

/** What became of a request, and what is left of its account's bucket. */
export interface Taken {
  /** 0 where the request may go on; else the seconds until the next one is let in. */
  retryAfterSeconds: number;
  /** Whole requests that may come at once now. */
  left: number;
  /** Seconds until the bucket is full again, rounded up. */
  fullInSeconds: number;
}

/** The rate limit by account: a token bucket that holds `burst` and fills by `requestsPerSecond`. */
export interface RateLimit {
  /** Takes one request out of the account's bucket, if it is there. @returns null for a plan without this limit */
  take(accountId: string, plan: Plan): Taken | null;
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
      if (!limitsRate(plan)) return null;
      const { state, size, perMs } = fill(accountId, plan);
      const missing = 1 - state.tokens;
      const isIn = missing <= ROUNDING;
      if (isIn) {
        state.tokens -= 1;
        state.fullAt += 1 / perMs;
      }
      return {
        retryAfterSeconds: isIn ? 0 : Math.ceil(missing / perMs / SECOND_MS),
        left: Math.max(0, Math.floor(state.tokens + ROUNDING)),
        fullInSeconds: Math.ceil((size - state.tokens) / perMs / SECOND_MS),
      };
    },
  };
}
