import { describe, expect, it } from 'vitest';
import { parseMail } from '../../../src/mail/parse.ts';

const bytes = (...lines: string[]) => Buffer.from(lines.join('\r\n'), 'latin1');
const read = async (...lines: string[]) => (await parseMail(bytes(...lines))).content;
/** As one byte a character. */
const utf8 = (text: string) => Buffer.from(text).toString('latin1');

describe('a mail that is no proper message is read as mail programs read it', () => {
  it('one without any header is all text', async () => {
    const { text, headers } = await read('Your code is 482910', 'Note: it expires', '', 'Bye', '');
    expect(text).toBe('Your code is 482910\nNote: it expires\n\nBye\n');
    expect(headers).toEqual([]);
  });

  it('one without any header but the line of the server that received it, too', async () => {
    const { text, headers } = await read('Received: from a', '\tby b; c', 'Your code is 482910', '');
    expect(text).toBe('Your code is 482910\n');
    expect(headers.map(({ name }) => name)).toEqual(['Received']);
  });

  it('one that lacks the empty line behind its header has text from the first line that is no field', async () => {
    const { summary, content } = await parseMail(bytes('Subject: Hi', 'Your code is 482910', 'X: y', ''));
    expect(summary).toMatchObject({ subject: 'Hi', codes: [{ value: '482910' }] });
    expect(content.text).toBe('Your code is 482910\nX: y\n');
  });

  it('a part that lacks its empty line has text, and a multipart its parts', async () => {
    const mail = await read('Content-Type: multipart/mixed; boundary=b', '--b', 'hello there', '--b--', '');
    expect(mail).toMatchObject({ text: 'hello there', attachments: [] });
  });

  it('what mailbox files and editors put in front, and a blank before the colon, end no header', async () => {
    const from = 'From ada@sender.test Sat Nov 21 10:51:34 2026';
    expect(await parseMail(bytes(from, 'Subject : Hi', '', 'x', ''))).toMatchObject({
      summary: { subject: 'Hi' },
      content: { text: 'x\n' },
    });
    const marked = await parseMail(bytes('\xef\xbb\xbfX: y', 'Subject: Hi', '', 'x', ''));
    expect(marked).toMatchObject({ summary: { subject: 'Hi' }, content: { text: 'x\n' } });
    expect((await read('From now on it is 10:51', '')).text).toBe('From now on it is 10:51\n');
  });

  it('one that has only a header has neither text nor html, with the empty line and without', async () => {
    for (const lines of [['Subject: x', ''], ['Subject: x', '', ''], ['Subject: x'], ['']]) {
      expect(await read(...lines)).toMatchObject({ text: null, html: null, attachments: [] });
    }
    expect((await read('Subject: x', '', '', '')).text).toBe('\n');
  });
});

describe('8-bit text whose charset is not told, or told wrongly,', () => {
  const DECLARED = ['', 'us-ascii', 'ASCII', '"no-such-charset"', 'unknown-8bit'];

  it.each(DECLARED)('as "%s", is UTF-8 where it is valid UTF-8, and else windows-1252', async (charset) => {
    const type = `Content-Type: text/plain${charset === '' ? '' : `; charset=${charset}`}`;
    expect((await read(type, '', utf8('Prüfcode „555125“ 😀'), '')).text).toBe('Prüfcode „555125“ 😀\n');
    expect((await read(type, '', 'Votre code v\xe9rif\x92: 555125 \x80', '')).text).toBe(
      'Votre code vérif’: 555125 €\n',
    );
    const encoded = [type, 'Content-Transfer-Encoding: quoted-printable', '', 'v=E9rif =', ''];
    expect((await read(...encoded)).text).toBe('vérif ');
  });

  it('has its code found', async () => {
    const { summary } = await parseMail(bytes('Subject: x', '', 'Votre code v\xe9rif: 555125', ''));
    expect(summary.codes).toMatchObject([{ value: '555125', context: 'Votre code vérif: 555125' }]);
  });

  it('is read as declared where the charset is known, whatever the bytes look like', async () => {
    const type = (charset: string) => `Content-Type: text/plain; charset=${charset}`;
    expect((await read(type('iso-8859-1'), '', utf8('é'), '')).text).toBe('Ã©\n');
    expect((await read(type('cp932'), '', '\x83R\x81[\x83h', '')).text).toBe('コード\n');
    expect((await read(type('utf-8'), '', 'v\xe9rif', '')).text).toBe('v\ufffdrif\n');
  });

  it('in a page is what the page itself says', async () => {
    const page = (charset: string) =>
      `<html><head><META charset=${charset}></head>\xcf\xf0\xe8\xe2\xe5\xf2</html>`;
    expect((await read('Content-Type: text/html', '', page('windows-1251'), '')).html).toContain('Привет');
    expect((await read('Content-Type: text/html', '', page('nonsense'), '')).html).toContain('Ïðèâåò');
  });

  it('in fields of a header is read the same way, names of people and of files too', async () => {
    for (const as of [utf8, (text: string) => text]) {
      const mail = await parseMail(
        bytes(
          `Subject: ${as('Vérification')}`,
          `From: ${as('André')} <a@sender.test>`,
          `Content-Type: application/pdf; name="${as('reçu.pdf')}"`,
          '',
          'x',
          '',
        ),
      );
      expect(mail.summary).toMatchObject({ subject: 'Vérification', from: { name: 'André' } });
      expect(mail.content.attachments).toMatchObject([{ filename: 'reçu.pdf' }]);
    }
  });

  it('in encoded words is read the same way', async () => {
    for (const [charset, word] of [
      ...[
        ['unknown-8bit', 'caf=C3=A9'],
        ['us-ascii', 'caf=C3=A9'],
        ['us-ascii*fr', 'caf=C3=A9'],
      ],
      ...[
        ['unknown-8bit', 'caf=E9'],
        ['us-ascii', 'caf=E9'],
        ['utf-8', 'caf=C3=A9'],
      ],
    ]) {
      const encoded = `=?${charset}?Q?${word}?=`;
      const { summary } = await parseMail(
        bytes(`Subject: ${encoded}`, `From: ${encoded} <a@b.test>`, '', ''),
      );
      expect(summary, encoded).toMatchObject({ subject: 'café', from: { name: 'café' } });
    }
  });
});
