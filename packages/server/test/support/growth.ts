/** Work is repeated for this long, because the CPU time clock of some machines has a resolution of 4 ms. */
const MEASURED_MS = 40;

/** @returns the CPU time of one run of `work` on this thread, milliseconds */
function cpuTime(work: () => unknown): number {
  const before = process.threadCpuUsage();
  for (let count = 1; ; count++) {
    work();
    const { user, system } = process.threadCpuUsage(before);
    const ms = (user + system) / 1_000;
    if (ms >= MEASURED_MS) return ms / count;
  }
}

/** Maximum number of measurements while the ratio is at or above the limit. */
const ROUNDS = 4;

/**
 * Measures how many times the CPU time of the small work the large work takes. Both are measured one right after the
 * other, so a slow or busy machine changes both. The smallest ratio of several rounds is returned, so that one
 * disturbed measurement does not count.
 * @param limit measuring ends as soon as the ratio is below it
 * @param noiseMs shorter times of the small work count as this, because the garbage collector dominates them
 */
export function growth(
  small: () => unknown,
  large: () => unknown,
  { limit, noiseMs }: { limit: number; noiseMs: number },
): number {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS && least >= limit; round++) {
    // The first run of a function is slower, because it is compiled.
    const base = Math.max(noiseMs, Math.min(cpuTime(small), cpuTime(small)));
    least = Math.min(least, cpuTime(large) / base);
  }
  return least;
}
