/**
 * Loaded into every measured process by `--import`: watches how late the main thread is, and tells
 * its parent when asked (ProbeRequest and ProbeAnswer in child.ts). Not TypeScript: Node would load
 * its type stripper for it, into each thread, and the memory measured would be that too.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { BroadcastChannel, isMainThread, threadName } from 'node:worker_threads';

const RESOLUTION_MS = 1;
/** How long the other threads have for their answers. */
const ANSWERS_MS = 300;

/** Watches how long this thread computes without a pause: CPU time, because on a busy machine any thread waits. */
const blocks = {
  timer: undefined,
  longest: 0,
  watch() {
    this.longest = 0;
    let before = process.threadCpuUsage();
    this.timer ??= setInterval(() => {
      const { user, system } = process.threadCpuUsage(before);
      before = process.threadCpuUsage();
      this.longest = Math.max(this.longest, (user + system) / 1e3);
    }, RESOLUTION_MS).unref();
  },
  stop() {
    clearInterval(this.timer);
    this.timer = undefined;
    return this.longest;
  },
};
const threads = new BroadcastChannel('blocks');
threads.unref();
if (!isMainThread) {
  threads.onmessage = ({ data }) => {
    if (data === 'watch') blocks.watch();
    else if (data === 'longest') threads.postMessage({ [threadName]: blocks.stop() });
  };
}

// Worker threads inherit `--import`, and only the main thread has the channel.
if (isMainThread && process.channel) {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  histogram.enable();
  // The histogram holds the time from tick to tick, of which one resolution is no delay.
  const late = (nanoseconds) => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS);
  let found = {};
  threads.onmessage = ({ data }) => {
    for (const [name, ms] of Object.entries(data)) found[name] = Math.max(found[name] ?? 0, ms);
  };
  const answers = {
    watch: () => {
      threads.postMessage('watch');
      blocks.watch();
      return { watch: true };
    },
    longest: async () => {
      found = { main: blocks.stop() };
      threads.postMessage('longest');
      await new Promise((resolve) => setTimeout(resolve, ANSWERS_MS));
      return { longest: found };
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
  process.on('message', async (request) => process.send?.(await answers[request]()));
  // The parent is gone: nobody measures any more, and nobody would end this process.
  process.on('disconnect', () => process.exit());
  process.channel.unref();
}
