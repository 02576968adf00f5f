import { availableParallelism, loadavg } from 'node:os';

/** Long enough that the scheduler has given other processes their turns. */
const SAMPLE_MS = 40;

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
  return Math.max(1, ownShare, (loadavg()[0] ?? 0) / availableParallelism());
}
