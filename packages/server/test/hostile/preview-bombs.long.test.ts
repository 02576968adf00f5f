import { expect, it } from 'vitest';
import { previewPage } from '../../src/mail/preview/preview.ts';
import { growth } from '../support/growth.ts';

const KB = 1_000;
/** Four times the size may take so many times as long; quadratic cost would be sixteen times. */
const LIMIT = 9;
/** Shorter times are mostly the garbage collector's, milliseconds of CPU. */
const NOISE_MS = 8;

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
  ['nested elements', (n) => '<div>'.repeat(n / 5)],
  ['svg elements that are never closed', (n) => '<svg>'.repeat(n / 5)],
  ['elements within svg elements', (n) => '<svg><p>'.repeat(n / 8)],
  ['nested tables', (n) => '<table><tr><td>'.repeat(n / 15)],
  ['forms and buttons', (n) => '<form><button><p>'.repeat(n / 17)],
  ['end tags', (n) => '<div>'.repeat(n / 10) + '</p>'.repeat(n / 8)],
  ['url( and blanks', (n) => `<style>${`url(${' '.repeat(2_000)}`.repeat(n / 2_004)}`],
];

it.each(BOMBS)('the preview of %s takes time in proportion to its size', (_name, html) => {
  const [small, large] = [html(125 * KB), html(500 * KB)];
  const preview = (page: string) => () => previewPage(page, () => 'https://mayfly.test/preview/pv_1/att_1');
  expect(growth(preview(small), preview(large), { limit: LIMIT, noiseMs: NOISE_MS })).toBeLessThan(LIMIT);
});
