import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bodyBytes } from '../../../src/mail/mime/part-index.ts';
import { parseHeaderOnly, parseMail } from '../../../src/mail/parse.ts';
import { anyBytes, expectConsistent, expectNested, expectSound, words } from '../support/any-bytes.ts';

describe('any bytes', () => {
  it('are read without an error, as ranges within each other, and their attachments are served as listed', () => {
    const isSound = (raw: Buffer) => {
      expectSound(raw);
      expectConsistent(parseHeaderOnly(raw, 'why'));
    };
    fc.assert(fc.property(anyBytes, isSound), { numRuns: 3_000 });
  });

  it('of a part without a body at the end of an inner multipart are ranges within each other, too', () => {
    const inner = 'Content-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\nX: y\r\n\r\n';
    const type = 'Content-Type: multipart/mixed; boundary=b';
    const raw = Buffer.from(`${type}\r\n\r\n--b\r\n${inner}--b\r\n\r\nx\r\n--b--`);
    expectNested(parseMail(raw).index, raw.length);
  });

  it('are read alike wherever they lie in memory', () => {
    fc.assert(
      fc.property(anyBytes, (raw) => {
        const moved = new Uint8Array(raw.length + 9).fill(0x2d);
        moved.set(raw, 5);
        expect(parseMail(moved.subarray(5, 5 + raw.length))).toEqual(parseMail(raw));
      }),
      { numRuns: 200 },
    );
  });
});

interface Leaf {
  type: string;
  encoding: 'base64' | 'quoted-printable' | '8bit';
  bytes: Buffer;
  lineEnd: string;
}
interface Multipart {
  subtype: string;
  boundary: string;
  parts: Tree[];
  preamble: string;
  isClosed: boolean;
}
type Tree = Leaf | Multipart;

const leaf = fc.record<Leaf>({
  type: fc.constantFrom(
    'text/plain',
    'text/html',
    'image/png',
    'application/pdf',
    'message/rfc822',
    'text/csv',
  ),
  encoding: fc.constantFrom('base64', 'quoted-printable', '8bit'),
  bytes: fc.oneof(
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    fc
      .array(fc.constantFrom('line', '\r\n', '\n', '--', '-- ', '=', 'é', ' ', '.'), { maxLength: 30 })
      .map((pieces) => Buffer.from(pieces.join(''))),
  ),
  lineEnd: fc.constantFrom('\r\n', '\n'),
});
const { tree } = fc.letrec<{ tree: Tree; multipart: Multipart }>((tie) => ({
  tree: fc.oneof({ maxDepth: 4, depthSize: 'small' }, leaf, tie('multipart')),
  multipart: fc.record<Multipart>({
    subtype: fc.constantFrom('mixed', 'alternative', 'related', 'signed', 'report'),
    boundary: fc.stringMatching(/^[0-9A-Za-z'()+_,./:=?-]{12,40}$/),
    parts: fc.array(tie('tree'), { minLength: 1, maxLength: 4 }),
    preamble: fc.constantFrom('', 'This is a multi-part message.\r\n', '--\r\n--no delimiter\r\n'),
    isClosed: fc.boolean(),
  }),
}));

/** Quoted-printable with every byte escaped but letters, and a soft line break here and there. */
const quotedPrintable = (bytes: Buffer) =>
  [...bytes]
    .map((byte) =>
      /[a-z]/i.test(String.fromCharCode(byte))
        ? String.fromCharCode(byte)
        : `=${byte.toString(16).padStart(2, '0').toUpperCase()}`,
    )
    .map((piece, at) => (at % 20 === 19 ? `${piece}=\r\n` : piece))
    .join('');

function compose(node: Tree): Buffer {
  if (!('parts' in node)) {
    const { type, encoding, bytes, lineEnd } = node;
    const head = `Content-Type: ${type}${lineEnd}Content-Disposition: attachment${lineEnd}Content-Transfer-Encoding: ${encoding}${lineEnd}${lineEnd}`;
    const body =
      encoding === 'base64'
        ? bytes.toString('base64').replaceAll(/.{60}/g, '$&\r\n')
        : encoding === 'quoted-printable'
          ? quotedPrintable(bytes)
          : bytes;
    return Buffer.concat([Buffer.from(head), Buffer.from(body as string)]);
  }
  const { subtype, boundary, parts, preamble, isClosed } = node;
  const head = `Content-Type: multipart/${subtype}; boundary="${boundary}"\r\n\r\n${preamble}`;
  const inner = parts.flatMap((part, at) => [
    Buffer.from(`${at === 0 ? '' : '\r\n'}--${boundary}\r\n`),
    compose(part),
  ]);
  const end = isClosed ? `\r\n--${boundary}--\r\nepilogue` : '';
  return Buffer.concat([Buffer.from(head), ...inner, Buffer.from(end)]);
}

const leavesOf = (node: Tree): Leaf[] => ('parts' in node ? node.parts.flatMap(leavesOf) : [node]);
const boundariesOf = (node: Tree): string[] =>
  'parts' in node ? [node.boundary, ...node.parts.flatMap(boundariesOf)] : [];

/** Two boundaries alike would be one, an encoded word is decoded; an open multipart must not be the last thing of the mail. */
function isPlain(node: Tree): boolean {
  const boundaries = boundariesOf(node);
  return (
    new Set(boundaries).size === boundaries.length &&
    boundaries.every((one) => !one.endsWith('--') && !one.includes('=?'))
  );
}

describe('a mail that was put together', () => {
  it('is taken apart into the same parts and bytes', () => {
    fc.assert(
      fc.property(tree.filter(isPlain), (node) => {
        // In a multipart that is closed, so that every part ends at a delimiter.
        const outer = { subtype: 'mixed', boundary: 'outermost', preamble: '', isClosed: true };
        const raw = Buffer.concat([
          Buffer.from('Subject: x\r\nMIME-Version: 1.0\r\n'),
          compose({ ...outer, parts: [node] }),
        ]);
        const { content, index, parseError } = parseMail(raw);
        expect(parseError).toBeNull();
        const sent = leavesOf(node);
        const parts = index.filter(({ role }) => role !== 'multipart');
        const read = parts.map((part) => [part.type, bodyBytes(raw, part).toString('latin1')]);
        expect(read).toEqual(sent.map(({ type, bytes }) => [type, bytes.toString('latin1')]));
        const types = content.attachments.map(({ contentType }) => contentType);
        expect(types).toEqual(sent.map(({ type }) => type));
      }),
      { numRuns: 1_000 },
    );
  });

  it('and then damaged is read without an error all the same', () => {
    const damage = fc.tuple(fc.nat(), fc.nat(40), fc.oneof(words, fc.constant('')));
    fc.assert(
      fc.property(tree, fc.array(damage, { minLength: 1, maxLength: 5 }), (node, damages) => {
        let raw = compose(node);
        for (const [place, gone, put] of damages) {
          const at = place % (raw.length + 1);
          raw = Buffer.concat([raw.subarray(0, at), Buffer.from(put, 'latin1'), raw.subarray(at + gone)]);
        }
        expectSound(raw);
      }),
      { numRuns: 2_000 },
    );
  });
});
