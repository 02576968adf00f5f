import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lintMail } from '../../../src/mail/lint/lint.ts';
import { bytes, contentOf, read, servedBytes, utf8 } from '../support/mails.ts';
import UUENCODED from './uuencoded.json' with { type: 'json' };

/** Lines of data without their trailing blanks, and the bytes, one a character. */
const CASES = UUENCODED as [string, string[], string][];

/** As uuencode(1) writes it with blanks for zeros. */
function uuencoded(data: Uint8Array): string[] {
  const lines = ['begin 644 data.bin'];
  for (let at = 0; at < data.length; at += 45) {
    const piece = data.subarray(at, at + 45);
    let line = String.fromCharCode(32 + piece.length);
    for (let i = 0; i < piece.length; i += 3) {
      const bits = ((piece[i] ?? 0) << 16) | ((piece[i + 1] ?? 0) << 8) | (piece[i + 2] ?? 0);
      for (const shift of [18, 12, 6, 0]) line += String.fromCharCode(32 + ((bits >> shift) & 63));
    }
    lines.push(line);
  }
  return [...lines, ' ', 'end', ''];
}
const withoutTrailingBlanks = (lines: string[]) => lines.map((line) => line.replace(/ +$/, ''));
const UU = [
  'Content-Type: application/octet-stream',
  'Content-Disposition: attachment; filename=data.bin',
  'Content-Transfer-Encoding: x-uuencode',
  '',
];
const uuBytes = (lines: string[], lineEnd = '\r\n') =>
  servedBytes(Buffer.from([...UU, ...lines].join(lineEnd), 'latin1'));

describe('uuencoded data whose lines lost their trailing blanks', () => {
  it.each(CASES)('%s, is filled with zeros', (_, lines, expected) => {
    for (const lineEnd of ['\r\n', '\n']) expect(uuBytes(lines, lineEnd).toString('latin1')).toBe(expected);
  });

  it('is what was encoded, whatever it was', () => {
    const sparse = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 255 })), { maxLength: 200 });
    fc.assert(
      fc.property(sparse, (values) => {
        const data = Uint8Array.from(values);
        const lines = uuencoded(data);
        expect([...uuBytes(lines)]).toEqual(values);
        expect([...uuBytes(withoutTrailingBlanks(lines))]).toEqual(values);
      }),
    );
  });

  it('is text without control characters where it is the body', () => {
    const lines = uuencoded(Buffer.from('Your code is 482910\n'));
    const type = ['Content-Type: text/plain', 'Content-Transfer-Encoding: uuencode', ''];
    expect(contentOf(...type, ...withoutTrailingBlanks(lines)).text).toBe('Your code is 482910\n');
  });
});

describe('text declared as ISO-2022-JP', () => {
  const JIS = 'Content-Type: text/plain; charset=iso-2022-jp';
  /** "確認" and "コード" with their escape sequences. */
  const CHECK = "\x1b$B3NG'\x1b(B";
  const CODE = '\x1b$B%3!<%I\x1b(B';
  const rules = (...lines: string[]) => lintMail(bytes(...lines)).findings.map(({ rule }) => rule);

  it('that has 8-bit bytes is UTF-8, and lint says so', () => {
    for (const type of [JIS, JIS.toUpperCase(), `${JIS.slice(0, -11)}"ISO-2022-JP"`]) {
      const lines = [type, '', utf8('確認コードは 482910 です'), ''];
      expect(contentOf(...lines).text).toBe('確認コードは 482910 です\n');
      expect(rules(...lines)).toContain('wrong-charset');
    }
    const encoded = [JIS, 'Content-Transfer-Encoding: base64', ''];
    const body = Buffer.from('確認コードは 482910 です').toString('base64');
    expect(contentOf(...encoded, body, '').text).toBe('確認コードは 482910 です');
    expect(rules(...encoded, body, '')).toContain('wrong-charset');
  });

  it('that has 8-bit bytes in a page, a field or an encoded word is UTF-8', () => {
    const html = [JIS.replace('plain', 'html'), '', utf8('<p>確認'), ''];
    expect(contentOf(...html).html).toBe('<p>確認\n');
    const word = `=?iso-2022-jp?B?${Buffer.from('確認').toString('base64')}?=`;
    const { summary } = read(`Subject: ${word}`, `From: ${word} <a@b.test>`, '', '');
    expect(summary).toMatchObject({ subject: '確認', from: { name: '確認' } });
  });

  it('is what it is declared to be where all bytes have 7 bits', () => {
    expect(contentOf(JIS, '', `${CHECK}${CODE} 482910`, '').text).toBe('確認コード 482910\n');
    expect(rules(JIS, '', `${CHECK}${CODE} 482910`, '')).not.toContain('wrong-charset');
    expect(contentOf(JIS, '', 'only ASCII', '').text).toBe('only ASCII\n');
    const word = `=?iso-2022-jp?B?${Buffer.from(CHECK, 'latin1').toString('base64')}?=`;
    expect(read(`Subject: ${word}`, '', '').summary.subject).toBe('確認');
  });
});
