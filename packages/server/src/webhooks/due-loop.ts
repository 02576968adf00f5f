import { type Clock, endOf } from '../clock.ts';
import type { EventBus } from '../events.ts';
import type { Logger } from '../log.ts';
import type { ScheduleClock } from './schedule-clock.ts';

/** Maximum pause between two queries. Usually an event announces new rows, but events may be lost. */
const IDLE_POLL_MS = 1_000;
/** Pause when rows are due but none was claimed, for example at the limit of concurrent attempts. */
const NOTHING_CLAIMED_MS = 100;
const STORAGE_PAUSE_MS = 1_000;
/** How long `stop` waits for attempts in progress. The whole process has ten seconds to stop. */
const STOP_GRACE_MS = 5_000;

export interface DueLoopDeps {
  events: Pick<EventBus, 'onDeliveries'>;
  schedule: ScheduleClock;
  clock: Clock;
  log: Logger;
  random(): number;
  /** Delays before retries, milliseconds. Set only by tests; else the delays of schedule.ts are used. */
  retryDelays?: readonly number[] | undefined;
}

/** Claims rows of the database when they become due, and attempts the deliveries or requests in them. */
export abstract class DueLoop<Deps extends DueLoopDeps> {
  protected readonly deps: Deps;
  protected readonly signal: AbortSignal;
  readonly #stopping = new AbortController();
  readonly #aborting = new AbortController();
  readonly #inProgress = new Set<Promise<void>>();
  #wakeUp = new AbortController();
  #loop = Promise.resolve();

  constructor(deps: Deps) {
    this.deps = deps;
    this.signal = this.#aborting.signal;
  }

  protected abstract readonly what: string;
  /** @returns when the next row is due (an earlier time is allowed); null if no row is pending */
  protected abstract nextAt(now: number): Promise<number | null>;
  /** Claims rows that are due, and calls {@link begin} for their attempts. @returns how many were claimed */
  protected abstract claim(now: number): Promise<number>;

  protected get inProgress(): number {
    return this.#inProgress.size;
  }

  start(): void {
    this.#loop = this.#run();
  }

  /** Stops claiming. Aborts attempts that have not ended after STOP_GRACE_MS. Safe to call twice. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#wakeUp.abort();
    await this.#loop;
    const allEnded = Promise.all(this.#inProgress);
    await endOf(allEnded, STOP_GRACE_MS, this.deps.clock);
    this.#aborting.abort();
    await allEnded;
  }

  /** @param attempt must never reject */
  protected begin(attempt: Promise<void>): void {
    const running = attempt.finally(() => {
      this.#inProgress.delete(running);
      this.#wakeUp.abort();
    });
    this.#inProgress.add(running);
  }

  async #run(): Promise<void> {
    const { events, clock, log } = this.deps;
    const unsubscribe = events.onDeliveries(() => this.#wakeUp.abort());
    let isFailing = false;
    while (!this.#stopping.signal.aborted) {
      // Created before the query, so that an event during the query ends the next sleep.
      this.#wakeUp = new AbortController();
      let wait = STORAGE_PAUSE_MS;
      try {
        wait = await this.#claimDue();
        isFailing = false;
      } catch (err) {
        if (!isFailing) log.error({ err }, `${this.what} could not be claimed; each second tries again`);
        isFailing = true;
      }
      if (wait > 0 && !this.#stopping.signal.aborted) await clock.sleep(wait, this.#wakeUp.signal);
    }
    unsubscribe();
  }

  async #claimDue(): Promise<number> {
    const now = await this.deps.schedule.read();
    const nextAt = await this.nextAt(now);
    if (nextAt === null || nextAt > now) return Math.min(IDLE_POLL_MS, (nextAt ?? now + IDLE_POLL_MS) - now);
    return (await this.claim(now)) > 0 ? 0 : NOTHING_CLAIMED_MS;
  }
}
