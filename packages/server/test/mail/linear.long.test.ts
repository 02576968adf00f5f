import { describe, expect, it } from 'vitest';
import { findCodes } from '../../src/mail/extract/codes.ts';
import { readHtml, wordsOnlyInPage } from '../../src/mail/extract/html.ts';
import { findLinks } from '../../src/mail/extract/links.ts';
import { lintMail } from '../../src/mail/lint/lint.ts';
import { NO_CONTENT } from '../../src/mail/mail.ts';
import { ComparedContent } from '../../src/mail/matching/compared-content.ts';
import { parseMail } from '../../src/mail/parse.ts';
import { nearest } from '../../src/text/nearest.ts';
import { BOMBS as BOMBS_OF_LINT } from '../hostile/bombs.ts';
import { growth } from '../support/growth.ts';

/*
 * Work that takes a careless reader the square of the size. Ratios of CPU times: on a machine that is busy with other
 * things they vary, so these tests run in `npm run test:all` only.
 */

const KB = 1024;
const head = 'From: ada@sender.test\r\nSubject: bomb\r\n';
const times = (text: string, bytes: number) => text.repeat(Math.ceil(bytes / text.length));
const field =
  (name: string, unit: string, end = '') =>
  (bytes: number) =>
    `${head}${name}: ${times(unit, bytes)}${end}\r\n\r\nx\r\n`;
/** A multipart in a multipart and so on, whose boundaries each begin with the one before. */
const prefixes = Array.from({ length: 60 }, (_, i) => 'b'.repeat(i + 1));
const open = prefixes.map((b) => `Content-Type: multipart/mixed; boundary="${b}"\r\n\r\n--${b}\r\n`).join('');

/** Mails that would take a careless reader the square of their size. */
const BOMBS: Record<string, (bytes: number) => string> = {
  'fields without a value': (bytes) => `${times('a:\r\n', bytes)}${head}\r\nx`,
  'lines that are no field': (bytes) => `${head}${times('junk\r\n', bytes)}To: a@b.test\r\n\r\nx`,
  'folds of one field': field('X', 'a\r\n '),
  'carriage returns in a field': field('X', '\r'),
  'blanks in a field': field('X', ' '),
  'groups in groups': field('To', 'a:'),
  'encoded words': field('To', '=?utf-8?q?a=20b?= '),
  'encoded words beside each other': field('Subject', '=?utf-8?b?YWFh?='),
  'encoded words cut within a character': field('X', '=?utf-8?q?=C3?= =?utf-8?q?=A9?= '),
  'encoded words that are not closed': field('X', '=?utf-8?q?a '),
  'openings of encoded words': field('X', '=?'),
  'question marks': field('X', '=?utf-8?q??'),
  'charsets that do not exist': (bytes) =>
    `${head}X: ${Array.from({ length: bytes / 20 }, (_, i) => `=?cs-${i}?q?a=C3?=`).join(' ')}\r\n\r\nx`,
  'open comments': field('To', '('),
  'open quotes': field('To', '"a" "'),
  'quoted strings side by side': field('To', '"a"'),
  'open brackets': field('To', '<a,'),
  'brackets in brackets': field('To', '<'),
  'address literals': field('To', 'a@['),
  'dots beside blanks': field('To', 'a@b. '),
  commas: field('To', ','),
  'addresses without names': field('Cc', 'a@b.test, '),
  'message ids': field('References', '<a@b> '),
  'blanks in a content type': field('Content-Type', ' ', 'x'),
  'comments in a content type': field('Content-Type', 'a ('),
  parameters: field('Content-Type', 'a=b; '),
  'one parameter in pieces': (bytes) =>
    `${head}Content-Type: a/b; ${Array.from({ length: bytes / 12 }, (_, i) => `n*${i}*=%41`).join(';')}\r\n\r\nx`,
  'backslashes in a parameter': field('Content-Type', '\\"', '"'),
  'equals signs in quoted-printable': (bytes) =>
    `${head}Content-Transfer-Encoding: quoted-printable\r\n\r\n${times('= ', bytes)}`,
  'blanks in quoted-printable': (bytes) =>
    `${head}Content-Transfer-Encoding: quoted-printable\r\n\r\n${times(' ', bytes)}=`,
  'padding in base64': (bytes) => `${head}Content-Transfer-Encoding: base64\r\n\r\n${times('Q=', bytes)}`,
  'empty lines of uuencode': (bytes) =>
    `${head}Content-Type: a/b\r\nContent-Transfer-Encoding: x-uuencode\r\n\r\nbegin 644 x\r\n${times('!\n', bytes)}`,
  'empty parts': (bytes) =>
    `${head}Content-Type: multipart/mixed; boundary=b\r\n\r\n${times('--b\r\n', bytes)}`,
  'lines that are nearly delimiters': (bytes) => `${head}${open}${times(`--${'b'.repeat(61)}\r\n`, bytes)}`,
  'short lines that are nearly delimiters': (bytes) => `${head}${open}\r\n${times('--\n', bytes)}`,
  'one long line that is nearly a delimiter': (bytes) => `${head}${open}\r\n--b${times(' ', bytes)}x\r\n`,
  'delimiters that end outer parts': (bytes) => `${head}${times(open, bytes)}`,
  letters: (bytes) => `${head}\r\n${times('a', bytes)}`,
};

