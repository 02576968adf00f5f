import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { compareSnapshot, type SnapshotInput, writeSnapshot } from '../../src/expect/snapshot.ts';

/** Written by `scripts/write-mail-cases.ts`; the client for Python passes the same ones. */
interface Case {
  name: string;
  written: SnapshotInput;
  snapshot: string;
  others: Array<{ what: string; input: SnapshotInput; difference: string | null }>;
}
const CASES: Case[] = JSON.parse(readFileSync(join(import.meta.dirname, 'cases.json'), 'utf8'));

describe.each(CASES)('$name', ({ written, snapshot, others }) => {
  it('is written so, and is like itself, also with line ends of Windows', () => {
    expect(writeSnapshot(written)).toBe(snapshot);
    expect(compareSnapshot(snapshot, written)).toBeUndefined();
    expect(compareSnapshot(snapshot.replaceAll('\n', '\r\n'), written)).toBeUndefined();
  });

  it.each(others)('$what', ({ input, difference }) => {
    expect(compareSnapshot(snapshot, input) ?? null).toBe(difference);
  });
});

it('two names with one value are an error when the snapshot is written, and none when it is compared', () => {
  const [one] = CASES;
  if (!one) throw new Error('no cases');
  const names = { first: 'Ada', last: 'Ada' };
  expect(() => writeSnapshot({ ...one.written, names })).toThrow(
    '"first" and "last" of the mask have the same value "Ada". Use values that differ when the snapshot is written.',
  );
});

it.each([
  [
    '100,000 words that all differ',
    (side: string) => Array.from({ length: 100_000 }, (_, at) => `${side}${at}`).join(' '),
    'a',
  ],
  ['5,000 dates', (side: string) => `${side === 'a' ? 5 : 6} May 2026 `.repeat(5_000), 'same'],
  ['20,000 codes', (side: string) => (side === 'a' ? '4 8 2 9 1 3 ' : '482913 ').repeat(20_000), 'same'],
  ['words like names of objects', () => 'Hi {constructor} {toString} {__proto__}', 'same'],
  ['half of a character', () => 'a\ud800b', 'same'],
])('compares a mail of %s', (_, textOf, expected) => {
  const [one] = CASES;
  if (!one) throw new Error('no cases');
  const input = (side: string): SnapshotInput => ({
    ...one.written,
    names: { lone: '\udc00' },
    mail: { ...one.written.mail, text: textOf(side), codes: [{ value: '482913', context: '' }] },
  });
  const difference = compareSnapshot(writeSnapshot(input('a')), input('b'));
  if (expected === 'same') expect(difference).toBeUndefined();
  else expect(difference).toContain('{+b0 b1');
});
