import { describe, expect, it } from 'vitest';
import { findCodes } from '../../../src/mail/extract/codes.ts';
import { readHtml } from '../../../src/mail/extract/html.ts';
import { findLinks } from '../../../src/mail/extract/links.ts';
import { parseMail } from '../../../src/mail/parse.ts';
import CASES from './digits.json' with { type: 'json' };

const INVISIBLE = [
  ...['\u00ad', '\u034f', '\u061c', '\u180e', '\u200b', '\u200c', '\u200d', '\u200e', '\u200f', '\u202a'],
  ...['\u202b', '\u202c', '\u202d', '\u202e', '\u2060', '\u2066', '\u2067', '\u2068', '\u2069', '\ufeff'],
  ...['\u115f', '\u17b5', '\u2065', '\u3164', '\uffa0'],
].map((character) => [`U+${character.charCodeAt(0).toString(16).padStart(4, '0')}`, character] as const);

const utf8Mail = (subject: string, body: string, type = 'text/plain') =>
  Buffer.from(`Subject: ${subject}\r\nContent-Type: ${type}; charset=utf-8\r\n\r\n${body}\r\n`);
const codes = (raw: Uint8Array) => parseMail(raw).summary.codes.map(({ value }) => value);

describe.each(INVISIBLE)('%s, which is not shown,', (_, unseen) => {
  it('does not hide a code in a text, and the text is shown as sent', () => {
    const line = `Your verification code is 48${unseen}29${unseen}10${unseen}.`;
    expect(codes(utf8Mail('Hello', line))).toEqual(['482910']);
    expect(parseMail(utf8Mail('Hello', line)).content.text).toBe(`${line}\n`);
  });

  it('does not hide a code in a page, as a character or as an entity', () => {
    for (const one of [unseen, `&#${unseen.charCodeAt(0)};`]) {
      const page = `<p>Your verification code:</p><b>482${one}910</b>`;
      expect(codes(utf8Mail('Hello', page, 'text/html'))).toEqual(['482910']);
    }
  });

  it('does not hide a code or the word for it in a subject', () => {
    expect(codes(utf8Mail(`Your c${unseen}ode: K7Q${unseen}2M9`, 'Hi'))).toEqual(['K7Q2M9']);
    expect(codes(utf8Mail(`Your c${unseen}ode`, `\r\n482${unseen}910\r\n`))).toEqual(['482910']);
  });

  it('ends no link in a text, where it stands at its end', () => {
    for (const end of [unseen, `.${unseen}`, `${unseen}${unseen})`, `${unseen} and more`]) {
      const [link] = findLinks(`Open https://x.example/a?b=1${end}`, null, '');
      expect(link?.href).toBe('https://x.example/a?b=1');
    }
  });
});

describe('a link with invisible characters', () => {
  it('in a text keeps those within, as the URL standard does: a click sends them', () => {
    const [link] = findLinks('https://fa.example/می\u200cخواهم\u200b', null, '');
    expect(link?.href).toBe('https://fa.example/می\u200cخواهم');
  });

  it('in a text ends at a mark of writing direction, which is no part of an address', () => {
    const text = 'קישור: \u2066https://x.example/a\u2069ועוד';
    expect(findLinks(text, null, '').map(({ href }) => href)).toEqual(['https://x.example/a']);
  });

  it('in a page is as a browser would open it: invisible characters stay, blanks and line breaks go', () => {
    const hrefs = (attribute: string) =>
      findLinks(null, readHtml(`<a href="${attribute}">Go</a>`), '').map(({ href }) => href);
    expect(hrefs('https://x.example/a&#x200b;')).toEqual(['https://x.example/a\u200b']);
    const broken = ' \t&#1;https://x.example/\r\n  verify?\tb=1\n ';
    expect(hrefs(broken)).toEqual(['https://x.example/  verify?b=1']);
    expect(new URL(broken.replace('&#1;', '\u0001')).href).toBe(new URL(hrefs(broken)[0] ?? '').href);
    expect(hrefs('https://x.example/a&nbsp;')).toEqual(['https://x.example/a\u00a0']);
  });
});

describe('digits that are not those of ASCII', () => {
  it.each(CASES.digits)('%s ones make the same code', (_, digits) => {
    expect(findCodes('', `Your code: ${digits}`, null).map(({ value }) => value)).toEqual(['482910']);
  });
});
