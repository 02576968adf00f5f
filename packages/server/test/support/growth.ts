import { expect } from 'vitest';

/** Work is repeated for this long, because the CPU time clock of some machines has a resolution of 4 ms. */
const MEASURED_MS = 40;
/** How many small inputs are compared with a large one. */
const PIECES = 16;
/** How many times the CPU time of all the small inputs the large one may take. */
const MAX_RATIO = 5;
/** A shorter time of all the small inputs counts as this, because the garbage collector dominates it, milliseconds. */
const NOISE_MS = 10;
/** Maximum number of measurements: the first run of a function is slower, and one may be disturbed. */
const ROUNDS = 5;

/** @returns the CPU time of one run of `work` on this thread, milliseconds */
export function cpuTime(work: () => unknown): number {
  const before = process.threadCpuUsage();
  for (let count = 1; ; count++) {
    work();
    const { user, system } = process.threadCpuUsage(before);
    const ms = (user + system) / 1_000;
    if (ms >= MEASURED_MS) return ms / count;
  }
}

/**
 * Asserts that a large input takes no more CPU time than {@link PIECES} small ones, with room for noise: where `large`
 * is that many times the size of `small`, what is linear takes one time as long, and what is quadratic takes 16 times.
 * Both are measured one right after the other, so a slow or busy machine changes both.
 */
export function expectLinear<T>(work: (input: T) => unknown, small: T, large: T): void {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS && least >= MAX_RATIO; round++) {
    const ms = cpuTime(() => work(large));
    // What is cheap at the large size needs no comparison.
    const pieces = ms < MAX_RATIO * NOISE_MS ? 0 : PIECES * cpuTime(() => work(small));
    least = Math.min(least, ms / Math.max(NOISE_MS, pieces));
  }
  expect(least).toBeLessThan(MAX_RATIO);
}
