import { performance } from 'node:perf_hooks';

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

export type Month = string;
export type Day = string;

let lastDay = { number: 0, name: '1970-01-01' };

export function dayOf(time: number): Day {
  const number = Math.floor(time / DAY_MS);
  // Cached, because every request needs the name of the day, and formatting it takes 3 % of the request's time.
  if (number !== lastDay.number) lastDay = { number, name: new Date(time).toISOString().slice(0, 10) };
  return lastDay.name;
}

export const monthOf = (time: number): Month => dayOf(time).slice(0, 7);

export function monthAround(time: number): { start: number; end: number } {
  const date = new Date(time);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return { start: Date.UTC(year, month), end: Date.UTC(year, month + 1) };
}

/** Maximum age of cached store results. A change by another process may take effect this much later. */
export const CACHE_TTL_MS = 500;

/** `now` jumps when the clock is corrected, so deadlines, caches and rate limits use `monotonic`. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /** Milliseconds since an arbitrary point. */
  monotonic(): number;
  /** Resolves after `ms` milliseconds of monotonic time, or when `signal` aborts. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Calls `work` after `ms` milliseconds, and again `ms` after each call has ended. @returns a function that stops this */
export function repeat(clock: Pick<Clock, 'sleep'>, ms: number, work: () => Promise<void>) {
  const stopping = new AbortController();
  const run = async (): Promise<void> => {
    await clock.sleep(ms, stopping.signal);
    while (!stopping.signal.aborted) {
      await work();
      await clock.sleep(ms, stopping.signal);
    }
  };
  const running = run();
  return (): Promise<void> => {
    stopping.abort();
    return running;
  };
}

/** Resolves when `work` has ended, at the latest after `ms` milliseconds. */
export async function endOf(work: Promise<unknown>, ms: number, clock: Pick<Clock, 'sleep'>): Promise<void> {
  const ended = new AbortController();
  void work.finally(() => ended.abort());
  await clock.sleep(ms, ended.signal);
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
