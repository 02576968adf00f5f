import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decodeBase64 } from '../../../src/mail/mime/transfer-encoding.ts';
import { decodedBase64 } from '../../../src/messages/contents.ts';

/** Mostly digits; padding, line ends and characters that base64 does not have anywhere. */
const base64Text = fc.array(
  fc.oneof(
    { weight: 20, arbitrary: fc.constantFrom(...'ABCDEFabcdef0189+/') },
    { weight: 2, arbitrary: fc.constantFrom('=', '==', '\r\n', ' ', '-', '_', '!') },
  ),
  { maxLength: 200 },
);

async function* cut(whole: Buffer, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  let start = 0;
  for (const end of [...cuts.filter((at) => at < whole.length).toSorted((a, b) => a - b), whole.length]) {
    yield whole.subarray(start, end);
    start = end;
  }
}

it('base64 in pieces, however it is cut, is decoded to the bytes of the whole', async () => {
  await fc.assert(
    fc.asyncProperty(base64Text, fc.array(fc.nat(200), { maxLength: 8 }), async (letters, cuts) => {
      const whole = Buffer.from(letters.join(''), 'latin1');
      const decoded: Buffer[] = [];
      for await (const piece of decodedBase64(cut(whole, cuts), async () => {})) decoded.push(piece);
      expect(Buffer.concat(decoded).toString('hex')).toBe(decodeBase64(whole).toString('hex'));
    }),
    { numRuns: 5_000 },
  );
});
