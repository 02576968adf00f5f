import { describe, expect, it } from 'vitest';
import { fold } from '../../../src/mail/matching/compared-content.ts';
import { withoutInvisible } from '../../../src/mail/mime/clean.ts';
import { INVISIBLE_SET, likePattern } from '../../../src/messages/sql/search.ts';

/** All characters of Unicode from a code point on, in chunks: one call for each would take seconds. */
function* chunksFrom(first: number): Generator<string[]> {
  const SIZE = 0x80;
  for (let start = first; start <= 0x10ffff; start += SIZE) {
    const codes = Array.from({ length: SIZE }, (_, n) => start + n);
    yield codes.filter((code) => code < 0xd800 || code > 0xdfff).map((code) => String.fromCodePoint(code));
  }
}

describe('the pattern by which the database finds candidates', () => {
  it('is short however long the words are, because the database compares it at each place of a text', () => {
    for (const text of ['a'.repeat(499), `${'a'.repeat(498)}b`, 'shop@example.org-'.repeat(29)])
      expect(likePattern(text)?.length).toBeLessThanOrEqual(18);
  });

  it('names only characters that nothing else folds to, in all of Unicode', () => {
    // i, k and the hyphen are wildcards in patterns.
    const isNamed = (text: string) => /[a-hjl-z0-9@.+]/.test(fold(text));
    const others: string[] = [];
    for (const characters of chunksFrom(0x80))
      if (isNamed(characters.join('\n'))) others.push(...characters.filter(isNamed));
    expect(others).toEqual([]);
  });

  it('is not trusted where a subject has characters without a width, of which the databases know all', () => {
    const isInSet = new RegExp(INVISIBLE_SET, 'u');
    const unknown: string[] = [];
    for (const characters of chunksFrom(0)) {
      if (withoutInvisible(characters.join('')).length === characters.join('').length) continue;
      unknown.push(...characters.filter((one) => withoutInvisible(one) === '' && !isInSet.test(one)));
    }
    expect(unknown).toEqual([]);
  });
});
