import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { structureOf } from '../../src/mail/full-json.ts';
import * as limits from '../../src/mail/limits.ts';
import { parseMail } from '../../src/mail/parse.ts';

const mail = (...lines: string[]) => Buffer.from(lines.join('\r\n'));
const page = (html: string) => parseMail(mail('Content-Type: text/html', '', html, '')).content;

/** A mail with an alternative, a picture, and a forwarded mail that holds another one. */
const FORWARDED = mail(
  readFileSync(join(import.meta.dirname, 'forwarded.eml'), 'utf8').replaceAll('\n', '\r\n'),
);

describe('htmlText', () => {
  it('is the visible words of the page: a line for each block, a tab between cells', () => {
    const html = '<style>p{}</style><h1>Hi</h1><p>your code</p><table><tr><td>a<td>b</table><p hidden>no</p>';
    expect(page(html)).toMatchObject({ htmlText: 'Hi\nyour code\na\tb', text: null });
  });

  it('is null without a page, also where there is a text', () => {
    expect(parseMail(mail('', 'text', '')).content.htmlText).toBeNull();
  });
});

describe('images', () => {
  it('are those of the page with their alternative text, in order', () => {
    const html = `<img src=" https://x.test/a.png?a=1&amp;b=2 " alt="A &amp; B"><img src=cid:x alt=""><IMG SRC='b.png'><img alt=no>`;
    expect(page(html).images).toEqual([
      { src: 'https://x.test/a.png?a=1&b=2', alt: 'A & B' },
      { src: 'cid:x', alt: '' },
      { src: 'b.png', alt: null },
    ]);
  });

  it('are bounded in number and length', () => {
    const inline = `<img src="data:image/png;base64,${'A'.repeat(5_000)}">`;
    const { images } = page(inline + '<img src=a>'.repeat(500));
    expect(images).toHaveLength(limits.MAX_IMAGES);
    expect(images[0]?.src).toHaveLength(limits.MAX_IMAGE_TEXT);
  });
});

describe('an attached message', () => {
  it('is read: subject, addresses, date, bodies, links and codes', () => {
    const { content } = parseMail(FORWARDED);
    expect(content.attachments[1]?.message).toEqual({
      subject: 'café',
      from: { name: 'Ada', address: 'ada@sender.test' },
      to: [{ name: '', address: 'b@sender.test' }],
      date: '2026-11-22T01:00:00.000Z',
      text: 'Your code is 482913. https://x.test/verify',
      html: null,
      links: [{ href: 'https://x.test/verify', text: '', kind: 'verify' }],
      codes: [{ value: '482913', context: expect.stringContaining('482913') }],
    });
    expect(content.attachments[0]).not.toHaveProperty('message');
  });

  it('is not read beyond 20 of one mail', () => {
    const one = '--a\r\nContent-Type: message/rfc822\r\n\r\nSubject: x\r\n\r\ny\r\n';
    const { content } = parseMail(
      mail('Content-Type: multipart/mixed; boundary=a', '', `${one.repeat(30)}--a--`, ''),
    );
    expect(content.attachments).toHaveLength(30);
    expect(content.attachments.filter(({ message }) => message)).toHaveLength(limits.MAX_INNER_MESSAGES);
  });
});

describe('the structure of a message', () => {
  it('has every part with its place, type, size, disposition, file name and id', () => {
    const { index, content } = parseMail(FORWARDED);
    const rows = structureOf(index, content.attachments).map((one) => [
      one.part,
      one.contentType,
      one.disposition,
      one.filename,
      one.contentId,
    ]);
    expect(rows).toEqual([
      ['', 'multipart/mixed', null, null, null],
      ['1', 'multipart/related', null, null, null],
      ['1.1', 'text/html', 'inline', 'body.html', null],
      ['1.2', 'image/png', 'inline', 'logo.png', 'logo@x'],
      ['2', 'message/rfc822', 'attachment', null, null],
    ]);
  });

  it('of a message without parts is one part, with the size of its body', () => {
    const { index, content } = parseMail(mail('Subject: x', '', '12345'));
    expect(structureOf(index, content.attachments)).toEqual([
      { part: '1', contentType: 'text/plain', size: 5, disposition: null, filename: null, contentId: null },
    ]);
  });
});
