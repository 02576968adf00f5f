import { performance } from 'node:perf_hooks';

/** Spans of time, milliseconds. */
export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/**
 * Time for loops, deadlines and records. Pure functions take times as arguments instead.
 *
 * The wall clock is for data only: what is stored, shown or compared with what is stored. It jumps when the
 * machine corrects it. Deadlines, caches, rate limits and leases that live in this process use `monotonic`.
 */
export interface Clock {
  /** Wall-clock time, epoch milliseconds. It may jump forwards or backwards at any time. */
  now(): number;
  /** Milliseconds since some point in the past. Never jumps or runs back; only differences mean something. */
  monotonic(): number;
  /**
   * Resolves after `ms` milliseconds of monotonic time, or at once when `signal` aborts. Never rejects: a
   * loop checks its own signal.
   */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Calls `work` again and again, `ms` milliseconds after its last call ended; the last time when the signal aborts. */
export async function repeat(
  clock: Pick<Clock, 'sleep'>,
  ms: number,
  signal: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(ms, signal);
    await work();
  }
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal?.addEventListener('abort', done, { once: true });
    }),
};
