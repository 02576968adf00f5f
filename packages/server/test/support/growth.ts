/** Work is repeated for so long: on some machines the clock of CPU time moves in steps of 4 ms. */
const MEASURED_MS = 40;

/** CPU time of this thread for a piece of work, milliseconds. */
function cpuTime(work: () => unknown): number {
  const before = process.threadCpuUsage();
  for (let count = 1; ; count++) {
    work();
    const { user, system } = process.threadCpuUsage(before);
    const ms = (user + system) / 1_000;
    if (ms >= MEASURED_MS) return ms / count;
  }
}

/** How often both works are measured again while the ratio is at or above the limit. */
const ROUNDS = 4;

/**
 * How many times the CPU time of the small work the large work takes. Both are measured one right after the
 * other, so a slow or busy machine changes both. A disturbance of one measurement does not count: the least
 * ratio of several rounds is returned, while work that really grows faster is above the limit in each of them.
 * @param limit measuring ends as soon as the ratio is below it
 * @param noiseMs shorter times of the small work count as this: they are mostly the garbage collector's
 */
export function growth(
  small: () => unknown,
  large: () => unknown,
  { limit, noiseMs }: { limit: number; noiseMs: number },
): number {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS && least >= limit; round++) {
    // The first run of a function is the slowest, because it is compiled.
    const base = Math.max(noiseMs, Math.min(cpuTime(small), cpuTime(small)));
    least = Math.min(least, cpuTime(large) / base);
  }
  return least;
}
