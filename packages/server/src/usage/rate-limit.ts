import type { Plan } from '../accounts/plans.ts';
import { type Clock, SECOND_MS } from '../clock.ts';
import type { RateLevel, RateUse } from '../store/contract/index.ts';

/** Full buckets carry no information and are dropped this often, rather than searched for at every request. */
const FORGET_EVERY_MS = 60_000;
/** Tolerance for rounding of fractions: a client that waited for `Retry-After` is admitted. */
const ROUNDING = 1e-6;

/** Reports count as so much older than they are, because they take a while to arrive. */
const ON_THE_WAY_MS = 100;

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
  /** What was taken since the last call from each bucket that is not full, for the other nodes. */
  takeUses(): RateUse[];
  /** Puts back uses that could not be sent to the other nodes. */
  returnUses(uses: readonly RateUse[]): void;
  /** Takes out of buckets what other nodes have used. What was taken since {@link takeUses} counts as well. */
  setLevels(levels: readonly RateLevel[]): void;
}

interface Bucket {
  /** Below 0 after other nodes have admitted more than was left. */
  tokens: number;
  /** When `tokens` was computed, monotonic milliseconds. */
  at: number;
  /** When the bucket is full again without further requests. */
  fullAt: number;
  /** By the plan of the last request. */
  size: number;
  perMs: number;
  /** Requests since the last {@link RateLimit.takeUses}. */
  used: number;
  /** When the first of them was, monotonic milliseconds. */
  usedFrom: number;
}

/** True for a plan that limits the rate. */
export const limitsRate = ({ requestsPerSecond, burst }: Plan): boolean =>
  Number.isFinite(requestsPerSecond) && Number.isFinite(burst);

/** Brings the tokens of a bucket up to now. */
function refill(bucket: Bucket, now: number): void {
  const { size, perMs, at, tokens } = bucket;
  bucket.tokens = Math.min(size, tokens + Math.max(0, now - at) * perMs);
  bucket.at = now;
  bucket.fullAt = now + (size - bucket.tokens) / perMs;
}

/** Keeps the buckets in memory: a restart loses a wait of at most `burst / requestsPerSecond` seconds. */
class Buckets implements RateLimit {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #buckets = new Map<string, Bucket>();
  #forgetAt: number;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
    this.#forgetAt = clock.monotonic() + FORGET_EVERY_MS;
  }

  take(accountId: string, plan: Plan): Taken | null {
    if (!limitsRate(plan)) return null;
    const bucket = this.#bucketOf(accountId, plan);
    const { size, perMs } = bucket;
    const missing = 1 - bucket.tokens;
    const isAdmitted = missing <= ROUNDING;
    if (isAdmitted) {
      bucket.tokens -= 1;
      if (bucket.used === 0) bucket.usedFrom = bucket.at;
      bucket.used += 1;
      bucket.fullAt += 1 / perMs;
    }
    return {
      retryAfterSeconds: isAdmitted ? 0 : Math.ceil(missing / perMs / SECOND_MS),
      left: Math.max(0, Math.floor(bucket.tokens + ROUNDING)),
      fullInSeconds: Math.ceil((size - bucket.tokens) / perMs / SECOND_MS),
    };
  }

  takeUses(): RateUse[] {
    const now = this.#clock.monotonic();
    const uses: RateUse[] = [];
    for (const [accountId, bucket] of this.#buckets) {
      if (bucket.used === 0 && bucket.fullAt <= now) continue;
      const { used, usedFrom, perMs } = bucket;
      const sinceMs = used === 0 ? 0 : now - usedFrom + ON_THE_WAY_MS;
      uses.push({ accountId, refillMs: used / perMs, sinceMs });
      bucket.used = 0;
    }
    return uses;
  }

  returnUses(uses: readonly RateUse[]): void {
    const now = this.#clock.monotonic();
    for (const { accountId, refillMs, sinceMs } of uses) {
      const bucket = this.#buckets.get(accountId);
      if (!bucket || refillMs === 0) continue;
      bucket.used += refillMs * bucket.perMs;
      bucket.usedFrom = now - sinceMs;
    }
  }

  setLevels(levels: readonly RateLevel[]): void {
    const now = this.#clock.monotonic();
    for (const { accountId, fullInMs } of levels) {
      const bucket = this.#buckets.get(accountId);
      if (!bucket) continue;
      refill(bucket, now);
      // This node knows its own requests more exactly; only those of others make it less.
      const { tokens, size, perMs, used } = bucket;
      bucket.tokens = Math.min(tokens, size - fullInMs * perMs - used);
      refill(bucket, now);
    }
  }

  /** The bucket, refilled up to now, with the size and the rate of the plan. */
  #bucketOf(accountId: string, { burst, requestsPerSecond }: Plan): Bucket {
    const now = this.#clock.monotonic();
    this.#forgetFull(now);
    const size = Math.max(1, burst);
    let bucket = this.#buckets.get(accountId);
    if (!bucket) {
      bucket = { tokens: size, at: now, fullAt: now, size, perMs: 0, used: 0, usedFrom: now };
      this.#buckets.set(accountId, bucket);
    }
    bucket.size = size;
    bucket.perMs = requestsPerSecond / SECOND_MS;
    refill(bucket, now);
    return bucket;
  }

  #forgetFull(now: number): void {
    if (now < this.#forgetAt) return;
    this.#forgetAt = now + FORGET_EVERY_MS;
    for (const [accountId, { fullAt }] of this.#buckets) if (fullAt <= now) this.#buckets.delete(accountId);
  }
}

export const createRateLimit = (clock: Pick<Clock, 'monotonic'>): RateLimit => new Buckets(clock);
