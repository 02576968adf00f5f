import { availableParallelism, loadavg } from 'node:os';

/** Long enough that the scheduler has given other processes their turns. */
const SAMPLE_MS = 40;

const ADDITIONS = 5_000_000;
/** CPU time of so many additions on the machine of docs/benchmarks.md at half of its speed, milliseconds. */
const USUAL_MS = 17;

/**
 * How many times slower the processor is at the moment than the one for which limits of CPU time were set: at
 * least 1. Virtual machines are slowed down when their neighbours work.
 */
export function cpuSlowness(): number {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 3; round++) {
    const before = process.threadCpuUsage();
    let sum = 0;
    for (let n = 0; n < ADDITIONS; n++) sum += n;
    const { user, system } = process.threadCpuUsage(before);
    if (sum > 0) least = Math.min(least, (user + system) / 1_000);
  }
  return Math.max(1, least / USUAL_MS);
}

/**
 * How many times slower this machine is at the moment than one without other work: at least 1. A test of a
 * promised time multiplies its limit by this, because the promise is about a machine that keeps up.
 */
export function slowness(): number {
  const before = process.cpuUsage();
  const begun = performance.now();
  while (performance.now() - begun < SAMPLE_MS);
  const { user, system } = process.cpuUsage(before);
  const ownShare = (performance.now() - begun) / Math.max(1, (user + system) / 1_000);
  return cpuSlowness() * Math.max(1, ownShare, (loadavg()[0] ?? 0) / availableParallelism());
}
