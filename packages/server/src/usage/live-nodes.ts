import { type Clock, repeat, SECOND_MS } from '../clock.ts';
import { newSessionId } from '../ids.ts';
import type { Logger } from '../log.ts';
import type { Store } from '../store.ts';
import type { RateLimit } from './rate-limit.ts';

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
