/** Number of short texts that are decoded and serialized, which is similar to reading mail, garbage collection included. */
const TEXTS = 40_000;
/** CPU time of {@link readTexts} on the machine on which CPU limits of tests were set, milliseconds. */
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
 * @returns how many times slower the processor is now than the one on which CPU limits of tests were set, at least 1.
 * Virtual machines slow down when others on the same host are busy.
 */
export function cpuSlowness(): number {
  const samples = Array.from({ length: SAMPLES }, readTexts).sort((a, b) => a - b);
  return Math.max(1, (samples[SAMPLES >> 1] ?? USUAL_MS) / USUAL_MS);
}
