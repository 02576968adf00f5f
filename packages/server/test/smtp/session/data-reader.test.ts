import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Config } from '../../../src/config/config.ts';
import { DataReader } from '../../../src/smtp/input.ts';
import { cut } from './drive.ts';
import { judge } from './message-oracle.ts';

const NO_LIMIT = { maxBytes: 1e9, maxDrainedBytes: 1e9 };

interface Read {
  /** The message, or the code that refuses it. */
  message: string;
  /** How many bytes were read. */
  length: number;
  ended: boolean;
  outOfStep: boolean;
}

function readAll(
  pieces: Buffer[],
  limits = NO_LIMIT,
  policy: Config['smtpBareLineEndings'] = 'refuse',
): Read {
  const reader = new DataReader(limits, policy);
  const output: Buffer[] = [];
  let length = 0;
  for (const piece of pieces) {
    if (reader.ended || reader.outOfStep) break;
    const copy = Buffer.from(piece);
    length += reader.read(copy, 0);
    if (reader.output) output.push(reader.output);
  }
  const { refusal, ended, outOfStep } = reader;
  expect(reader.bytesRead).toBe(length);
  const message = refusal ? String(refusal.code) : Buffer.concat(output).toString('latin1');
  return { message, length, ended, outOfStep };
}

const latin1 = (text: string) => Buffer.from(text, 'latin1');

it('a message is handed out as views of the bytes that came in, unless it has a stuffed dot', () => {
  const reader = new DataReader(NO_LIMIT, 'refuse');
  const [plain, stuffed] = [latin1('line\r\n'), latin1('line\r\n..dot\r\n')];
  reader.read(plain, 0);
  expect([reader.output?.buffer === plain.buffer, reader.output]).toEqual([true, plain]);
  reader.read(stuffed, 0);
  expect(reader.output?.toString('latin1')).toBe('line\r\n.dot\r\n');
});

describe('a message that is refused', () => {
  const limits = { maxBytes: 100, maxDrainedBytes: 1000 };
  const line = `${'z'.repeat(48)}\r\n`;

  it('is read to its end', () => {
    const text = `${line.repeat(3)}.\r\n`;
    expect(readAll([latin1(text)], limits)).toEqual({
      message: '552',
      length: text.length,
      ended: true,
      outOfStep: false,
    });
  });

  it('is not read any longer past the limit of what is thrown away', () => {
    const text = `${line.repeat(30)}.\r\n`;
    expect(readAll([latin1(text)], limits)).toEqual({
      message: '552',
      length: 1000,
      ended: false,
      outOfStep: true,
    });
  });

  it('may have exactly the size that is allowed, its stuffed dots not counted', () => {
    expect(readAll([latin1(`${`.${line}`.repeat(2)}.\r\n`)], limits).message).toBe(line.repeat(2));
    expect(readAll([latin1(`${`.${line}`.repeat(2)}\r\n.\r\n`)], limits).message).toBe('552');
  });
});

/** Text in which everything that matters is frequent. */
const tokens = fc.constantFrom(
  ...'.|..|\r|\n|\r\n|\r\n.|\r\n..|\r\n.\r|x|\0|\xff'.split('|'),
  'y'.repeat(40),
);
const texts = fc
  .array(tokens, { maxLength: 60, size: 'max' })
  .map((parts) => `${parts.join('')}\r\n.\r\nNOOP\r\n`);

describe('for any bytes, cut anywhere,', () => {
  it.each(['refuse', 'normalise'] as const)('the reader agrees with the rules (%s)', (policy) => {
    fc.assert(
      fc.property(texts, fc.array(fc.nat(5000)), fc.nat(300), (text, cuts, maxBytes) => {
        const verdict = judge(text, maxBytes, policy === 'normalise');
        const bytes = latin1(text);
        const limits = { ...NO_LIMIT, maxBytes };
        const everywhere = [...bytes.keys()];
        for (const offsets of [[], cuts, everywhere]) {
          const { message, length } = readAll(cut(bytes, offsets), limits, policy);
          expect({ message, length }).toEqual(verdict);
        }
      }),
      { numRuns: 1500, seed: 20261121 },
    );
  });

  it('the limit of what is thrown away is met at the same byte', () => {
    fc.assert(
      fc.property(texts, fc.array(fc.nat(5000)), fc.nat(60), fc.nat(300), (text, cuts, maxBytes, more) => {
        const limits = { maxBytes, maxDrainedBytes: 2 * maxBytes + more };
        const whole = readAll([latin1(text)], limits);
        const bytes = latin1(text);
        expect(readAll(cut(bytes, cuts), limits)).toEqual(whole);
        expect(readAll(cut(bytes, [...bytes.keys()]), limits)).toEqual(whole);
      }),
      { numRuns: 1500, seed: 20261121 },
    );
  });
});
