import { describe, expect, it } from 'vitest';
import { isChosenLocalPart, isReservedLocalPart, parseAddress } from '../../src/mail/address.ts';
import {
  ADJECTIVES,
  LOCAL_PART_DIGITS,
  LOCAL_PART_RANDOM_BYTES,
  NOUNS,
  newLocalPart,
} from '../../src/mail/local-part.ts';

describe('a random local part', () => {
  it('carries at least 40 random bits', () => {
    const bits = Math.log2(ADJECTIVES.length * NOUNS.length * 10 ** LOCAL_PART_DIGITS);
    expect(new Set(ADJECTIVES).size).toBe(ADJECTIVES.length);
    expect(new Set(NOUNS).size).toBe(NOUNS.length);
    expect(bits).toBeGreaterThanOrEqual(40);
    // What the source must bring, with 40 bits more than used against the bias of the remainder.
    expect(LOCAL_PART_RANDOM_BYTES * 8).toBeGreaterThanOrEqual(bits + 40);
  });

  it('reads as adjective.noun with digits, and is an address that a client could choose', () => {
    for (let i = 0; i < 500; i++) {
      const localPart = newLocalPart();
      expect(localPart).toMatch(/^[a-z]+\.[a-z]+\d{9}$/);
      expect(isChosenLocalPart(localPart)).toBe(true);
      expect(isReservedLocalPart(localPart)).toBe(false);
      expect(parseAddress(`${localPart}@mayfly.test`)).toBeDefined();
    }
  });

  it('depends only on the random bytes', () => {
    const zero = new Uint8Array(LOCAL_PART_RANDOM_BYTES);
    expect(newLocalPart(zero)).toBe(`${ADJECTIVES[0]}.${NOUNS[0]}000000000`);
    expect(newLocalPart(zero.with(LOCAL_PART_RANDOM_BYTES - 1, 1))).not.toBe(newLocalPart(zero));
  });

  it('uses every word', () => {
    const words = new Set<string>();
    for (let i = 0; i < 20_000; i++) {
      for (const word of newLocalPart().replace(/\d+$/, '').split('.')) words.add(word);
    }
    expect(words.size).toBe(new Set([...ADJECTIVES, ...NOUNS]).size);
  });
});
