import { describe, expect, it } from 'vitest';
import { findCodes } from '../../src/mail/extract/codes.ts';
import { readHtml, wordsOnlyInPage } from '../../src/mail/extract/html.ts';
import { findLinks } from '../../src/mail/extract/links.ts';
import { lintMail } from '../../src/mail/lint/lint.ts';
import { NO_CONTENT } from '../../src/mail/mail.ts';
import { ComparedContent } from '../../src/mail/matching/compared-content.ts';
import { parseMail } from '../../src/mail/parse.ts';
import { previewPage } from '../../src/mail/preview/preview.ts';
import { contentJson } from '../../src/mail/stored-content.ts';
import { nearest } from '../../src/text/nearest.ts';
import { BOMBS } from '../hostile/bombs.ts';
import { cpuTime, expectLinear } from '../support/growth.ts';

/*
 * Work that takes a careless reader the square of the size. Ratios of CPU times: on a machine that is busy with other
 * things they vary, so these tests run in `npm run test:all` only.
 */

const MB = 1_000_000;
/** Ten times the CPU time of 1 MB of the slowest mail, milliseconds. */
const MAX_MS_PER_MB = 1_000;
const times = (text: string, bytes: number) => text.repeat(Math.ceil(bytes / text.length));

describe('reading takes time in proportion to the size, whatever the mail holds, and at most 1 s of CPU a MB', () => {
  const read = (source: Buffer) => {
    const mail = parseMail(source);
    return contentJson(mail, source.length, Buffer.byteLength(JSON.stringify(mail.summary)));
  };

  it.each(BOMBS)('$name', ({ mail }) => {
    const large = mail(2 * MB);
    expectLinear(read, mail(MB / 8), large);
    expect(cpuTime(() => read(large))).toBeLessThan(2 * MAX_MS_PER_MB);
  });

  it.each(['Subject', 'To', 'From', 'Cc'])('encoded words in the field %s', (name) => {
    const mail = (words: number) => {
      const pair = '=?utf-8?b?w6TDtsO8?= =?iso-8859-1?q?=E4_b?= ';
      return Buffer.from(`${name}: ${pair.repeat(words / 2)}<a@b.test>\r\n\r\nx\r\n`);
    };
    expectLinear(parseMail, mail(1_000), mail(16_000));
    expect(parseMail(mail(16_000)).content.headers[0]?.value).toContain('äöü');
  });
});

describe('codes and links are found in time proportional to the size', () => {
  const both = (unit: string) => [times(unit, MB / 16), times(unit, MB)] as const;

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
  it.each(BOMBS)('$name', ({ mail }) => {
    expectLinear(lintMail, mail(20_000), mail(320_000));
    expect(Buffer.byteLength(JSON.stringify(lintMail(mail(300_000))))).toBeLessThan(100_000);
  });
});

describe('the preview of a page takes time in proportion to its size', () => {
  const pageOf = (mail: Buffer) => parseMail(mail).content.html;
  const preview = (page: string) => previewPage(page, () => 'https://mayfly.test/preview/pv_1/att_1');

  it.each(BOMBS.filter(({ mail }) => pageOf(mail(5_000))))('$name', ({ mail }) => {
    expectLinear(preview, pageOf(mail(32_000)) ?? '', pageOf(mail(512_000)) ?? '');
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
    expectLinear(compare, text(4_000), text(64_000));
  });
});

it('the nearest known name is found as fast for a name a thousand times too long as for the longest', () => {
  const known = Array.from({ length: 300 }, (_, index) => `${'ab'.repeat(30)}${index}`);
  // Comparing it would take a thousand times as long, and no more than 16 times is allowed here.
  expectLinear((given: string) => nearest(given, known), 'ba'.repeat(32), 'ba'.repeat(32_000));
});

it('the words of a page that its text lacks are not searched for long, and what is left is kept', () => {
  const mail = (lines: number) => ({
    text: 'a'.repeat(64 * lines),
    page: `${'a'.repeat(60)}b\n`.repeat(lines),
  });
  const find = ({ text, page }: ReturnType<typeof mail>) => wordsOnlyInPage(text, page);
  expect(find(mail(4_000))).toContain('ab');
  expectLinear(find, mail(250), mail(4_000));
});
