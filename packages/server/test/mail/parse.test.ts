import { createHash } from 'node:crypto';
import fc from 'fast-check';
import MailComposer from 'nodemailer/lib/mail-composer';
import { describe, expect, it } from 'vitest';
import { attachmentBytes } from '../../src/mail/attachment.ts';
import type { ParsedMail } from '../../src/mail/mail.ts';
import { MAX_DEPTH, MAX_PARTS } from '../../src/mail/mime/mime.ts';
import { parseHeaderOnly, parseMail } from '../../src/mail/parse.ts';

const bytes = (...lines: string[]) => Buffer.from(lines.join('\r\n'), 'latin1');
const utf8 = (...lines: string[]) => Buffer.from(lines.join('\r\n'));
const sha256 = (data: Uint8Array | string) => createHash('sha256').update(data).digest('hex');

function multipart(subtype: string, ...parts: string[][]): string[] {
  const inner = parts.flatMap((part) => ['--b', ...part]);
  return ['MIME-Version: 1.0', `Content-Type: multipart/${subtype}; boundary=b`, '', ...inner, '--b--', ''];
}

describe('a mail of a mail library', () => {
  it('is read whole: people, bodies, attachments, inline pictures', async () => {
    const picture = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 255]);
    const raw = await new MailComposer({
      from: '"Lovelace, Ada" <ada@sender.test>',
      to: 'Calm <calm@mayfly.test>, other@mayfly.test',
      cc: 'cc@mayfly.test',
      replyTo: 'reply@sender.test',
      subject: 'Grüße aus Köln 👋',
      date: new Date('2026-11-21T10:00:00Z'),
      messageId: '<one@sender.test>',
      inReplyTo: '<zero@sender.test>',
      references: ['<a@sender.test>', '<zero@sender.test>'],
      text: 'Hallo Ada',
      html: '<p>Hallo <img src="cid:pic@x"></p>',
      attachments: [
        { filename: 'Rechnung für Ada.pdf', content: 'PDF', contentType: 'application/pdf' },
        { filename: 'pic.png', content: picture, cid: 'pic@x', contentDisposition: 'inline' },
      ],
    })
      .compile()
      .build();
    const { summary, content, parseError } = await parseMail(raw);
    expect(parseError).toBeNull();
    expect(summary).toMatchObject({
      from: { address: 'ada@sender.test', name: 'Lovelace, Ada' },
      to: [
        { address: 'calm@mayfly.test', name: 'Calm' },
        { address: 'other@mayfly.test', name: '' },
      ],
      cc: [{ address: 'cc@mayfly.test', name: '' }],
      subject: 'Grüße aus Köln 👋',
      preview: 'Hallo Ada',
      attachmentCount: 2,
    });
    expect(content).toMatchObject({
      replyTo: [{ address: 'reply@sender.test', name: '' }],
      date: '2026-11-21T10:00:00.000Z',
      rfcMessageId: '<one@sender.test>',
      inReplyTo: '<zero@sender.test>',
      references: ['<a@sender.test>', '<zero@sender.test>'],
      text: 'Hallo Ada',
      html: '<p>Hallo <img src="cid:pic@x"></p>',
      htmlWords: null,
    });
    const byName = new Map(content.attachments.map((one) => [one.filename, one]));
    expect(byName.get('Rechnung für Ada.pdf')).toMatchObject({
      contentType: 'application/pdf',
      size: 3,
      disposition: 'attachment',
      contentId: null,
      sha256: sha256('PDF'),
    });
    expect(byName.get('pic.png')).toMatchObject({
      disposition: 'inline',
      contentId: 'pic@x',
      sha256: sha256(picture),
    });
    for (const { id, sha256: listed } of content.attachments) {
      expect(sha256((await attachmentBytes(raw, id)) ?? '')).toBe(listed);
    }
    expect(await attachmentBytes(raw, 'att_9')).toBeUndefined();
  });

  it('is read alike from shared memory', async () => {
    const raw = bytes('From: a@b.test', 'Subject: x', '', 'text', '');
    const shared = new Uint8Array(new SharedArrayBuffer(raw.length));
    shared.set(raw);
    expect(await parseMail(shared)).toEqual(await parseMail(raw));
  });
});

