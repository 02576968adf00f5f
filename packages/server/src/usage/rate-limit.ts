import type { Plan } from '../accounts/plans.ts';
import { type Clock, repeat, SECOND_MS } from '../clock.ts';
import { newSessionId } from '../ids.ts';
import type { Logger } from '../log.ts';
import type { Store } from '../store.ts';

/** Above this, the least recently used bucket is dropped. It is full by then, unless so many buckets are in use at once. */
const MAX_BUCKETS = 100_000;
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
}

type Rate = Pick<Plan, 'requestsPerSecond' | 'burst'>;

export const limitsRate = ({ requestsPerSecond, burst }: Rate): boolean =>
  Number.isFinite(requestsPerSecond) && Number.isFinite(burst);

/** A token bucket by key (such as an account), in memory: it holds `burst` requests and refills at `requestsPerSecond`. */
export class RateLimit {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** Buckets by key, the least recently used first. */
  readonly #buckets = new Map<string, Bucket>();
  #nodes = 1;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Takes one request, if available. Null without a limit. */
  take(key: string, rate: Rate): Taken | null {
    if (!limitsRate(rate)) return null;
    const now = this.#clock.monotonic();
    const size = Math.max(1, rate.burst / this.#nodes);
    const perMs = rate.requestsPerSecond / this.#nodes / SECOND_MS;
    const { tokens, at } = this.#buckets.get(key) ?? { tokens: size, at: now };
    const available = Math.min(size, tokens + Math.max(0, now - at) * perMs);
    const missing = 1 - available;
    const isAdmitted = missing <= ROUNDING;
    const left = isAdmitted ? available - 1 : available;
    this.#buckets.delete(key);
    this.#buckets.set(key, { tokens: left, at: now });
    if (this.#buckets.size > MAX_BUCKETS) this.#buckets.delete(this.#buckets.keys().next().value ?? key);
    return {
      retryAfterSeconds: isAdmitted ? 0 : Math.ceil(missing / perMs / SECOND_MS),
      left: Math.max(0, Math.floor(left + ROUNDING)),
      fullInSeconds: Math.ceil((size - left) / perMs / SECOND_MS),
    };
  }

  /** Undoes a `take` that was admitted. */
  giveBack(key: string): void {
    const bucket = this.#buckets.get(key);
    if (bucket) bucket.tokens += 1;
  }

  /** Gives each of `nodes` nodes an equal part of every rate and burst. */
  divideBy(nodes: number): void {
    this.#nodes = Math.max(1, nodes);
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
