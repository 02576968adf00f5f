import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MAX_RESULT_BYTES, type Operation } from '../../src/reading/parse-worker.ts';
import { Parsing } from '../../src/reading/parsing.ts';
import { parseBytes } from '../support/parse-bytes.ts';

const BYTES = 3_000_000;
const fill = (piece: string, bytes = BYTES) => piece.repeat(Math.ceil(bytes / Buffer.byteLength(piece)));
const multipart = (...parts: string[]) =>
  `Subject: x\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n${parts.map((part) => `--b\r\n${part}\r\n`).join('')}--b--\r\n`;
const html = (page: string) => `Subject: x\r\nContent-Type: text/html; charset=utf-8\r\n\r\n${page}`;
const withPicture = (page: string) =>
  multipart(html(page), 'Content-Type: image/png\r\nContent-ID: <a>\r\n\r\nx');
const thousand = (part: (n: number) => string) =>
  multipart(...Array.from({ length: 1_000 }, (_, n) => part(n)));
const euros = (count: number) => '\u20ac'.repeat(count);

/** What makes results larger than what they are made of: escapes, references, names, missing things. */
const MAILS: Readonly<Record<string, string>> = {
  'control characters': `Subject: x\r\n\r\n${fill('\u0001')}`,
  'quotation marks': `Subject: x\r\n\r\n${fill('"', 1_000_000)}`,
  'letters of two bytes that were one': `Subject: x\r\nContent-Type: text/plain; charset=cp437\r\n\r\n${fill('\u0080')}`,
  'links in a text': `Subject: x\r\n\r\n${fill('http://a.b/& ', 1_000_000)}`,
  'a page with an image that it shows many times': withPicture(fill('<img src="cid:a">', 900_000)),
  'a page with an image in one attribute many times': withPicture(
    `<img srcset="${fill('cid:a ', 900_000)}">`,
  ),
  'a page with an image in its style many times': withPicture(`<style>${fill('cid:a ', 900_000)}</style>`),
  'a page of attributes to be escaped': html(`<a target=x title='${fill('"', 900_000)}'>`),
  'a page against every rule': html(
    fill(
      '<img src="cid:x"><img src=http://a.example/><a href=http://b.example/{{x}}>x</a><svg></svg><p style="position:fixed;color:var(--a)">',
    ),
  ),
  'a thousand files with long names': thousand(
    (n) =>
      `Content-Type: ${'a'.repeat(500)}/${'b'.repeat(500)}; charset="${euros(300)}"\r\nContent-ID: <${n}${euros(999)}>\r\nContent-Disposition: attachment; filename="${euros(1_023)}"\r\n\r\nx`,
  ),
  'a thousand texts with long names': thousand(
    (n) =>
      `Content-Type: text/plain; charset="${euros(1_000)}"; name="${euros(1_023)}"\r\nContent-ID: <${n}${euros(999)}>\r\nContent-Disposition: ${euros(1_000)}\r\n\r\nx`,
  ),
  'two thousand fields': `${Array.from({ length: 2_000 }, (_, i) => `X-${i}: ${'"'.repeat(900)}\r\n`).join('')}\r\nx`,
  'a charset with a long name': `Subject: x\r\nContent-Type: text/plain; charset=${fill('x', 1_000_000)}\r\n\r\n\u20ac`,
  'a file of lost zeros': `Subject: x\r\nContent-Disposition: attachment; filename=a\r\nContent-Type: application/x\r\nContent-Transfer-Encoding: uuencode\r\n\r\nbegin 644 a\r\n${fill('M\n')}`,
};

/** The bytes that a worker returns for an operation. */
const RUN: Record<Operation, (parsing: Parsing, raw: Uint8Array) => Promise<number>> = {
  parse: async (parsing, raw) => {
    const { summary, content } = await parseBytes(parsing, raw);
    return summary.length + content.length;
  },
  lint: async (parsing, raw) => (await parsing.run('lint', [raw])).length,
  preview: async (parsing, raw) =>
    (await parsing.run('preview', [raw, `http://[::1]:8025/preview/${'x'.repeat(130)}/`])).page.length,
  attachments: async (parsing, raw) => (await parsing.run('attachments', [raw])).length,
  fullJson: async (parsing, raw) => {
    const rest = { head: { id: 'msg_1' }, attachmentsUrl: `http://x/${'x'.repeat(130)}/` };
    return (await parsing.run('fullJson', [raw, rest])).length;
  },
  jsonLines: async (parsing, raw) => {
    const json = Buffer.from(`{"messages":[${fill('1e20,', raw.length)}1]}`);
    return (await parsing.run('jsonLines', [json, 'messages'])).lines.length;
  },
  decode: async (parsing, raw) => (await parsing.run('decode', [raw, 'uuencode'])).length,
};

describe('the result of each operation of a parse worker is bounded', () => {
  let parsing: Parsing;
  beforeAll(() => {
    parsing = new Parsing({ limits: { timeLimitMs: 60_000 } });
  });
  afterAll(() => parsing.close());

  describe.each(Object.keys(RUN) as Operation[])('%s', (operation) => {
    it.each(Object.keys(MAILS))('of %s', async (name) => {
      const raw = new Uint8Array(Buffer.from(MAILS[name] ?? ''));
      const most = MAX_RESULT_BYTES[operation](raw.length);
      expect(await RUN[operation](parsing, raw)).toBeLessThanOrEqual(most);
    });
  });
});
