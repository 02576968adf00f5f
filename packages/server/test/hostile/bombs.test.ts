import { describe, expect, it } from 'vitest';
import { parseMail } from '../../src/mail/parse.ts';
import { contentJson, readContent } from '../../src/mail/stored-content.ts';
import { cpuSlowness } from '../support/slowness.ts';
import { BOMBS } from './bombs.ts';

const KB = 1_000;
/** CPU time in which 1 MB of anything is to be read, on the processor for which it was set, milliseconds. */
const MAX_MS_PER_MB = 100;
const SMALL = 250 * KB;
const LARGE = 8 * SMALL;
/** How many times as long the large one may take: three times what is proportional; 64 would be quadratic. */
const MAX_RATIO = 3 * (LARGE / SMALL);
/** Shorter times of the small one are mostly the garbage collector's, milliseconds. */
const NOISE_MS = 2;
const RUNS = 5;

/** CPU time of this thread for all that a parse worker does with a mail, milliseconds. */
function cost(source: Buffer): number {
  const before = process.threadCpuUsage();
  const mail = parseMail(source);
  const summary = JSON.stringify(mail.summary);
  contentJson(mail, source.length, Buffer.byteLength(summary));
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

/** The first cost below `limit`, or the least of {@link RUNS}: the first run of a function is the slowest. */
function costBelow(limit: number, source: Buffer): number {
  let least = cost(source);
  for (let run = 1; run < RUNS && least >= limit; run++) least = Math.min(least, cost(source));
  return least;
}

describe('what reading a mail costs grows with its size and no faster, up to 100 ms of CPU a MB', () => {
  it.each(BOMBS)('$name', ({ mail }) => {
    const large = mail(LARGE);
    const most = (MAX_MS_PER_MB * LARGE) / (1_000 * KB);
    const cpu = costBelow(most, large);
    if (cpu >= most) expect(cpu).toBeLessThan(most * cpuSlowness());
    const least = MAX_RATIO * NOISE_MS;
    // What is cheap at the large size is cheap at the small one.
    if (cpu < least) return;
    const limit = MAX_RATIO * Math.max(cost(mail(SMALL)), NOISE_MS);
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

it('no two bombs have one name', () => {
  expect(new Set(BOMBS.map(({ name }) => name)).size).toBe(BOMBS.length);
});
