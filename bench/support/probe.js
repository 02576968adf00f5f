/**
 * Loaded into every measured process by `--import`: watches how late the main thread is, and tells
 * its parent when asked (ProbeRequest and ProbeAnswer in child.ts). Not TypeScript: Node would load
 * its type stripper for it, into each thread, and the memory measured would be that too.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

const RESOLUTION_MS = 1;

// Worker threads inherit `--import`, and only the main thread has the channel.
if (isMainThread && process.channel) {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  histogram.enable();
  // The histogram holds the time from tick to tick, of which one resolution is no delay.
  const late = (nanoseconds) => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS);
  // CPU time instead of time: on a busy machine any thread waits for the CPU.
  let watch;
  let longest = 0;
  const answers = {
    watch: () => {
      longest = 0;
      let before = process.threadCpuUsage();
      watch ??= setInterval(() => {
        const { user, system } = process.threadCpuUsage(before);
        before = process.threadCpuUsage();
        longest = Math.max(longest, (user + system) / 1e3);
      }, RESOLUTION_MS).unref();
      return { watch: true };
    },
    longest: () => {
      clearInterval(watch);
      watch = undefined;
      return { longest };
    },
    pid: () => ({ pid: process.pid }),
    reset: () => {
      histogram.reset();
      return { reset: true };
    },
    report: () => ({
      report: {
        p50: late(histogram.percentile(50)),
        p99: late(histogram.percentile(99)),
        max: late(histogram.max),
      },
    }),
  };
  process.on('message', (request) => process.send?.(answers[request]()));
  // The parent is gone: nobody measures any more, and nobody would end this process.
  process.on('disconnect', () => process.exit());
  process.channel.unref();
}
