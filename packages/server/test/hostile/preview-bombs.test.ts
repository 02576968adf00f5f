import { expect, it } from 'vitest';
import { previewPage } from '../../src/mail/preview/page.ts';

const KB = 1_000;
/** Twice the size may take so many times as long; quadratic cost would be four times. */
const MAX_RATIO = 3.5;
/** Shorter times are mostly the garbage collector's, milliseconds of CPU. */
const NOISE_MS = 20;

/** HTML that is expensive to take apart, repeated up to a number of characters. */
const BOMBS: [string, (characters: number) => string][] = [
  ['links that are never closed', (n) => '<a href=x>'.repeat(n / 10)],
  ['attributes without end', (n) => `<a ${'b=c '.repeat(n / 4)}>`],
  ['style attributes that are never closed', (n) => '<p style="url(//'.repeat(n / 16)],
  ['angle brackets', (n) => '<'.repeat(n)],
  ['comments that are never closed', (n) => '<!--'.repeat(n / 4)],
  ['empty comments', (n) => '<!---->'.repeat(n / 7)],
  ['style elements that are never closed', (n) => '<style>@import "'.repeat(n / 16)],
  ['cid links in one attribute', (n) => `<img src="${'cid:a '.repeat(n / 6)}">`],
  ['blanks before the document', (n) => `${' '.repeat(n)}x`],
  ['commas in a srcset', (n) => `<img srcset="${', '.repeat(n / 2)}">`],
  ['url( in a style sheet', (n) => `<style>${'url('.repeat(n / 4)}`],
  ['url( and blanks', (n) => `<style>${`url(${' '.repeat(2_000)}`.repeat(n / 2_004)}`],
];

function cost(html: string): number {
  const before = process.threadCpuUsage();
  previewPage(html, () => undefined);
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

const leastCost = (html: string): number => Math.min(cost(html), cost(html), cost(html));

it.each(BOMBS)('the preview of %s takes time in proportion to its size', (_name, html) => {
  const once = leastCost(html(250 * KB));
  const twice = leastCost(html(500 * KB));
  expect(twice).toBeLessThan(MAX_RATIO * Math.max(once, NOISE_MS));
});
