import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findJsonFault, parseJsonBody } from '../../../src/http/request/json-body.ts';

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const errorOf = (body: Uint8Array): string => {
  try {
    parseJsonBody(body);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return 'valid';
};
const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

describe('a body that is not JSON', () => {
  it.each([
    [
      '{"ttlMinutes": 5,}',
      'line 1, column 18 (position 17) there is "}" where a field name in double quotes was expected. Remove the comma before "}".',
    ],
    [
      '{\n  "ttlMinutes": 5\n  "domain": "x"\n}',
      'line 3, column 3 (position 22) there is "\\"" where "," or the end of the object or array was expected.',
    ],
    [
      "{'a': 1}",
      'line 1, column 2 (position 1) there is "\'" where a field name in double quotes or "}" was expected. Put strings in straight double quotes.',
    ],
    [
      '{a: 1}',
      'line 1, column 2 (position 1) there is "a" where a field name in double quotes or "}" was expected. Put field names in double quotes.',
    ],
    ['{"a": }', 'line 1, column 7 (position 6) there is "}" where a value was expected.'],
    [
      '{"a": True}',
      'line 1, column 7 (position 6) there is "True" where a value was expected. Use true, false or null.',
    ],
    [
      '{"a": 1',
      'line 1, column 8 (position 7) the body ends where "," or the end of the object or array was expected.',
    ],
    ['{"a": "x', 'line 1, column 9 (position 8) the body ends where a closing double quote was expected.'],
    [
      '{"a": "x\ny"}',
      'line 1, column 9 (position 8) there is "\\u{a}" where a valid string was expected. Write line breaks and tabs within strings as \\n, \\r and \\t.',
    ],
    [
      '[1, 2',
      'line 1, column 6 (position 5) the body ends where "," or the end of the object or array was expected.',
    ],
    ['[}', 'line 1, column 2 (position 1) there is "}" where a value or "]" was expected.'],
    ['{} {}', 'line 1, column 4 (position 3) there is "{" where the end of the body was expected.'],
    ['ttlMinutes=5', 'line 1, column 1 (position 0) there is "ttlMinutes" where a value was expected.'],
    [
      '// x\n{}',
      'line 1, column 1 (position 0) there is "/" where a value was expected. JSON has no comments.',
    ],
    ['{"a" 1}', 'line 1, column 6 (position 5) there is "1" where ":" was expected.'],
    [' ', 'line 1, column 2 (position 1) the body ends where a value was expected.'],
    ['01', 'line 1, column 2 (position 1) there is "1" where the end of the body was expected.'],
  ])('is refused with line, column, position, what was found and what was expected: %j', (body, place) => {
    expect(errorOf(utf8(body))).toBe(`The body is not valid JSON: at ${place}`);
  });

  it('is refused with the first byte that is not UTF-8', () => {
    const body = new Uint8Array([...utf8('{"name": "Gr\u00fc'), 0xfc, ...utf8('n"}')]);
    expect(errorOf(body)).toBe('The body is not valid UTF-8 from byte 14 on. Encode JSON in UTF-8.');
    expect(errorOf(utf8('{"a": "\u00e9').subarray(0, -1))).toMatch(/not valid UTF-8 from byte 8 on/);
  });

  it('is found in any text that JSON.parse refuses, and in no other', () => {
    const pieces = fc.constantFrom(
      ...'{}[],:"\\ \n\t019-+.eEtrufalsn/*\'xé\u0000\u007f\u2028\ud800'.split(''),
    );
    const noise = fc.array(pieces, { maxLength: 12 }).map((all) => all.join(''));
    const spoilt = fc.tuple(fc.json(), fc.nat(), fc.nat({ max: 3 }), noise).map(([json, at, cut, other]) => {
      const from = at % (json.length + 1);
      return json.slice(0, from) + other + json.slice(from + cut);
    });
    fc.assert(
      fc.property(fc.oneof(noise, spoilt, fc.json()), (text) => {
        const fault = findJsonFault(text);
        expect(fault === undefined).toBe(isJson(text));
        if (!fault) return;
        expect(fault.position).toBeLessThanOrEqual(text.length);
        // Up to the fault nothing is wrong yet: what was found first is what is reported.
        const before = findJsonFault(text.slice(0, fault.position));
        expect(before?.position ?? fault.position).toBe(fault.position);
      }),
      { numRuns: 5_000 },
    );
  });

  it('costs no stack, however deep it is nested', () => {
    const deep = `${'['.repeat(60_000)}x`;
    expect(errorOf(utf8(deep))).toMatch(/column 60001 \(position 60000\) there is "x"/);
  });
});
