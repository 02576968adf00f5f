import { describe, expect, it } from 'vitest';
import { isHelloName } from '../../src/smtp/protocol.ts';
import CASES from './hello-names.json' with { type: 'json' };

describe('EHLO and HELO accept', () => {
  it.each(CASES.accepted)('%s', (_, name) => expect(isHelloName(name)).toBe(true));
});

describe('EHLO and HELO refuse with 501', () => {
  it.each(CASES.refused)('%s', (_, name) => expect(isHelloName(name)).toBe(false));
});
