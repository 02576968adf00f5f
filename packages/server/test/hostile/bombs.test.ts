import { describe, expect, it } from 'vitest';
import { parseMail } from '../../src/mail/parse.ts';
import { contentJson, readContent } from '../../src/mail/stored-content.ts';
import { cpuSlowness } from '../support/slowness.ts';
import { BOMBS } from './bombs.ts';

const MB = 1_000_000;
/** CPU time in which 1 MB of anything is to be read, milliseconds. */
const MAX_MS_PER_MB = 100;
/** Twice the size may take so many times as long; the garbage collector is in it. */
const MAX_RATIO = 3.5;
/** Shorter times are mostly the garbage collector's, milliseconds. */
const NOISE_MS = 20;

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

describe('a mail of 1 MB is read within 100 ms of CPU, and one of 2 MB in about twice the time', () => {
  it.each(BOMBS)('$name', ({ mail }) => {
    const once = costBelow(NOISE_MS, mail(MB));
    if (once >= MAX_MS_PER_MB) expect(once).toBeLessThan(MAX_MS_PER_MB * cpuSlowness());
    const limit = MAX_RATIO * Math.max(once, NOISE_MS);
    expect(costBelow(limit, mail(2 * MB))).toBeLessThan(limit);
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
