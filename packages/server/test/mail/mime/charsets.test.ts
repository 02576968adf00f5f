import { describe, expect, it } from 'vitest';
import { parseMail } from '../../../src/mail/parse.ts';
import { bytes, contentOf, read, utf8 } from '../support/mails.ts';
import CASES from './charsets.json' with { type: 'json' };

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

const utf16 = (text: string) => Buffer.from(text, 'utf16le');
const utf32 = (text: string, isBigEndian: boolean) => {
  const bytes = Buffer.from(Uint32Array.from(text, (character) => character.codePointAt(0) ?? 0).buffer);
  return isBigEndian ? bytes.swap32() : bytes;
};

describe('charsets that no browser knows are decoded', () => {
  it.each(CASES.charsets)('%s', (charset, body, text) => {
    expect(textOf(charset, body)).toBe(text);
  });

  it('utf-16, ucs-2 and utf-32, with a byte order mark or without', () => {
    const text = 'Prüfcode 482910 😀';
    const marked = `\ufeff${text}`;
    for (const name of ['utf-16', 'utf-16le', 'ucs-2', 'iso-10646-ucs-2'])
      for (const one of [text, marked]) expect(textOf(name, utf16(one)), name).toBe(text);
    for (const name of ['utf-16', 'utf-16be', 'ucs-2', 'ucs-2be'])
      for (const one of [text, marked]) expect(textOf(name, utf16(one).swap16()), name).toBe(text);
    for (const name of ['utf-32', 'ucs-4'])
      for (const isBigEndian of [false, true])
        expect(textOf(name, utf32(marked, isBigEndian)), name).toBe(text);
    expect(textOf('utf-32le', utf32(text, false))).toBe(text);
    expect(textOf('utf-32be', utf32(text, true))).toBe(text);
  });

  it('the byte order mark of UTF-8 is no letter of the text', () => {
    expect(textOf('utf-8', '\xef\xbb\xbfcode')).toBe('code');
  });

  it('names of things that are no charset are no charset', () => {
    for (const name of ['hex', 'base64', 'binary', 'replacement', '__proto__', 'toString', ' '])
      expect(textOf(name, 'caf\xc3\xa9'), name).toBe('café');
  });

  it('bytes that the charset does not have are shown as such, and nothing is lost behind them', () => {
    const bodies = ['+', '+/', '~{', '~', '\x0e\xff', '\x1b', '~{\x00\xff~}', '\xff', '+AAA', 'a\x0e!'];
    for (const name of ['utf-7', 'iso-2022-kr', 'hz', 'utf-32', 'utf-16', 'cp437'])
      for (const body of bodies) expect(textOf(name, body)?.isWellFormed(), `${name} ${body}`).toBe(true);
    expect(textOf('hz', 'a ~{VP ~} b')).toMatch(/^a 中.* b$/);
    expect(textOf('iso-2022-kr', '\x0e>H3\x0f end')).toMatch(/ end$/);
  });
});

describe('encoded words (RFC 2047)', () => {
  it.each(CASES.encodedWords)('%j is %j', (written, text) => {
    expect(subjectOf(written)).toBe(text);
  });

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

/** Names that say nothing about 8-bit bytes. */
const VAGUE = [
  '',
  ...['us-ascii', 'ASCII', '"no-such-charset"', 'unknown-8bit'].map((name) => `; charset=${name}`),
];

describe('UTF-8 that was cut in the middle of a character', () => {
  it.each(CASES.cut)('keeps its good part: %s', (shown, cut) => {
    const written = shown.split('\ufffd').map(utf8).join(cut);
    for (const charset of [...VAGUE, '; charset=utf-8'])
      expect(contentOf(`Content-Type: text/plain${charset}`, '', written).text, charset).toBe(shown);
    const { summary } = read(`Subject: ${written}`, `From: "${written}" <a@b.test>`, '', 'x', '');
    expect(summary).toMatchObject({ subject: shown, from: { name: shown } });
  });

  it('keeps its good part in an encoded word and in a file name', () => {
    expect(subjectOf('=?utf-8?Q?Gr=C3=BC=C3?=')).toBe('Grü\ufffd');
    expect(subjectOf('=?us-ascii?Q?Gr=C3=BC=C3?=')).toBe('Grü\ufffd');
    for (const filename of [`filename*=utf-8''re%C3%A7u%C3`, 'filename="re\xc3\xa7u\xc3"']) {
      const header = ['Content-Type: application/pdf', `Content-Disposition: attachment; ${filename}`];
      expect(contentOf(...header, '', 'x', '').attachments[0]?.filename).toBe('reçu\ufffd');
    }
  });

  it.each(CASES.windows1252)(
    'is not seen in windows-1252, whose last letter looks like the start of a character: %s',
    (written, text) => {
      expect(contentOf('Content-Type: text/plain', '', written).text).toBe(text);
      expect(subjectOf(written)).toBe(text);
    },
  );
});

describe('8-bit text whose charset is not told, or told wrongly,', () => {
  it.each(VAGUE)('is UTF-8 where it is valid UTF-8, and else windows-1252: "%s"', (charset) => {
    const type = `Content-Type: text/plain${charset}`;
    const text = 'Prüfcode „555125“ 😀';
    expect(contentOf(type, '', utf8(text)).text).toBe(text);
    const western = 'Votre code v\xe9rif\x92: 555125 \x80';
    expect(contentOf(type, '', western).text).toBe('Votre code vérif’: 555125 €');
    const encoded = [type, 'Content-Transfer-Encoding: quoted-printable', '', 'v=E9rif =', ''];
    expect(contentOf(...encoded).text).toBe('vérif ');
  });

  it('has its code found', () => {
    const { codes } = read('Subject: x', '', 'Votre code v\xe9rif: 555125', '').summary;
    expect(codes).toEqual([{ value: '555125', context: 'Votre code vérif: 555125' }]);
  });

  it.each([
    ['iso-8859-1', '\xc3\xa9', 'Ã©'],
    ['cp932', '\x83R\x81[\x83h', 'コード'],
    ['utf-8', 'v\xe9rif', 'v\ufffdrif'],
  ])(
    'is read as declared where the charset is known, whatever the bytes look like: %s',
    (charset, body, text) => {
      expect(textOf(charset, body)).toBe(text);
    },
  );

  it.each([
    ['windows-1251', 'Привет'],
    ['nonsense', 'Ïðèâåò'],
  ])('in a page is what the page itself says: %s', (charset, text) => {
    const page = (words: string) => `<html><head><META charset=${charset}></head>${words}</html>`;
    expect(contentOf('Content-Type: text/html', '', page('\xcf\xf0\xe8\xe2\xe5\xf2')).html).toBe(page(text));
  });

  it('in fields of a header is read the same way, names of people and of files too', () => {
    for (const as of [utf8, (text: string) => text]) {
      const type = `Content-Type: application/pdf; name="${as('reçu')}.pdf"`;
      const fields = [`Subject: ${as('Vérification')}`, `From: ${as('André')} <a@b.test>`, type];
      const mail = read(...fields, '', 'x', '');
      expect(mail.summary).toMatchObject({ subject: 'Vérification', from: { name: 'André' } });
      expect(mail.content.attachments).toMatchObject([{ filename: 'reçu.pdf' }]);
    }
  });

  it.each(CASES.wordsOfVagueCharsets)('in encoded words is read the same way: %s', (word) => {
    const { summary } = read(`Subject: ${word}`, `From: ${word} <a@b.test>`, '', '');
    expect(summary).toMatchObject({ subject: 'café', from: { name: 'café' } });
  });
});
