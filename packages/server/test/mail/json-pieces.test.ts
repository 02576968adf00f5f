import { expect, it } from 'vitest';
import { jsonPieces } from '../../src/mail/full-json.ts';

const MIB = 1024 * 1024;
const written = (value: object, maxBytes = 100 * MIB) => {
  const { pieces, isCut } = jsonPieces(value, maxBytes);
  return { json: Buffer.concat(pieces).toString(), isCut };
};

it('JSON in pieces is what JSON.stringify makes, also where a long string is split at a pair of surrogates', () => {
  const long = ['x', '\u0001"', '\u{1f600}', 'é\ud800'].map((one) => `a${one.repeat(400_000)}`);
  for (const value of [{}, { a: ['"\\u0000"', null, { b: 1.5, missing: undefined }] }, { long, c: 'short' }])
    expect(written(value)).toEqual({ json: JSON.stringify(value), isCut: false });
});

it('JSON in pieces has strings of a limited number of bytes together, and tells that they were cut', () => {
  const value = { first: '\u0001'.repeat(MIB), second: 'x'.repeat(MIB), third: 1 };
  const { json, isCut } = written(value, 3 * MIB);
  expect(isCut).toBe(true);
  expect(json.length).toBeLessThan(3 * MIB + 100);
  expect(JSON.parse(json)).toMatchObject({ third: 1 });
});
