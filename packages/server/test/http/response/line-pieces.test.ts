import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeTransfer, type TransferEncoding } from '../../../src/mail/mime/transfer-encoding.ts';
import { QuotedPrintablePieces, UuPieces } from '../../../src/messages/bytes/line-pieces.ts';

const text = (...pieces: string[]) =>
  fc.array(fc.constantFrom(...pieces), { maxLength: 120 }).map((all) => Buffer.from(all.join(''), 'latin1'));

/** Decodes `whole` cut at those places. */
function inPieces(decoder: QuotedPrintablePieces | UuPieces, whole: Buffer, cuts: readonly number[]): Buffer {
  const ends = [...cuts.filter((at) => at < whole.length).toSorted((a, b) => a - b), whole.length];
  const decoded: Buffer[] = [];
  let start = 0;
  for (const end of ends) {
    decoded.push(...decoder.decode(whole.subarray(start, end)));
    start = end;
  }
  return Buffer.concat([...decoded, decoder.end()]);
}

const CASES: [TransferEncoding, () => QuotedPrintablePieces | UuPieces, fc.Arbitrary<Buffer>][] = [
  [
    'quoted-printable',
    () => new QuotedPrintablePieces(),
    text('=', '=4', '=41', '=\r\n', '=\n', '= \r\n', ' ', '\t', '\r', '\n', '\r\n', 'a', 'é', '  \r\n'),
  ],
  [
    'uuencode',
    () => new UuPieces(),
    text(
      'begin 644 a.bin\r\n',
      'begin 644 a\n',
      '#0V%T\n',
      '#0V%T\r\n',
      '`\n',
      'end\n',
      '\n',
      ' ',
      'x'.repeat(90),
      'M',
    ),
  ],
  [
    'uuencode',
    () => new UuPieces(),
    text('#0V%T\n', '#0V%T\r\n', "'#0V%T#0V%T\n", 'x'.repeat(200), 'M', '\r\n', 'y\n').map((lines) =>
      Buffer.concat([Buffer.from('begin 644 a.bin\r\n'), lines]),
    ),
  ],
];

describe('a part that arrives in pieces, however it is cut, is decoded to the bytes of the whole', () => {
  it.each(CASES)('%s', (encoding, decoder, texts) => {
    fc.assert(
      fc.property(texts, fc.array(fc.nat(400), { maxLength: 8 }), (whole, cuts) => {
        const expected = decodeTransfer(whole, encoding);
        expect(inPieces(decoder(), whole, cuts).toString('hex')).toBe(expected.toString('hex'));
      }),
      { numRuns: 3_000 },
    );
  });

  it('uuencode without a first line, and with one behind more than 4 KiB, is left as it is', () => {
    for (const whole of [
      Buffer.alloc(10_000, 'abc\n'),
      Buffer.concat([Buffer.alloc(5_000, '\n'), Buffer.from('begin 644 a\n#0V%T\n')]),
    ]) {
      expect(
        inPieces(new UuPieces(), whole, [1, 4_000, 4_097, 9_000]).equals(decodeTransfer(whole, 'uuencode')),
      ).toBe(true);
    }
  });
});

it('quoted-printable keeps at most 1 MiB of an incomplete line, whatever the line is', () => {
  const decoder = new QuotedPrintablePieces();
  const piece = Buffer.alloc(256 * 1024, 'a');
  for (let count = 0; count < 20; count++) expect(decoder.decode(piece)[0]?.length).toBe(piece.length);
  const blanks = Buffer.alloc(256 * 1024, ' ');
  expect(() => {
    for (let count = 0; count < 20; count++) decoder.decode(blanks);
  }).toThrow('too long');
});