describe('text and html are as sent', () => {
  it('html alone has no text, and its words are kept for the filter', async () => {
    const { content } = await parseMail(
      bytes('Content-Type: text/html', '', '<p>Hi <b>there</b></p><style>x</style>', ''),
    );
    expect(content).toMatchObject({
      text: null,
      html: '<p>Hi <b>there</b></p><style>x</style>\n',
      htmlWords: 'Hi there',
    });
  });

  it('text alone has no html', async () => {
    const { content } = await parseMail(bytes('Subject: x', '', 'Hi <there>', ''));
    expect(content).toMatchObject({ text: 'Hi <there>\n', html: null, htmlWords: null });
  });

  it('text beside html is not mixed into it, in any multipart', async () => {
    for (const subtype of ['alternative', 'mixed', 'related']) {
      const text = ['Content-Type: text/plain', '', 'plain'];
      const html = ['Content-Type: text/html', '', '<p>page</p>'];
      const { content } = await parseMail(bytes(...multipart(subtype, text, html)));
      expect(content.text, subtype).toBe('plain');
      if (subtype !== 'related') expect(content.html, subtype).toBe('<p>page</p>');
    }
  });

  it('a message without either has neither', async () => {
    const { content } = await parseMail(bytes(...multipart('mixed', ['Content-Type: image/png', '', 'x'])));
    expect(content).toMatchObject({ text: null, html: null });
    expect(content.attachments).toHaveLength(1);
  });

  it('a message inside a message is an attachment, not the text of its bearer', async () => {
    const inner = ['Content-Type: message/rfc822', '', 'Subject: inner', '', 'inner text'];
    const { summary, content } = await parseMail(
      bytes('Subject: outer', ...multipart('mixed', ['', 'outer text'], inner)),
    );
    expect(summary.subject).toBe('outer');
    expect(content.text).toBe('outer text');
    expect(content.attachments).toMatchObject([{ contentType: 'message/rfc822', id: 'att_1' }]);
  });

  it('charsets and transfer encodings are undone', async () => {
    const type = (charset: string, encoding: string) => [
      `Content-Type: text/plain; charset=${charset}`,
      `Content-Transfer-Encoding: ${encoding}`,
      '',
    ];
    const text = async (raw: Uint8Array) => (await parseMail(raw)).content.text;
    expect(await text(bytes(...type('iso-8859-1', '8bit'), 'Gr\xfc\xdfe'))).toBe('Grüße\n');
    expect(await text(utf8(...type('utf-8', '8bit'), 'Grüße'))).toBe('Grüße\n');
    expect(await text(bytes(...type('windows-1251', 'base64'), 'z/Do4uXy'))).toBe('Привет');
    expect(await text(bytes(...type('shift_jis', 'quoted-printable'), '=83R=81[=83h=', ' x'))).toBe(
      'コード x\n',
    );
    expect(await text(bytes(...type('no-such-charset', '7bit'), 'plain'))).toBe('plain\n');
  });
});

