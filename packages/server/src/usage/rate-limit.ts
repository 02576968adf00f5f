import type { Plan } from '../accounts/plans.ts';
import { type Clock, repeat, SECOND_MS } from '../clock.ts';
import { newSessionId } from '../ids.ts';
import type { Logger } from '../log.ts';
import type { Store } from '../store.ts';

/** Full buckets carry no information and are dropped this often. */
const FORGET_EVERY_MS = 60_000;
/** Tolerance for rounding: a client that waited for `Retry-After` is admitted. */
const ROUNDING = 1e-6;

export interface Taken {
  /** 0 if the request is admitted, otherwise seconds until the next one is. */
  retryAfterSeconds: number;
  /** Whole requests that are admitted at once now. */
  left: number;
  /** Seconds until the bucket is full, rounded up. */
  fullInSeconds: number;
}

interface Bucket {
  tokens: number;
  /** When `tokens` was computed, monotonic milliseconds. */
  at: number;
  /** When the bucket is full without further requests, monotonic milliseconds. */
  fullAt: number;
  size: number;
  perMs: number;
}

type Rate = Pick<Plan, 'requestsPerSecond' | 'burst'>;

export const limitsRate = ({ requestsPerSecond, burst }: Rate): boolean =>
  Number.isFinite(requestsPerSecond) && Number.isFinite(burst);

function refill(bucket: Bucket, now: number): void {
  const { size, perMs, at, tokens } = bucket;
  bucket.tokens = Math.min(size, tokens + Math.max(0, now - at) * perMs);
  bucket.at = now;
  bucket.fullAt = now + (size - bucket.tokens) / perMs;
}

/** A token bucket by key (such as an account), in memory: it holds `burst` requests and refills at `requestsPerSecond`. */
export class RateLimit {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #buckets = new Map<string, Bucket>();
  #forgetAt: number;
  #nodes = 1;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
    this.#forgetAt = clock.monotonic() + FORGET_EVERY_MS;
  }

  /** Takes one request, if available. Null without a limit. */
  take(key: string, rate: Rate): Taken | null {
    if (!limitsRate(rate)) return null;
    const bucket = this.#bucketOf(key, rate);
    const { size, perMs } = bucket;
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
  }

  /** Undoes a `take` that was admitted. */
  giveBack(key: string): void {
    const bucket = this.#buckets.get(key);
    if (bucket) bucket.tokens = Math.min(bucket.size, bucket.tokens + 1);
  }

  /** Gives each of `nodes` nodes an equal part of every rate and burst. */
  divideBy(nodes: number): void {
    this.#nodes = Math.max(1, nodes);
  }

  #bucketOf(key: string, { burst, requestsPerSecond }: Rate): Bucket {
    const now = this.#clock.monotonic();
    this.#forgetFull(now);
    const size = Math.max(1, burst / this.#nodes);
    let bucket = this.#buckets.get(key);
    if (!bucket) {
      bucket = { tokens: size, at: now, fullAt: now, size, perMs: 0 };
      this.#buckets.set(key, bucket);
    }
    bucket.size = size;
    bucket.perMs = requestsPerSecond / this.#nodes / SECOND_MS;
    refill(bucket, now);
    return bucket;
  }

  #forgetFull(now: number): void {
    if (now < this.#forgetAt) return;
    this.#forgetAt = now + FORGET_EVERY_MS;
    for (const [key, { fullAt }] of this.#buckets) if (fullAt <= now) this.#buckets.delete(key);
  }
}

/** Interval of heartbeats, each of which also counts the live nodes. */
const BEAT_EVERY_MS = 3 * SECOND_MS;

interface LiveNodesDeps {
  rate: Pick<RateLimit, 'divideBy'>;
  store: Pick<Store, 'nodes'>;
  clock: Clock;
  log: Logger;
}

/** Divides rate limits by the number of live nodes: the last known number while the database is unreachable. */
export class LiveNodes {
  readonly #deps: LiveNodesDeps;
  readonly #id = newSessionId();
  readonly #stopping = new AbortController();
  #loop: Promise<void> = Promise.resolve();
  #isFailing = false;

  constructor(deps: LiveNodesDeps) {
    this.#deps = deps;
  }

  /** Resolves when the rates are divided by the live nodes, this one included. */
  async start(): Promise<void> {
    await this.beat();
    this.#loop = repeat(this.#deps.clock, BEAT_EVERY_MS, this.#stopping.signal, async () => {
      if (!this.#stopping.signal.aborted) await this.beat();
    });
  }

  /** Removes this node, so that the others get its share. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
    const { store, clock, log } = this.#deps;
    await store.nodes.leave(this.#id, clock.now()).catch((err) => {
      log.warn({ err }, 'The other servers learn late that this one has stopped');
    });
  }

  async beat(): Promise<void> {
    const { rate, store, clock, log } = this.#deps;
    try {
      rate.divideBy(await store.nodes.beat(this.#id, clock.now()));
      this.#isFailing = false;
    } catch (err) {
      if (!this.#isFailing)
        log.warn({ err }, 'The number of servers could not be read; rates stay divided as before');
      this.#isFailing = true;
    }
  }
}
