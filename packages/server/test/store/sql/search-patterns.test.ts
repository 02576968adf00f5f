import { describe, expect, it } from 'vitest';
import { fold } from '../../../src/mail/matching/compared-content.ts';
import { withoutInvisible } from '../../../src/mail/mime/clean.ts';
import { INVISIBLE_SET, likePattern } from '../../../src/messages/sql/search.ts';

describe('the pattern by which the database finds candidates', () => {
  it('is short however long the words are, because the database compares it at each place of a text', () => {
    for (const text of ['a'.repeat(499), `${'a'.repeat(498)}b`, 'shop@example.org-'.repeat(29)]) {
      expect(likePattern(text)?.length).toBeLessThanOrEqual(18);
    }
  });

  it('names only characters that nothing else folds to, in all of Unicode', () => {
    const others: string[] = [];
    for (let code = 0x80; code <= 0x10ffff; code++) {
      if (code >= 0xd800 && code <= 0xdfff) continue;
      const folded = fold(String.fromCodePoint(code));
      // i, k and the hyphen are wildcards in patterns.
      if (/[a-hjl-z0-9@.+]/.test(folded)) others.push(code.toString(16));
    }
    expect(others).toEqual([]);
  });

  it('is not trusted where a subject has characters without a width, of which the databases know all', () => {
    const isInSet = new RegExp(INVISIBLE_SET, 'u');
    const unknown: string[] = [];
    for (let code = 0; code <= 0x10ffff; code++) {
      const character = String.fromCodePoint(code);
      if (withoutInvisible(character) === '' && !isInSet.test(character)) unknown.push(code.toString(16));
    }
    expect(unknown).toEqual([]);
  });
});
