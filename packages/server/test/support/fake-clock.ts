import type { Clock } from '../../src/clock.ts';

interface Sleeper {
  due: number;
  wake(): void;
}

/** Any fixed day; tests name times relative to it. */
const START = Date.UTC(2026, 2, 4, 5, 6, 7);

/** Time that stands still until the test moves it. */
export class FakeClock implements Clock {
  #now: number;
  #monotonic = 0;
  readonly #sleepers = new Set<Sleeper>();
  readonly #watchers = new Set<() => void>();

  constructor(start: number = START) {
    this.#now = start;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const wake = () => {
        this.#sleepers.delete(sleeper);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      const sleeper: Sleeper = { due: this.#monotonic + Math.max(0, ms), wake };
      this.#sleepers.add(sleeper);
      signal?.addEventListener('abort', wake, { once: true });
      for (const look of [...this.#watchers]) look();
    });
  }

  /** How many sleep now. */
  get sleepers(): number {
    return this.#sleepers.size;
  }

  /** Resolves as soon as at least that many sleep: the way to know that a wait has begun. */
  untilSleeping(count = 1): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (this.#sleepers.size < count) return;
        this.#watchers.delete(look);
        resolve();
      };
      this.#watchers.add(look);
      look();
    });
  }

  /**
   * Moves time on. Sleepers that are due wake in the order of their times, each at its time, and may
   * sleep again within the span.
   */
  async advance(ms: number): Promise<void> {
    const end = this.#monotonic + ms;
    for (;;) {
      const [next] = [...this.#sleepers].filter(({ due }) => due <= end).sort((a, b) => a.due - b.due);
      if (!next) break;
      this.#pass(Math.max(0, next.due - this.#monotonic));
      next.wake();
      // One turn of the event loop, so that the woken one gets as far as its next sleep.
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.#pass(end - this.#monotonic);
  }

  /**
   * Moves time on at once, as for a machine that was suspended: sleeps that ended meanwhile resolve now.
   * For days, through which {@link FakeClock.advance} would go by every quarter of a minute.
   */
  async leap(ms: number): Promise<void> {
    this.#pass(ms);
    await this.advance(0);
  }

  /** Sets the wall clock forwards or backwards, as a correction of the machine's clock does; no time passes. */
  step(ms: number): void {
    this.#now += ms;
  }

  #pass(ms: number): void {
    this.#monotonic += ms;
    this.#now += ms;
  }
}
