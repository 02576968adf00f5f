import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decodeBase64 } from '../../../src/mail/mime/transfer-encoding.ts';
import { Base64Pieces } from '../../../src/messages/bytes/base64-pieces.ts';

/** Mostly digits; padding, line ends and characters that base64 does not have anywhere. */
const base64Text = fc.array(
  fc.oneof(
    { weight: 20, arbitrary: fc.constantFrom(...'ABCDEFabcdef0189+/') },
    { weight: 2, arbitrary: fc.constantFrom('=', '==', '\r\n', ' ', '-', '_', '!') },
  ),
  { maxLength: 200 },
);

it('base64 in pieces, however it is cut, is decoded to the bytes of the whole', () => {
  fc.assert(
    fc.property(base64Text, fc.array(fc.nat(200), { maxLength: 8 }), (letters, cuts) => {
      const whole = Buffer.from(letters.join(''), 'latin1');
      const ends = [...cuts.filter((at) => at < whole.length).toSorted((a, b) => a - b), whole.length];
      const decoder = new Base64Pieces();
      const decoded: Buffer[] = [];
      let start = 0;
      for (const end of ends) {
        decoded.push(...decoder.decode(whole.subarray(start, end)));
        start = end;
      }
      decoded.push(decoder.end());
      expect(Buffer.concat(decoded).toString('hex')).toBe(decodeBase64(whole).toString('hex'));
    }),
    { numRuns: 5_000 },
  );
});
