import fc from 'fast-check';
import PostalMime from 'postal-mime';
import { describe, expect, it } from 'vitest';
import { readMime } from '../../src/mail/mime/mime.ts';

/** Bodies made of what the transfer encodings are about, and of any bytes at all. */
const body = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '=',
        '==',
        '=3D',
        '=e4',
        '=\r\n',
        '=20\r\n',
        '\r\n',
        '\n',
        '\r',
        ' ',
        '\t',
        'Q',
        'QUJD',
      ),
      fc.constantFrom(
        'QUI=',
        'QQ==',
        'Q Q',
        '-_',
        '=4',
        '=zz',
        '.',
        '--',
        '-',
        'plain words',
        'AAAA'.repeat(700),
      ),
      fc.uint8Array({ maxLength: 12 }),
    ),
    { maxLength: 60 },
  )
  .map((pieces) => Buffer.concat(pieces.map((piece) => Buffer.from(piece))));

const encoding = fc.constantFrom(
  'base64',
  'quoted-printable',
  '7bit',
  '8bit',
  'x-base64',
  'BASE64',
  'other',
  '',
);

function mailOf(name: string, bytes: Buffer): Buffer {
  const head = `Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: application/pdf\r\nContent-Transfer-Encoding: ${name}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), bytes, Buffer.from('\r\n--b--\r\n')]);
}

/** What the MIME library reads by itself, but for the line break that belongs to the boundary. */
async function readByLibrary(name: string, raw: Buffer): Promise<Buffer> {
  const { attachments } = await PostalMime.parse(raw);
  const content = Buffer.from(attachments[0]?.content as ArrayBuffer);
  return name.toLowerCase() !== 'base64' && content.at(-1) === 0x0a ? content.subarray(0, -1) : content;
}

describe('a decoded body', () => {
  it('is what the MIME library makes of it, byte for byte', async () => {
    await fc.assert(
      fc.asyncProperty(encoding, body, async (name, bytes) => {
        const raw = mailOf(name, bytes);
        const [leaf] = (await readMime(raw)).leaves;
        expect(Buffer.from(leaf?.bytes() ?? '')).toEqual(await readByLibrary(name, raw));
      }),
      { numRuns: 300 },
    );
  });

  it('is whole when it is large, in lines or in one', async () => {
    const file = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * i) & 255));
    const lines = file.toString('base64').replace(/.{76}/g, '$&\r\n');
    for (const sent of [lines, file.toString('base64')]) {
      const [leaf] = (await readMime(mailOf('base64', Buffer.from(sent)))).leaves;
      expect(file.equals(leaf?.bytes() ?? Buffer.alloc(0))).toBe(true);
    }
  });
});

describe('the MIME library', () => {
  it('still takes the steps that are taken for it: an upgrade without them would only be slow', async () => {
    const parser: unknown = new PostalMime();
    const method = expect.any(Function);
    expect(parser).toHaveProperty('collectNode', method);
    expect(parser).toHaveProperty('buildMessage', method);
    expect(parser).toHaveProperty('processLine', method);
    expect(parser).toHaveProperty('root.setupContentDecoder', method);
    expect(parser).toHaveProperty('root.feed', method);
    const { leaves } = await readMime(mailOf('base64', Buffer.from('QUJD')));
    // The library's own decoders hand out whole buffers; a view tells that ours was asked.
    expect(leaves[0]?.bytes().buffer.byteLength).toBeGreaterThan(3);
  });
});