describe('headers', () => {
  it('are all there, in order, unfolded and decoded', async () => {
    const raw = bytes(
      'Received: one',
      'X-A: =?utf-8?q?caf=C3=A9?=',
      'Received: two',
      ' folded',
      'x-a: again',
      '',
      '',
    );
    expect((await parseMail(raw)).content.headers).toEqual([
      { name: 'Received', value: 'one' },
      { name: 'X-A', value: 'café' },
      { name: 'Received', value: 'two folded' },
      { name: 'x-a', value: 'again' },
    ]);
  });

  it('groups are flattened', async () => {
    const { summary } = await parseMail(
      bytes('To: Team: a@x.test, "B" <b@x.test>;, c@x.test', 'From: undisclosed-recipients:;', '', ''),
    );
    expect(summary.to.map(({ address }) => address)).toEqual(['a@x.test', 'b@x.test', 'c@x.test']);
    expect(summary.from).toBeNull();
  });

  it('an encoded line break becomes a blank: no value writes headers', async () => {
    const { summary } = await parseMail(bytes('Subject: =?utf-8?q?a=0D=0ASet-Cookie:_x?=', '', ''));
    expect(summary.subject).toBe('a Set-Cookie: x');
  });

  it.each([
    ['Sat, 21 Nov 2026 10:00:00 +0100', '2026-11-21T09:00:00.000Z'],
    ['21 Nov 26 10:00 EST', '2026-11-21T15:00:00.000Z'],
    ['Sat, 21 Nov 2026 10:00:00 +0000 (UTC)', '2026-11-21T10:00:00.000Z'],
    ['Sat, 31 Feb 2026 10:00:00 +0000', null],
    ['Sat, 21 Nov 99999 10:00:00 +0000', null],
    ['tomorrow 1', null],
    ['21 Nov 2026 25:00 +0000', null],
    ['21 Nov 2026 10:00:00', null],
    ['', null],
  ])('Date: %s is %s, never invented', async (value, date) => {
    expect((await parseMail(bytes(`Date: ${value}`, '', ''))).content.date).toBe(date);
  });

  it('no Date is no date', async () => {
    expect((await parseMail(bytes('Subject: x', '', ''))).content.date).toBeNull();
  });
});

describe('file names', () => {
  const named = async (disposition: string) => {
    const part = ['Content-Type: application/pdf', `Content-Disposition: ${disposition}`, '', 'x'];
    return (await parseMail(bytes(...multipart('mixed', part)))).content.attachments[0]?.filename;
  };

  it('are as sent but for control characters, and paths in them are only words', async () => {
    expect(await named('attachment; filename="../../x"')).toBe('../../x');
    expect(await named('attachment; filename="=?utf-8?q?a=0D=0ASet-Cookie:_x?="')).toBe('a Set-Cookie: x');
    expect(await named('attachment; filename="=?utf-8?q?a=07b?="')).toBe('ab');
    expect(await named(`attachment; filename="${'n'.repeat(10_000)}"`)).toHaveLength(1_024);
    expect(await named('attachment')).toBeNull();
  });

  it('in pieces and in other charsets are put together (RFC 2231)', async () => {
    expect(await named(`attachment; filename*=utf-8''caf%C3%A9.pdf`)).toBe('café.pdf');
    expect(await named(`attachment; filename*0*=iso-8859-1''Gr%FC; filename*1="sse.pdf"`)).toBe('Grüsse.pdf');
  });
});

/** Every string, however deep. */
function strings(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return value !== null && typeof value === 'object' ? Object.values(value).flatMap(strings) : [];
}

function expectSound(mail: ParsedMail): void {
  expect(JSON.parse(JSON.stringify(mail))).toEqual(mail);
  for (const text of strings(mail)) expect(text.isWellFormed() && !text.includes('\0')).toBe(true);
  expect(mail.summary.preview.length).toBeLessThanOrEqual(200);
  expect(mail.summary.attachmentCount).toBe(mail.content.attachments.length);
}

const head = 'From: ada@sender.test\r\nSubject: bomb\r\n';
const nested = (depth: number) =>
  Array.from(
    { length: depth },
    (_, i) => `Content-Type: multipart/mixed; boundary=b${i}.\r\n\r\n--b${i}.\r\n`,
  ).join('');

