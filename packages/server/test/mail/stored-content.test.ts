import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseHeaderOnly, parseMail } from '../../src/mail/parse.ts';
import {
  contentJson,
  MAX_DERIVED_BYTES,
  MAX_STORED_BYTES,
  readContent,
  readWords,
  type StoredContent,
} from '../../src/mail/stored-content.ts';
import { anyBytes } from './support/any-bytes.ts';
import { boundedBy, bytes, multipart, utf8 } from './support/mails.ts';

const html = (...header: string[]) => ['Content-Type: text/html', ...header, '', '<p>page</p>'];
const MAILS: Record<string, Buffer> = {
  'no page': bytes('Subject: x', '', 'text', ''),
  'one page': bytes('Subject: x', ...multipart('alternative', ['', 'text'], html())),
  'two pages': bytes(...multipart('mixed', html(), html())),
  'a page in quoted-printable and windows-1251': bytes(
    ...multipart('mixed', html('Content-Transfer-Encoding: quoted-printable'), [
      'Content-Type: text/html; charset=windows-1251',
      'Content-Transfer-Encoding: quoted-printable',
      '',
      '=CF=F0=E8=',
      '=E2=E5=F2',
    ]),
  ),
  'a page without a charset': bytes('Content-Type: text/html', '', 'caf\xe9 <meta charset=koi8-r>\0', ''),
  'a page in UTF-8 with a mark': bytes('Content-Type: text/html; charset=utf-8', '', utf8('\ufeffé'), ''),
  'a page that is an attachment': bytes(
    ...multipart('mixed', ['', 'text'], html('Content-Disposition: attachment')),
  ),
  'pages within each other': bytes(...multipart('mixed', boundedBy('in', 'related', html()), ['', 'text'])),
  'headers of all kinds': bytes(
    'Subject: =?utf-8?q?caf=C3=A9?=',
    'junk',
    'X: \xe9',
    'Received: a',
    '\tb',
    '',
    '',
  ),
  nothing: Buffer.alloc(0),
};

/** What is read back of what would be stored. */
async function stored(raw: Buffer) {
  const mail = parseMail(raw);
  const kept = JSON.parse(contentJson(mail, raw.length)) as StoredContent;
  return { mail, kept, back: await readContent(kept, raw) };
}

describe('a content that is stored', () => {
  it.each(Object.entries(MAILS))('is the same when it is read: %s', async (_, raw) => {
    const { mail, back } = await stored(raw);
    expect(back.content).toEqual(mail.content);
    expect(back.index).toEqual(mail.index);
  });

  it('is the same when it is read, of any mail', async () => {
    await fc.assert(
      fc.asyncProperty(anyBytes, async (raw) => {
        const { mail, back } = await stored(raw);
        expect(back.content).toEqual(mail.content);
      }),
      { numRuns: 500 },
    );
  });

  it('has no copies of what the raw source of a small mail has', async () => {
    const { kept } = await stored(MAILS['one page'] ?? Buffer.alloc(0));
    expect(kept).not.toHaveProperty('html');
    expect(kept).not.toHaveProperty('headers');
    expect(kept.text).toBe('text');
  });

  it('has them for a large mail, whose raw source is not read with it', async () => {
    const large = multipart('mixed', html(), ['', 'x'.repeat(MAX_DERIVED_BYTES)]);
    const { mail, kept, back } = await stored(bytes(...large));
    expect(kept.html).toBe('<p>page</p>');
    expect(back.content).toEqual(mail.content);
    expect(back.index).toEqual(mail.index);
  });

  it('takes at most 2 MiB of any mail, and the text that is left out is read from the raw source', async () => {
    const raw = bytes(...multipart('mixed', html(), ['', `needle${'x\r\n'.repeat(2_000_000)}haystack`]));
    const { mail, kept, back } = await stored(raw);
    expect(JSON.stringify(kept).length).toBeLessThanOrEqual(MAX_STORED_BYTES);
    expect(kept).not.toHaveProperty('text');
    expect(back.content.text).toBe(mail.content.text);
    const words = await readWords(kept, async () => ({ raw }));
    expect(words.text).toBe(mail.content.text);
    expect(words.links).toEqual(mail.content.links);
  });

  it('has them where the mail could not be read', async () => {
    const raw = bytes('Subject: x', ...multipart('mixed', html()));
    const mail = parseHeaderOnly(raw, 'why');
    const kept = JSON.parse(contentJson(mail, raw.length)) as StoredContent;
    expect(await readContent(kept, raw)).toEqual({ content: mail.content, index: null });
  });
});
