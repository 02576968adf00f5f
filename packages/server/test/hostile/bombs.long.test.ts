import { describe, expect, it } from 'vitest';
import { parseMail } from '../../src/mail/parse.ts';
import { contentJson, readContent } from '../../src/mail/stored-content.ts';
import { BOMBS } from './bombs.ts';

const KB = 1_000;
/** Ten times the CPU time of 1 MB of the slowest mail, as virtual machines are slower at times, milliseconds. */
const MAX_MS_PER_MB = 1_000;
const LARGE = 2_000 * KB;
/** As many small mails have the size of the large one. */
const PIECES = 16;
/** How many times the CPU time of {@link PIECES} small mails the large one may take; what is quadratic takes 16. */
const MAX_RATIO = 5;
/** The clock of CPU time may go by 4 ms: a shorter time of the small mails says nothing, milliseconds. */
const MIN_MS = 20;
const RUNS = 5;

/** CPU time of this thread for all that a parse worker does with these mails, milliseconds. */
function cost(...sources: Buffer[]): number {
  const before = process.threadCpuUsage();
  for (const source of sources) {
    const mail = parseMail(source);
    const summary = JSON.stringify(mail.summary);
    contentJson(mail, source.length, Buffer.byteLength(summary));
  }
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

/** The first cost below `limit`, or the least of {@link RUNS}: the first run of a function is the slowest. */
function costBelow(limit: number, source: Buffer): number {
  let least = cost(source);
  for (let run = 1; run < RUNS && least >= limit; run++) least = Math.min(least, cost(source));
  return least;
}

describe('what reading a mail costs grows with its size and no faster, up to 1 s of CPU a MB', () => {
  it.each(BOMBS)('$name', ({ mail }) => {
    const large = mail(LARGE);
    const cpu = cost(large);
    expect(cpu).toBeLessThan((MAX_MS_PER_MB * LARGE) / (1_000 * KB));
    // What is cheap at the large size is cheap at the small one.
    if (cpu < MAX_RATIO * MIN_MS) return;
    const small = Array.from({ length: PIECES }, () => mail(LARGE / PIECES));
    const limit = MAX_RATIO * Math.max(cost(...small), MIN_MS);
    expect(costBelow(limit, large)).toBeLessThan(limit);
  });
});

describe('what is stored of a mail can be read back', () => {
  it.each(BOMBS)('$name', async ({ mail }) => {
    const source = mail(20_000);
    const parsed = parseMail(source);
    const { content } = await readContent(JSON.parse(contentJson(parsed, source.length)), source);
    // The words are only for filters, and may be cut or less exact.
    expect({ ...content, htmlWords: null }).toEqual({ ...parsed.content, htmlWords: null });
  });
});
