import type { Clock } from '../../src/clock.ts';

interface Sleeper {
  due: number;
  wake(): void;
}

const START = Date.UTC(2026, 2, 4, 5, 6, 7);

/** A clock that moves only when the test advances it. */
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

  /** The number of pending sleeps. */
  get sleepers(): number {
    return this.#sleepers.size;
  }

  /** Resolves when at least `count` sleeps are pending, which shows that a wait has begun. */
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
   * Advances the time. Sleeps that are due resolve in the order of their times, each at its time; new sleeps may begin
   * and end within the span.
   */
  async advance(ms: number): Promise<void> {
    const end = this.#monotonic + ms;
    for (;;) {
      const [next] = [...this.#sleepers].filter(({ due }) => due <= end).sort((a, b) => a.due - b.due);
      if (!next) break;
      this.#pass(Math.max(0, next.due - this.#monotonic));
      next.wake();
      // One turn of the event loop, so that the code after the sleep runs up to its next sleep.
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.#pass(end - this.#monotonic);
  }

  /**
   * Advances the time in one step, as for a suspended machine: sleeps that ended meanwhile resolve now. For spans of
   * days, in which {@link FakeClock.advance} would resolve thousands of periodic sleeps.
   */
  async leap(ms: number): Promise<void> {
    this.#pass(ms);
    await this.advance(0);
  }

  /** Changes the wall clock alone, forwards or backwards, as a clock correction does. */
  step(ms: number): void {
    this.#now += ms;
  }

  #pass(ms: number): void {
    this.#monotonic += ms;
    this.#now += ms;
  }
}