describe('hostile mails are read as far as the limits, flagged, and never lost', () => {
  const flagged: [string, string, RegExp][] = [
    ['2,000 nested multiparts', head + nested(2_000), new RegExp(`nesting depth of ${MAX_DEPTH}`)],
    [
      '100,000 parts',
      `${head}Content-Type: multipart/mixed; boundary=x\r\n\r\n${'--x\r\n\r\na\r\n'.repeat(100_000)}`,
      new RegExp(`more than ${MAX_PARTS} parts`),
    ],
    ['an 8 MB header', `${head}X: ${'a'.repeat(8_000_000)}\r\n\r\ntext`, /header size/],
  ];
  it.each(flagged)('%s', async (_, source, reason) => {
    const mail = await parseMail(Buffer.from(source));
    expect(mail.parseError).toMatch(reason);
    expect(mail.summary).toMatchObject({ subject: 'bomb', from: { address: 'ada@sender.test' } });
    expectSound(mail);
  });

  const borne: [string, string][] = [
    ['8,000 nested messages', head + 'Content-Type: message/rfc822\r\n\r\n'.repeat(8_000)],
    ['273 KB of a.a.a as sender', `From: ${'a.'.repeat(136_500)}\r\nSubject: bomb\r\n\r\nx`],
    ['open comments as sender', `From: ${'('.repeat(100_000)}\r\nSubject: bomb\r\n\r\nx`],
    ['40,000 groups', `To: ${'a:'.repeat(40_000)}\r\nSubject: bomb\r\n\r\nx`],
    ['a flood of encoded words', `Subject: bomb\r\nX: ${'=?utf-8?b?YWFh?='.repeat(60_000)}\r\n\r\nx`],
    ['8,000 openings of encoded words', `Subject: bomb\r\nX: ${'=?'.repeat(8_000)}\r\n\r\nx`],
    [
      'a page of open tags',
      `${head}Content-Type: text/html\r\n\r\n${'<div>'.repeat(200_000)}${'</x>'.repeat(100_000)}`,
    ],
    [
      'a page of open links',
      `${head}Content-Type: text/html\r\n\r\n${'<a href="http://x.test/">'.repeat(50_000)}`,
    ],
    [
      '50,000 links with words',
      `${head}Content-Type: text/html\r\n\r\n${'<a href="x">ab</a>'.repeat(50_000)}`,
    ],
    ['digits without end', `${head}\r\ncode ${'1 '.repeat(500_000)}`],
    ['one long line of letters', `${head}\r\n${'a'.repeat(2_000_000)}`],
    ['closing brackets behind a link', `${head}\r\nhttp://x.test/${')'.repeat(1_000_000)}`],
    ['an empty boundary', `${head}Content-Type: multipart/mixed; boundary=""\r\n\r\n--\r\n\r\nx`],
    [
      'a boundary of pattern characters',
      `${head}Content-Type: multipart/mixed; boundary="(.*)+"\r\n\r\n--(.*)+\r\n\r\nx\r\n`,
    ],
    ['NUL everywhere', `${head}X\0: \0\r\n\r\n\0a\0`],
    ['nothing but a header', 'Subject: bomb'],
  ];
  it.each(borne)('%s', async (_, source) => {
    const mail = await parseMail(Buffer.from(source));
    expect(mail.parseError).toBeNull();
    expect(mail.summary.subject).toBe('bomb');
    expectSound(mail);
  });

  it('a glance at the header reads 16 KiB of it, no more', async () => {
    const mail = await parseHeaderOnly(Buffer.from(`${head}X: ${'y'.repeat(1_000_000)}\r\n`), 'why');
    expect(mail.parseError).toBe('why');
    expect(mail.summary.subject).toBe('bomb');
    expect(JSON.stringify(mail).length).toBeLessThan(20_000);
  });

  it('any bytes give a sound result', async () => {
    const shard = fc.oneof(
      fc
        .constantFrom(
          ...[
            'From: ',
            'Subject: ',
            'To: ',
            '\r\n',
            '\r\n\r\n',
            '--b',
            '--b--',
            'Content-Type: multipart/mixed; boundary=b',
          ],
          ...[
            'Content-Type: text/html; charset=',
            'utf-16',
            'Content-Transfer-Encoding: base64',
            '=?utf-8?b?',
            '?=',
            '=\r\n',
          ],
          ...[
            '<a href="',
            '&#xd800;',
            '&#0;',
            '</a>',
            'https://',
            'code 482910',
            ';',
            '"',
            '(',
            '\ud83d',
            '\0',
            '*0*=',
          ],
        )
        .map((text) => Buffer.from(text)),
      fc.uint8Array({ maxLength: 20 }).map((array) => Buffer.from(array)),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(shard, { maxLength: 40 }), async (shards) => {
        const raw = Buffer.concat(shards);
        expectSound(await parseMail(raw));
        expectSound(await parseHeaderOnly(raw, 'why'));
      }),
      { numRuns: 400 },
    );
  });
});