/** Four times the size takes sixteen times the time where something is quadratic. */
const LIMIT = 9;
/** Shorter times are noise, milliseconds. */
const NOISE_MS = 4;

/** Holds work to a time in proportion to its size. @param read does it with a small and a large input */
function expectLinear<T>(read: (input: T) => unknown, small: T, large: T): void {
  const limits = { limit: LIMIT, noiseMs: NOISE_MS };
  expect(
    growth(
      () => read(small),
      () => read(large),
      limits,
    ),
  ).toBeLessThan(LIMIT);
}

describe('reading takes time in proportion to the size, whatever the mail holds', () => {
  it.each(Object.entries(BOMBS))('%s', (_, bomb) => {
    const mail = (bytes: number) => Buffer.from(bomb(bytes), 'latin1');
    expectLinear(parseMail, mail(128 * KB), mail(512 * KB));
  });

  it.each(['Subject', 'To', 'From', 'Cc'])('encoded words in the field %s', (name) => {
    const mail = (words: number) => {
      const pair = '=?utf-8?b?w6TDtsO8?= =?iso-8859-1?q?=E4_b?= ';
      return Buffer.from(`${name}: ${pair.repeat(words / 2)}<a@b.test>\r\n\r\nx\r\n`);
    };
    expectLinear(parseMail, mail(2_500), mail(10_000));
    expect(parseMail(mail(10_000)).content.headers[0]?.value).toContain('äöü');
  });
});

describe('codes and links are found in time proportional to the size', () => {
  const both = (unit: string) => [times(unit, 256 * KB), times(unit, 1024 * KB)] as const;

  it.each([
    '7',
    '7 ',
    'A\t7\t',
    'A',
    ' ',
    '\n',
    'enter code ',
    'code 482910 ',
    '://',
    'a://',
    'a:// ',
    'https://x.test/1 ',
    'https://x.test/a完',
    ' [(',
    '[x](https://x.test/1)',
  ])('in a text of 1 MB of %j', (unit) => {
    const read = (text: string) => [findCodes('code', text, null), findLinks(text, null, '')];
    expectLinear(read, ...both(unit));
  });

  it.each([
    '<area href="https://x.test/1" alt="Confirm">',
    '<area',
    '<a href="https://x.test/1">',
    '<td>7',
    '<td>A</td><td>7</td>',
    '<input value="7 ">',
  ])('in a page of 1 MB of %j', (unit) => {
    const read = (html: string) => {
      const page = readHtml(html);
      return [findCodes('code', null, page.words), findLinks(null, page, '')];
    };
    expectLinear(read, ...both(unit));
  });
});

describe('a mail is checked in time in proportion to its size, and its findings are few', () => {
  it.each(BOMBS_OF_LINT)('$name', ({ mail }) => {
    expectLinear(lintMail, mail(75_000), mail(300_000));
    expect(Buffer.byteLength(JSON.stringify(lintMail(mail(300_000))))).toBeLessThan(100_000);
  });
});

describe('the text of a message is compared in time that grows with its length', () => {
  it.each([
    ['marks of one letter', '\u0301\u0323'],
    ['letters with marks', 'a\u0301\u0323'],
    ['marks of one kind', '\u0301'],
    ['vowel signs', '\u093f\u093c'],
    ['Hangul letters', '\u1112\u1161\u11ab'],
    ['ligatures', '\ufdfa'],
    ['spaces', ' \u00a0'],
    ['dotted capital letters', '\u0130'],
  ])('%s', (_, letters) => {
    const text = (count: number) => `a${letters.repeat(count)}`;
    const compare = (one: string) => new ComparedContent({ ...NO_CONTENT, text: one }).hasText('missing');
    expectLinear(compare, text(10_000), text(40_000));
  });
});

it('the nearest known name is found as fast for a name a thousand times too long as for the longest', () => {
  const known = Array.from({ length: 300 }, (_, index) => `${'ab'.repeat(30)}${index}`);
  // Comparing it would take a thousand times as long.
  expectLinear((given: string) => nearest(given, known), 'ba'.repeat(32), 'ba'.repeat(32_000));
});

it('the words of a page that its text lacks are not searched for long, and what is left is kept', () => {
  const mail = (lines: number) => ({
    text: 'a'.repeat(64 * lines),
    page: `${'a'.repeat(60)}b\n`.repeat(lines),
  });
  const find = ({ text, page }: ReturnType<typeof mail>) => wordsOnlyInPage(text, page);
  expect(find(mail(4_000))).toContain('ab');
  expectLinear(find, mail(1_000), mail(4_000));
});
