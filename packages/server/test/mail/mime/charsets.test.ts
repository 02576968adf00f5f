import { describe, expect, it } from 'vitest';
import { parseMail } from '../../../src/mail/parse.ts';
import { bytes, contentOf, read } from '../support/mails.ts';

/** The text of a mail with that charset and body. */
function textOf(charset: string, body: Uint8Array | string): string | null {
  const head = bytes(
    `Content-Type: text/plain; charset=${charset}`,
    'Content-Transfer-Encoding: base64',
    '',
    Buffer.from(body as string, 'latin1').toString('base64'),
  );
  return parseMail(head).content.text;
}
const subjectOf = (value: string) => read(`Subject: ${value}`, '', '').summary.subject;

/** UTF-16 with the higher byte first, and UTF-32 in either order. */
const swapped = (text: string) => Buffer.from(text, 'utf16le').swap16();
const utf32 = (text: string, bigEndian: boolean) => {
  const out = Buffer.alloc(4 * [...text].length);
  [...text].forEach((character, i) => {
    const point = character.codePointAt(0) ?? 0;
    if (bigEndian) out.writeUInt32BE(point, 4 * i);
    else out.writeUInt32LE(point, 4 * i);
  });
  return out;
};

describe('charsets that no browser knows are decoded', () => {
  it.each([
    ['utf-7', 'Hi Mom -+Jjo--!', 'Hi Mom -☺-!'],
    ['UNICODE-1-1-UTF-7', 'A+ImIDkQ.', 'A≢Α.'],
    ['utf-7', 'caf+AOk- 1 +- 1', 'café 1 + 1'],
    ['iso-2022-kr', '\x1b$)C\x0e>H3g\x0f!\r\nabc', '안녕!\nabc'],
    ['hz-gb-2312', 'This: ~{<:Ky2;S{!#NpJ)l6HK!#~} Bye ~~', 'This: 己所不欲。勿施於人。 Bye ~'],
    ['hz', '~{VPND~}', '中文'],
    ['cp437', '\x81\x84\xe1', 'üäß'],
    ['IBM437', '\x81\x84\xe1', 'üäß'],
    ['cp850', '\x81\x84\xe1 \xb5', 'üäß Á'],
    ['ibm850', '\x81', 'ü'],
    ['cp949', '\xbe\xc8\xb3\xe7', '안녕'],
    ['x-windows-949', '\xbe\xc8', '안'],
    ['cp936', '\xd6\xd0', '中'],
    ['cp950', '\xa4\xa4', '中'],
    ['iso_8859_1', 'caf\xe9', 'café'],
    ['utf_8', 'caf\xc3\xa9', 'café'],
    ['utf8mb4', 'caf\xc3\xa9', 'café'],
    ['iso-2022-jp-2', '\x1b$B%3!<%I\x1b(B', 'コード'],
  ])('%s', (charset, body, text) => {
    expect(textOf(charset, body)).toBe(text);
  });

  it('utf-16, ucs-2 and utf-32, with a byte order mark or without', () => {
    const text = 'Prüfcode 482910 😀';
    for (const name of ['utf-16', 'utf-16le', 'ucs-2', 'iso-10646-ucs-2']) {
      expect(textOf(name, Buffer.from(text, 'utf16le').toString('latin1')), name).toBe(text);
      expect(textOf(name, Buffer.from(`\ufeff${text}`, 'utf16le').toString('latin1')), name).toBe(text);
    }
    for (const name of ['utf-16', 'utf-16be', 'ucs-2', 'ucs-2be']) {
      expect(textOf(name, swapped(text).toString('latin1')), name).toBe(text);
      expect(textOf(name, swapped(`\ufeff${text}`).toString('latin1')), name).toBe(text);
    }
    for (const name of ['utf-32', 'ucs-4']) {
      expect(textOf(name, utf32(`\ufeff${text}`, false).toString('latin1')), name).toBe(text);
      expect(textOf(name, utf32(`\ufeff${text}`, true).toString('latin1')), name).toBe(text);
    }
    expect(textOf('utf-32le', utf32(text, false).toString('latin1'))).toBe(text);
    expect(textOf('utf-32be', utf32(text, true).toString('latin1'))).toBe(text);
  });

  it('the byte order mark of UTF-8 is no letter of the text', () => {
    expect(textOf('utf-8', '\xef\xbb\xbfcode')).toBe('code');
  });

  it('names of things that are no charset are no charset', () => {
    for (const name of ['hex', 'base64', 'binary', 'replacement', '__proto__', 'toString', ' ']) {
      expect(textOf(name, 'caf\xc3\xa9'), name).toBe('café');
    }
  });

  it('bytes that the charset does not have are shown as such, and nothing is lost behind them', () => {
    for (const name of ['utf-7', 'iso-2022-kr', 'hz', 'utf-32', 'utf-16', 'cp437']) {
      for (const body of [
        '+',
        '+/',
        '~{',
        '~',
        '\x0e\xff',
        '\x1b',
        '~{\x00\xff~}',
        '\xff',
        '+AAA',
        'a\x0e!',
      ]) {
        const text = textOf(name, body);
        expect(typeof text === 'string' && text.isWellFormed(), `${name} ${body}`).toBe(true);
      }
    }
    expect(textOf('hz', 'a ~{VP ~} b')).toMatch(/^a 中.* b$/);
    expect(textOf('iso-2022-kr', '\x0e>H3\x0f end')).toMatch(/ end$/);
  });
});

describe('encoded words (RFC 2047)', () => {
  it('words beside bytes beyond ASCII keep both readable', () => {
    expect(subjectOf('caf\xe9 =?utf-8?q?caf=C3=A9?= caf\xc3\xa9')).toMatch(/^café café /);
  });

  it('a NUL, a line break or half a character in a word does no harm', () => {
    expect(subjectOf('=?utf-8?q?a=00b=0D=0Ac=C3?=')).toBe('ab c\ufffd');
    expect(subjectOf('=?utf-16?b?2D3YPQ==?=')).toMatch(/^.*$/);
  });
});

it('a page in a charset that only the page names is read in it', () => {
  const head = 'Content-Type: text/html';
  const body = '<meta http-equiv="Content-Type" content="text/html; charset=koi8-r">\xf0\xd2\xc9\xd7\xc5\xd4';
  expect(contentOf(head, '', body, '').html).toContain('Привет');
});
