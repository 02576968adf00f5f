import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  inboxAddress,
  isChosenLocalPart,
  isReservedLocalPart,
  parseAddress,
} from '../../src/mail/address.ts';

const key = (text: string, smtputf8 = false) => {
  const parsed = parseAddress(text, { smtputf8 });
  return parsed && inboxAddress(parsed);
};

describe('the inbox that an address refers to', () => {
  it('does not depend on case', () => {
    expect(key('Calm.Otter1@Mayfly.TEST')).toBe('calm.otter1@mayfly.test');
  });

  it('does not depend on a plus-tag, which stays in what was parsed', () => {
    expect(key('calm.otter+signup+2@mayfly.test')).toBe('calm.otter@mayfly.test');
    const parsed = { local: 'calm.otter+signup', domain: 'mayfly.test' };
    expect(parseAddress('calm.otter+signup@mayfly.test')).toEqual(parsed);
    expect(key('+tag@mayfly.test'), 'a tag of nothing is no tag').toBe('+tag@mayfly.test');
  });

  it('does not depend on angle brackets, a source route or needless quotes', () => {
    const routed = '<@relay.example,@other.example:calm@mayfly.test>';
    for (const written of ['<calm@mayfly.test>', routed, '"calm"@mayfly.test', '"ca\\lm"@mayfly.test'])
      expect(key(written), written).toBe('calm@mayfly.test');
  });

  it('is never another one: a local part that needs quotes keeps them', () => {
    for (const same of ['"a@b"@mayfly.test', '"a\\"b"@mayfly.test', 'x%y@mayfly.test'])
      expect(key(same)).toBe(same);
  });

  it('is its NFC form with SMTPUTF8, and nothing without it', () => {
    expect(key('jose\u0301@mayfly.test', true)).toBe('jos\u00e9@mayfly.test');
    expect(key('jos\u00e9@mayfly.test')).toBeUndefined();
    expect(key('a@b\u00fccher.test', true)).toBe('a@xn--bcher-kva.test');
    expect(key('a@b\u00fccher.test')).toBeUndefined();
    const homoglyph = key('p\u0430ypal@mayfly.test', true);
    expect(homoglyph, 'a homoglyph is another inbox').not.toBe('paypal@mayfly.test');
  });
});

describe('texts that are not an address', () => {
  it.each([
    ...['', '<>', '@', 'postmaster', '<postmaster>', 'a@', '@b', '<a@b', 'a@b>', 'a@b@c', 'a b@c', 'a..b@c'],
    ...['.a@c', 'a.@c', 'a@-b.c', 'a@b-.c', 'a@b..c', 'a@b.', 'a@b_c.d', 'a@[1.2.3]'],
    ...['a@[IPv6:fe80::1%eth0]', 'a@our.example\r\nDATA', 'a@b\0', '"a@b', '"a"b@c', '(comment)a@b'],
    ...['a@b (comment)'],
  ])('%j', (text) => {
    expect(parseAddress(text)).toBeUndefined();
    expect(parseAddress(text, { smtputf8: true })).toBeUndefined();
  });

  it('a local part has 64 octets at most, a domain 255, a path 256 with its brackets', () => {
    const label = 'a'.repeat(63);
    expect(parseAddress(`${'x'.repeat(64)}@a.test`)).toBeDefined();
    expect(parseAddress(`${'x'.repeat(65)}@a.test`)).toBeUndefined();
    expect(parseAddress(`${'é'.repeat(33)}@a.test`, { smtputf8: true })).toBeUndefined();
    const long = `${label}.${label}.${label}`;
    expect(parseAddress(`x@${long}.${'b'.repeat(60)}`)).toBeDefined();
    expect(parseAddress(`x@${long}.${'b'.repeat(61)}`)).toBeUndefined();
    expect(parseAddress(`x@${label}a.test`)).toBeUndefined();
  });

  it('any text at all gives an address or undefined, and a key reads back as itself', () => {
    // The unit 'binary' of fast-check takes a second to prepare.
    const unit = fc.integer({ min: 0, max: 0x10_ffff }).map((point) => String.fromCodePoint(point));
    fc.assert(
      fc.property(fc.string({ unit }), fc.constantFrom('', '@b.test'), (text, end) => {
        const first = parseAddress(text + end, { smtputf8: true });
        if (first === undefined) return;
        const once = inboxAddress(first);
        const again = parseAddress(once, { smtputf8: true });
        // Folding case may lengthen a letter past the 64 octets; then nobody has that inbox.
        if (again !== undefined) expect(inboxAddress(again)).toBe(once);
      }),
    );
  });
});

describe('a local part chosen by a client', () => {
  it('has letters, digits, dots inside, underscores and hyphens', () => {
    for (const fine of ['a', 'calm.otter', 'run_1-x', '0', 'a'.repeat(64)])
      expect(isChosenLocalPart(fine), fine).toBe(true);
    for (const bad of ['', '.a', 'a.', 'a..b', 'A', 'a+b', 'a b', 'é', 'a@b', 'a'.repeat(65)])
      expect(isChosenLocalPart(bad), bad).toBe(false);
  });

  it('is none of the names that RFC 2142 gives to the domain itself', () => {
    for (const name of ['postmaster', 'Abuse', 'hostmaster', 'security', 'webmaster', 'noc'])
      expect(isReservedLocalPart(name), name).toBe(true);
    expect(isReservedLocalPart('calm.otter')).toBe(false);
  });
});
