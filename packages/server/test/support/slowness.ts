/** Short texts are decoded, put into objects, and joined: what reading mail costs, the garbage collector included. */
const TEXTS = 40_000;
/** CPU time of {@link readTexts} when limits of CPU time were set, milliseconds. */
const USUAL_MS = 12;
const SAMPLES = 5;

/** @returns CPU time of this thread, milliseconds */
function readTexts(): number {
  const before = process.threadCpuUsage();
  const read: { text: string; length: number }[] = [];
  for (let n = 0; n < TEXTS; n++) {
    const text = Buffer.from(`text ${n} of many`, 'latin1').toString('utf8').slice(5);
    read.push({ text, length: text.length });
  }
  const length = JSON.stringify(read).length;
  const { user, system } = process.threadCpuUsage(before);
  return length > 0 ? (user + system) / 1_000 : 0;
}

/**
 * How many times slower the processor is at the moment than the one for which limits of CPU time were set: at
 * least 1. Virtual machines are slowed down when their neighbours work.
 */
export function cpuSlowness(): number {
  const samples = Array.from({ length: SAMPLES }, readTexts).sort((a, b) => a - b);
  return Math.max(1, (samples[SAMPLES >> 1] ?? USUAL_MS) / USUAL_MS);
}
