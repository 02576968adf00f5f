import { describe, expect, it } from 'vitest';
import { isHelloName } from '../../src/smtp/protocol.ts';

const label = (letters: number) => 'x'.repeat(letters);

describe('EHLO and HELO accept', () => {
  it.each([
    ['a host name', 'mail.example.com'],
    ['a name without a dot, as containers and laptops have', 'localhost'],
    ['capital letters, digits and hyphens', 'MacBook-Pro-2.local'],
    ['an underscore, as names of containers have', 'app_web_1'],
    ['a trailing dot', 'mail.example.com.'],
    ['a label of 63 letters', `${label(63)}.example.com`],
    ['letters of other scripts (RFC 6531 section 3.7.1)', 'почта.пример.рф'],
    ['an IPv4 literal', '[192.0.2.1]'],
    ['an IPv6 literal', '[IPv6:2001:db8::1]'],
    ['an IPv6 literal without its tag, as some libraries send it', '[::1]'],
    ['a bare IPv4 address, as some libraries send it', '127.0.0.1'],
  ])('%s', (_, name) => expect(isHelloName(name)).toBe(true));
});

describe('EHLO and HELO refuse with 501', () => {
  it.each([
    ['nothing', ''],
    ['an address', 'user@example.com'],
    ['a path', '<a@example.com>'],
    ['markup', '<script>alert(1)</script>'],
    ['an empty label', 'a..example'],
    ['a leading dot', '.example.com'],
    ['a lone dot', '.'],
    ['a label of 64 letters', `${label(64)}.example.com`],
    ['a name of 256 letters', `${Array(4).fill(label(63)).join('.')}x`],
    ['a label that begins with a hyphen', '-a.example'],
    ['a label that ends with a hyphen', 'a-.example'],
    ['a literal without its end', '[192.0.2.1'],
    ['a literal that is no address', '[192.0.2.256]'],
    ['an IPv6 literal that is none', '[IPv6:2001:db8::g]'],
    ['an IPv4 literal with an IPv6 tag', '[IPv6:192.0.2.1]'],
    ['an empty literal', '[]'],
    ['a literal with a comment', '[192.0.2.1](x)'],
    ['a parenthesis, which would begin a comment in a Received line', 'a(b'],
    ['a comma', 'a,b'],
    ['a colon', 'a:25'],
    ['quotes', '"a"'],
    ['percent signs of a URL', 'a%0d%0ab'],
    ['bytes that are no UTF-8', '\u{FFFD}'],
  ])('%s', (_, name) => expect(isHelloName(name)).toBe(false));
});
