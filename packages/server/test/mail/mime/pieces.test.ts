import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { joinTexts } from '../../../src/mail/bodies.ts';
import { fold } from '../../../src/mail/matching/compared-content.ts';
import { runs } from '../../support/form.ts';

/** A text of some hundred thousand characters, of a few of these in an order that repeats. */
const longText = (...parts: string[]) =>
  fc
    .tuple(fc.array(fc.constantFrom(...parts), { minLength: 1, maxLength: 40 }), fc.nat(9))
    .map(
      ([some, start]) => 'x'.repeat(start) + some.join('').repeat(Math.ceil(300_000 / some.join('').length)),
    );

describe('a text that is changed piece by piece is what it would be as a whole', () => {
  it('line ends and NULs, wherever they are', () => {
    const texts = longText('\r', '\n', '\r\n', '\0', ' ', 'a', 'é', 'Ж', '😀');
    fc.assert(
      fc.property(texts, (text) => {
        expect(joinTexts([text])).toBe(text.replaceAll('\0', '').replaceAll('\r\n', '\n'));
      }),
      runs(20, 2_000),
    );
  });

  it('words that are compared', () => {
    const words = [
      'ΟΔΟΣ',
      'ΣΟΦΟΣ',
      'e\u0301t\u0065\u0301',
      'I\u0307',
      'Straße',
      '“X”',
      '가\u1100\u1161',
      'ÀÉ',
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 30 }), (some) => {
        const long = Array.from({ length: 40_000 }, (_, i) => some[i % some.length] ?? '');
        expect(fold(long.join('\r\n  '))).toBe(long.map(fold).join(' '));
      }),
      runs(6, 200),
    );
  });
});
