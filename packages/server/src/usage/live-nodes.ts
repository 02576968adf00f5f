import { type Clock, repeat, SECOND_MS } from '../clock.ts';
import { newSessionId } from '../ids.ts';
import type { Logger } from '../log.ts';
import type { Store } from '../store.ts';
import type { RateLimit } from './rate-limit.ts';

/** How often a node writes that it is alive, and reads how many others are. */
const BEAT_EVERY_MS = 3 * SECOND_MS;

interface LiveNodesDeps {
  rate: Pick<RateLimit, 'divideBy'>;
  store: Pick<Store, 'nodes'>;
  clock: Clock;
  log: Logger;
}

/**
 * Divides the rates of accounts by the number of live nodes. A node that cannot reach the database goes on with the
 * number that it knows.
 */
export class LiveNodes {
  readonly #deps: LiveNodesDeps;
  readonly #id = newSessionId();
  readonly #stopping = new AbortController();
  #loop: Promise<void> = Promise.resolve();
  #isFailing = false;

  constructor(deps: LiveNodesDeps) {
    this.#deps = deps;
  }

  /** Resolves when the rates are divided by the nodes that there are, this one included. */
  async start(): Promise<void> {
    await this.beat();
    this.#loop = repeat(this.#deps.clock, BEAT_EVERY_MS, this.#stopping.signal, async () => {
      if (!this.#stopping.signal.aborted) await this.beat();
    });
  }

  /** Lets the other nodes have the share of this one. */
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
