import { describe, expect, it } from 'vitest';
import { contentOf, read, utf8 } from '../support/mails.ts';

describe('8-bit text whose charset is not told, or told wrongly,', () => {
  const DECLARED = ['', 'us-ascii', 'ASCII', '"no-such-charset"', 'unknown-8bit'];

  it.each(DECLARED)('as "%s", is UTF-8 where it is valid UTF-8, and else windows-1252', (charset) => {
    const type = `Content-Type: text/plain${charset === '' ? '' : `; charset=${charset}`}`;
    expect(contentOf(type, '', utf8('Prüfcode „555125“ 😀'), '').text).toBe('Prüfcode „555125“ 😀\n');
    expect(contentOf(type, '', 'Votre code v\xe9rif\x92: 555125 \x80', '').text).toBe(
      'Votre code vérif’: 555125 €\n',
    );
    const encoded = [type, 'Content-Transfer-Encoding: quoted-printable', '', 'v=E9rif =', ''];
    expect(contentOf(...encoded).text).toBe('vérif ');
  });

  it('has its code found', () => {
    const { summary } = read('Subject: x', '', 'Votre code v\xe9rif: 555125', '');
    expect(summary.codes).toMatchObject([{ value: '555125', context: 'Votre code vérif: 555125' }]);
  });

  it('is read as declared where the charset is known, whatever the bytes look like', () => {
    const type = (charset: string) => `Content-Type: text/plain; charset=${charset}`;
    expect(contentOf(type('iso-8859-1'), '', utf8('é'), '').text).toBe('Ã©\n');
    expect(contentOf(type('cp932'), '', '\x83R\x81[\x83h', '').text).toBe('コード\n');
    expect(contentOf(type('utf-8'), '', 'v\xe9rif', '').text).toBe('v\ufffdrif\n');
  });

  it('in a page is what the page itself says', () => {
    const page = (charset: string) =>
      `<html><head><META charset=${charset}></head>\xcf\xf0\xe8\xe2\xe5\xf2</html>`;
    expect(contentOf('Content-Type: text/html', '', page('windows-1251'), '').html).toContain('Привет');
    expect(contentOf('Content-Type: text/html', '', page('nonsense'), '').html).toContain('Ïðèâåò');
  });

  it('in fields of a header is read the same way, names of people and of files too', () => {
    for (const as of [utf8, (text: string) => text]) {
      const mail = read(
        `Subject: ${as('Vérification')}`,
        `From: ${as('André')} <a@sender.test>`,
        `Content-Type: application/pdf; name="${as('reçu.pdf')}"`,
        ...['', 'x', ''],
      );
      expect(mail.summary).toMatchObject({ subject: 'Vérification', from: { name: 'André' } });
      expect(mail.content.attachments).toMatchObject([{ filename: 'reçu.pdf' }]);
    }
  });

  it('in encoded words is read the same way', () => {
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
      const { summary } = read(`Subject: ${encoded}`, `From: ${encoded} <a@b.test>`, '', '');
      expect(summary, encoded).toMatchObject({ subject: 'café', from: { name: 'café' } });
    }
  });
});
