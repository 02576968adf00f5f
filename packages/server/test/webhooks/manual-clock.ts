import type { Clock } from '../../src/clock.ts';

export interface ManualClock extends Clock {
  /** Moves the time on and wakes those whose time has come. */
  advance(ms: number): void;
  /** Sleepers that nothing has woken yet. */
  sleepers(): number;
}

/** A clock that stands still until it is told to move. */
export function createManualClock(now = Date.UTC(2026, 0, 1)): ManualClock {
  const sleeping = new Set<{ until: number; wake: () => void }>();
  return {
    now: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        const sleeper = { until: now + ms, wake };
        function wake() {
          sleeping.delete(sleeper);
          signal?.removeEventListener('abort', wake);
          resolve();
        }
        if (signal?.aborted) return resolve();
        sleeping.add(sleeper);
        signal?.addEventListener('abort', wake);
      }),
    advance(ms) {
      now += ms;
      for (const sleeper of [...sleeping]) if (sleeper.until <= now) sleeper.wake();
    },
    sleepers: () => sleeping.size,
  };
}
