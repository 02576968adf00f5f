import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonPieces } from '../../src/mail/full-json.ts';

const written = (json: JsonPieces): string => Buffer.concat(json.finish()).toString();
const MIB = 1024 * 1024;

describe('JSON in pieces', () => {
  it('is what JSON.stringify makes, for any value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
        const json = new JsonPieces(MIB);
        json.write(value);
        expect(JSON.parse(written(json))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('is the same for strings that are longer than a piece, also where a pair of surrogates is cut', () => {
    const long = ['x', '\u0001"', '\u{1f600}', 'é\ud800'].map((one) => `a${one.repeat(400_000)}`);
    const json = new JsonPieces(100 * MIB);
    json.write({ long, missing: undefined });
    expect(json.isCut).toBe(false);
    expect(written(json)).toBe(JSON.stringify({ long }));
    expect(json.finish().length).toBeGreaterThan(4);
  });

  it('has strings of a limited number of bytes together, and tells that they were cut', () => {
    const json = new JsonPieces(3 * MIB);
    json.write({ first: '\u0001'.repeat(MIB), second: 'x'.repeat(MIB), third: 1 });
    expect(json.isCut).toBe(true);
    const text = written(json);
    expect(text.length).toBeLessThan(4 * MIB);
    expect(JSON.parse(text)).toMatchObject({ third: 1 });
  });
});
