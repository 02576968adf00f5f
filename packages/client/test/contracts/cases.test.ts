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

it('a mail of 100,000 words that all differ is compared in bounded memory', () => {
  const [one] = CASES;
  if (!one) throw new Error('no cases');
  const words = (letter: string) => Array.from({ length: 100_000 }, (_, at) => `${letter}${at}`).join(' ');
  const input = (letter: string) => ({ ...one.written, mail: { ...one.written.mail, text: words(letter) } });
  expect(compareSnapshot(writeSnapshot(input('a')), input('b'))).toContain('{+b0 b1');
});
