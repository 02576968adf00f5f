import { type Clock, repeat } from '../clock.ts';
import type { Logger } from '../log.ts';
import type { Store } from '../store/contract/index.ts';
import type { RateLimit } from './rate-limit.ts';

/**
 * How often a node reports what it admitted and reads what the others did: one statement, whatever the
 * number of requests.
 *
 * Each node admits by its own buckets, and each report sets them to what all nodes have left. A node does not
 * know of an account that it meets for the first time, nor of the last interval of the others. So in any window
 * of t seconds, n nodes admit at most
 *
 *     burst + rate × t + (n − 1) × (burst + rate × one interval)
 *
 * requests of an account, and what was admitted too much is a debt that is waited for afterwards: in the long
 * run the account has exactly its rate. A client that meets one node only has all of it there.
 */
const SHARE_EVERY_MS = 500;

interface SharedRatesDeps {
  rate: RateLimit;
  store: Pick<Store, 'limits'>;
  clock: Clock;
  log: Logger;
}

/** Makes the rate limits of several nodes one. */
export class SharedRates {
  readonly #deps: SharedRatesDeps;
  readonly #stopping = new AbortController();
  #loop: Promise<void> = Promise.resolve();
  #isFailing = false;

  constructor(deps: SharedRatesDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#loop = repeat(this.#deps.clock, SHARE_EVERY_MS, this.#stopping.signal, () => this.share());
  }

  /** Tells the other nodes the last uses. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
  }

  /** Reports what was used and takes over what is left. Never throws: without the store each node goes on alone. */
  async share(): Promise<void> {
    const { rate, store, clock, log } = this.#deps;
    const uses = rate.takeUses();
    if (uses.length === 0) return;
    try {
      rate.setLevels(await store.limits.use(uses, clock.now()));
      this.#isFailing = false;
    } catch (err) {
      // Counted twice, if the store took them, rather than not at all.
      rate.returnUses(uses);
      if (!this.#isFailing) log.warn({ err }, 'The rates of accounts could not be shared with other nodes');
      this.#isFailing = true;
    }
  }
}
