import { createHash } from 'node:crypto';
import MailComposer from 'nodemailer/lib/mail-composer';
import { describe, expect, it } from 'vitest';
import { parseMail } from '../../src/mail/parse.ts';
import CASES from './dates.json' with { type: 'json' };
import { attachmentBytes, bytes, multipart, read } from './support/mails.ts';

const sha256 = (data: Uint8Array | string) => createHash('sha256').update(data).digest('hex');

describe('a mail of a mail library', () => {
  it('is read completely: addresses, bodies, attachments, inline images', async () => {
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
    const { summary, content, index, parseError } = parseMail(raw);
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
      attachmentCount: 1,
      inlineCount: 1,
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
      expect(sha256(attachmentBytes(raw, index, id) ?? '')).toBe(listed);
    }
    expect(attachmentBytes(raw, index, 'att_9')).toBeUndefined();
  });

  it('is read the same from shared memory', () => {
    const raw = bytes('From: a@b.test', 'Subject: x', '', 'text', '');
    const shared = new Uint8Array(new SharedArrayBuffer(raw.length));
    shared.set(raw);
    expect(parseMail(shared)).toEqual(parseMail(raw));
  });
});

describe('text and html are as sent', () => {
  it('html without text has no text, and its words are kept for the text filter', () => {
    const { content } = read('Content-Type: text/html', '', '<p>Hi <b>there</b></p><style>x</style>', '');
    expect(content).toMatchObject({
      text: null,
      html: '<p>Hi <b>there</b></p><style>x</style>\n',
      htmlWords: 'Hi there',
    });
  });

  it('text and html of one mail stay apart, in any multipart', () => {
    for (const subtype of ['alternative', 'mixed', 'related']) {
      const text = ['Content-Type: text/plain', '', 'plain'];
      const html = ['Content-Type: text/html', '', '<p>page</p>'];
      const { content } = read(...multipart(subtype, text, html));
      expect(content.text, subtype).toBe('plain');
      expect(content.html, subtype).toBe('<p>page</p>');
    }
  });
});

describe('headers', () => {
  it('are all there, in order, unfolded and decoded', () => {
    const raw = bytes(
      'Received: one',
      'X-A: =?utf-8?q?caf=C3=A9?=',
      'Received: two',
      ' folded',
      'x-a: again',
      '',
      '',
    );
    expect(parseMail(raw).content.headers).toEqual([
      { name: 'Received', value: 'one' },
      { name: 'X-A', value: 'café' },
      { name: 'Received', value: 'two folded' },
      { name: 'x-a', value: 'again' },
    ]);
  });

  it.each(CASES.dates)('Date: %s is %s, never invented', (value, date) => {
    expect(read(`Date: ${value}`, '', '').content.date).toBe(date);
  });

  it('date is null without a Date field', () => {
    expect(read('Subject: x', '', '').content.date).toBeNull();
  });
});

describe('file names', () => {
  const named = (disposition: string) => {
    const part = ['Content-Type: application/pdf', `Content-Disposition: ${disposition}`, '', 'x'];
    return read(...multipart('mixed', part)).content.attachments[0]?.filename;
  };

  it('are as sent without control characters, and paths in them have no effect', async () => {
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
