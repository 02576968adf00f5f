import { describe, expect, it } from 'vitest';
import { parseMail } from '../../../src/mail/parse.ts';
import { growth } from '../../support/growth.ts';

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

/** How much longer reading the second mail takes than reading the first. */
const growthOf = (small: Buffer, large: Buffer): number =>
  growth(
    () => parseMail(small),
    () => parseMail(large),
    { limit: LIMIT, noiseMs: NOISE_MS },
  );

describe('reading takes time in proportion to the size, whatever the mail holds', () => {
  it.each(Object.entries(BOMBS))('%s', (_, bomb) => {
    const mail = (bytes: number) => Buffer.from(bomb(bytes), 'latin1');
    expect(growthOf(mail(128 * KB), mail(512 * KB))).toBeLessThan(LIMIT);
  });
});

describe('a field of 10,000 encoded words', () => {
  it.each(['Subject', 'To', 'From', 'Cc'])('%s is read in about four times the time of 2,500', (name) => {
    const mail = (words: number) => {
      const pair = '=?utf-8?b?w6TDtsO8?= =?iso-8859-1?q?=E4_b?= ';
      return Buffer.from(`${name}: ${pair.repeat(words / 2)}<a@b.test>\r\n\r\nx\r\n`);
    };
    const source = mail(10_000);
    expect(growthOf(mail(2_500), source)).toBeLessThan(LIMIT);
    expect(parseMail(source).content.headers[0]?.value).toContain('äöü');
  });
});
