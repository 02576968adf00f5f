import { describe, expect, it } from 'vitest';
import { parseJsonBody } from '../../../src/http/request/inputs.ts';

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const errorOf = (body: Uint8Array): string => {
  try {
    parseJsonBody(body);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return 'valid';
};

describe('a body that is not JSON', () => {
  it.each([
    ['{"ttlMinutes": 5,}', 'Expected double-quoted property name in JSON at position 17 (line 1 column 18).'],
    [
      '{\n  "ttlMinutes": 5\n  "domain": "x"\n}',
      "Expected ',' or '}' after property value in JSON at position 22 (line 3 column 3).",
    ],
    ["{'a': 1}", "Expected property name or '}' in JSON at position 1 (line 1 column 2)."],
    ['{"a": True}', `Unexpected token 'T', "{"a": True}" is not valid JSON.`],
    ['{"a": 1', "Expected ',' or '}' after property value in JSON at position 7 (line 1 column 8)."],
    ['{"a": "x\ny"}', 'Bad control character in string literal in JSON at position 8 (line 1 column 9).'],
    [' ', 'Unexpected end of JSON input.'],
  ])('is refused with what is wrong and where: %j', (body, fault) => {
    expect(errorOf(utf8(body))).toBe(`The body is not valid JSON. ${fault}`);
  });

  it('is refused without the secret part of a credential in it', () => {
    expect(errorOf(utf8('mfk_0123456789'))).toBe(
      `The body is not valid JSON. Unexpected token 'm', "mfk_…" is not valid JSON.`,
    );
  });

  it('is refused with the first byte that is not UTF-8', () => {
    const body = new Uint8Array([...utf8('{"name": "Gr\u00fc'), 0xfc, ...utf8('n"}')]);
    expect(errorOf(body)).toBe('The body is not valid UTF-8 from byte 14 on. Encode JSON in UTF-8.');
    expect(errorOf(utf8('{"a": "\u00e9').subarray(0, -1))).toMatch(/not valid UTF-8 from byte 7 on/);
  });

  it('costs no stack, however deep it is nested', () => {
    expect(errorOf(utf8(`${'['.repeat(60_000)}x`))).toMatch(/Unexpected token 'x'/);
  });
});
