import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Config } from '../../../src/config/config.ts';
import { DataReader } from '../../../src/smtp/input.ts';
import { cut } from './drive.ts';
import { judge, type Verdict } from './message-oracle.ts';

/** @returns the message, or the code that refuses it, and how many bytes were read */
function readAll(pieces: Buffer[], maxBytes: number, policy: Config['smtpBareLineEndings']): Verdict {
  const reader = new DataReader({ maxBytes, maxDrainedBytes: 1e9 }, policy);
  const output: Buffer[] = [];
  let length = 0;
  for (const piece of pieces) {
    if (reader.ended) break;
    length += reader.read(Buffer.from(piece), 0);
    if (reader.output) output.push(reader.output);
  }
  expect(reader.bytesRead).toBe(length);
  const { refusal } = reader;
  return { length, message: refusal ? String(refusal.code) : Buffer.concat(output).toString('latin1') };
}

const latin1 = (text: string) => Buffer.from(text, 'latin1');

it('a message is handed out as views of the bytes that came in, unless it has a stuffed dot', () => {
  const reader = new DataReader({ maxBytes: 1e9, maxDrainedBytes: 1e9 }, 'refuse');
  const [plain, stuffed] = [latin1('line\r\n'), latin1('line\r\n..dot\r\n')];
  reader.read(plain, 0);
  expect([reader.output?.buffer === plain.buffer, reader.output]).toEqual([true, plain]);
  reader.read(stuffed, 0);
  expect(reader.output?.toString('latin1')).toBe('line\r\n.dot\r\n');
});

/** Text in which everything that matters is frequent. */
const tokens = fc.constantFrom(
  ...'.|..|\r|\n|\r\n|\r\n.|\r\n..|\r\n.\r|x|\0|\xff'.split('|'),
  'y'.repeat(40),
);
const texts = fc
  .array(tokens, { maxLength: 60, size: 'max' })
  .map((parts) => `${parts.join('')}\r\n.\r\nNOOP\r\n`);

it.each(['refuse', 'normalise'] as const)(
  'for any bytes, cut anywhere, the reader agrees with the rules (%s)',
  (policy) => {
    fc.assert(
      fc.property(texts, fc.array(fc.nat(5000)), fc.nat(300), (text, cuts, maxBytes) => {
        const verdict = judge(text, maxBytes, policy === 'normalise');
        const bytes = latin1(text);
        const everywhere = [...bytes.keys()];
        for (const offsets of [[], cuts, everywhere])
          expect(readAll(cut(bytes, offsets), maxBytes, policy)).toEqual(verdict);
      }),
      { numRuns: 1500, seed: 20261121 },
    );
  },
);
