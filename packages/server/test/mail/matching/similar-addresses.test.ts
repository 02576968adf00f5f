import { describe, expect, it } from 'vitest';
import { areAlike } from '../../../src/mail/matching/similar-addresses.ts';

describe('an address that may have been meant for another', () => {
  it.each([
    ['a slip', 'brave.otter48213377@mayfly.test', 'brave.oter48213377@mayfly.test'],
    ['another letter', 'brave.otter48213377@mayfly.test', 'brave.ottar48213377@mayfly.test'],
    ['swapped neighbours', 'brave.otter48213377@mayfly.test', 'barve.otter48213377@mayfly.test'],
    ['two slips', 'brave.otter48213377@mayfly.test', 'brave.oter4821337@mayfly.test'],
    ['missing dots', 'brave.quick.otter@mayfly.test', 'bravequickotter@mayfly.test'],
    ['other separators', 'brave.quick_otter-1@mayfly.test', 'brave-quick-otter_1@mayfly.test'],
    ['missing digits', 'brave.otter48213377@mayfly.test', 'brave.otter4821@mayfly.test'],
    ['no digits', 'brave.otter48213377@mayfly.test', 'brave.otter@mayfly.test'],
    ['a tag without a plus', 'ada@mayfly.test', 'ada-signup@mayfly.test'],
    ['another domain', 'ada@mayfly.test', 'ada@second.test'],
    ['a slip in a short name', 'ada@mayfly.test', 'adda@mayfly.test'],
  ])('is known by %s', (_name, a, b) => {
    expect([areAlike(a, b), areAlike(b, a)]).toEqual([true, true]);
  });

  it.each([
    ['the address itself', 'ada@mayfly.test', 'ada@mayfly.test'],
    ['another word', 'brave.otter48213377@mayfly.test', 'calm.heron93712085@mayfly.test'],
    [
      'the same words with other digits',
      'brave.otter48213377@mayfly.test',
      'brave.otter90155120@mayfly.test',
    ],
    ['two slips in a short name', 'ada@mayfly.test', 'eva@mayfly.test'],
    ['digits alone', '1111111@mayfly.test', '2222222@mayfly.test'],
    ['a slip and another domain', 'ada@mayfly.test', 'adda@second.test'],
    ['a longer name', 'ada@mayfly.test', 'adalovelace@mayfly.test'],
  ])('is not %s', (_name, a, b) => {
    expect([areAlike(a, b), areAlike(b, a)]).toEqual([false, false]);
  });
});
