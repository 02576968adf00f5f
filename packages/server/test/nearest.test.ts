import { describe, expect, it } from 'vitest';
import { didYouMean, nearest, quoted } from '../src/text/nearest.ts';

const FIELDS = ['ttlMinutes', 'domain', 'localPart', 'address', 'labels', 'webhookUrl'];
const WAIT = ['match', 'since', 'count', 'timeoutSeconds'];
const COMMANDS = ['dev', 'serve', 'config', 'account', 'key', 'domain', 'openapi', 'version'];

describe('the nearest known name', () => {
  it.each([
    ['ttl', FIELDS, 'ttlMinutes'],
    ['ttl_minutes', FIELDS, 'ttlMinutes'],
    ['ttlSeconds', FIELDS, 'ttlMinutes'],
    ['minutes', FIELDS, 'ttlMinutes'],
    ['domian', FIELDS, 'domain'],
    ['adress', FIELDS, 'address'],
    ['webhook', FIELDS, 'webhookUrl'],
    ['url', FIELDS, 'webhookUrl'],
    ['timeoutMs', WAIT, 'timeoutSeconds'],
    ['Since', WAIT, 'since'],
    ['sever', COMMANDS, 'serve'],
    ['attachments', ['from', 'hasAttachments'], 'hasAttachments'],
  ])('of %j is found', (given, known, expected) => {
    expect(nearest(given, known)).toBe(expected);
    expect(didYouMean(given, known)).toBe(` Did you mean "${expected}"?`);
  });

  it.each([
    ['', FIELDS],
    ['zzz', FIELDS],
    ['to', ['q', 'a']],
    ['__proto__', FIELDS],
    ['ttl', []],
    ['t'.repeat(65), ['t'.repeat(64)]],
  ])('of %j does not exist', (given, known) => {
    expect(nearest(given, known)).toBeUndefined();
    expect(didYouMean(given, known)).toBe('');
  });

  it('is the first of two equally near names', () => {
    expect(nearest('cat', ['cart', 'coat'])).toBe('cart');
    expect(nearest('cat', ['coat', 'cart'])).toBe('coat');
  });

  it('prefers an exact name in another spelling to a nearer-looking one', () => {
    expect(nearest('rcpt_to', ['rcpt', 'to', 'rcptTo'])).toBe('rcptTo');
  });
});

describe('a quoted value', () => {
  it.each([
    ['ttl', '"ttl"'],
    ['', '""'],
    ['a"b\\c', '"a\\"b\\\\c"'],
    ['line\r\nend', '"line\\u{d}\\u{a}end"'],
    ['\u001b[31mred', '"\\u{1b}[31mred"'],
    ['abc\u202Etxt', '"abc\\u{202e}txt"'],
    ['half \uD83D', '"half \\u{d83d}"'],
    ['größe 邮件 😀', '"größe 邮件 😀"'],
  ])('of %j is %s', (value, expected) => {
    expect(quoted(value)).toBe(expected);
  });

  it('never shows the secret part of a credential', () => {
    const key = `mfk_${'aB3'.repeat(11)}`;
    const texts = [key, `Bearer ${key}`, `/v1/inboxes/${key}/messages`, key.slice(0, 20), `x${key}x`];
    for (const text of [...texts, 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD0hzBz1cP1Qo=']) {
      expect(quoted(text)).toMatch(/(mfk|whsec)_…/);
      expect(quoted(text)).not.toMatch(/aB3|C2FV/);
    }
    expect(quoted(`${'x'.repeat(58)}${key}`)).not.toContain('aB');
  });

  it('is cut to 60 characters and never splits one', () => {
    expect(quoted('x'.repeat(60))).toBe(`"${'x'.repeat(60)}"`);
    expect(quoted('x'.repeat(1_000_000))).toBe(`"${'x'.repeat(60)}…"`);
    expect(quoted('😀'.repeat(61))).toBe(`"${'😀'.repeat(60)}…"`);
  });
});
