import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readProxyHeader } from '../../src/smtp/input.ts';
import { type StartedSmtp, startSmtp } from '../smtp/start-smtp.ts';
import { playSmtp } from '../support/smtp-script.ts';

let smtp: StartedSmtp;
beforeEach(async () => {
  smtp = await startSmtp();
});
afterEach(() => smtp.stop());

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
  ])('%s', async (_, name) => {
    for (const verb of ['EHLO', 'HELO']) {
      await playSmtp(smtp.port, ['→ 220', `${verb} ${name} → 250`]);
    }
  });
});

describe('EHLO and HELO refuse with 501', () => {
  it.each([
    ['nothing', ''],
    ['two names', 'a.example b.example'],
    ['an address', 'user@example.com'],
    ['a path', '<a@example.com>'],
    ['markup', '<script>alert(1)</script>'],
    ['an empty label', 'a..example'],
    ['a leading dot', '.example.com'],
    ['a lone dot', '.'],
    ['a label of 64 letters', `${label(64)}.example.com`],
    [
      'a name of 256 letters',
      Array.from({ length: 4 }, () => label(63))
        .join('.')
        .concat('x'),
    ],
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
  ])('%s', async (_, name) => {
    for (const verb of ['EHLO', 'HELO']) {
      await playSmtp(smtp.port, ['→ 220', `${verb} ${name} → 501 5.5.4`]);
    }
  });
});

const V1_VALID = 'PROXY TCP4 198.51.100.7 192.0.2.1 40000 25\r\n';
const v2 = (command: number, protocol: number, rest: Buffer): Buffer => {
  const fixed = Buffer.from('\r\n\r\n\0\r\nQUIT\n\0\0\0\0', 'latin1');
  fixed[12] = 0x20 | command;
  fixed[13] = protocol;
  fixed.writeUInt16BE(rest.length, 14);
  return Buffer.concat([fixed, rest]);
};
const ADDRESSES = Buffer.from([198, 51, 100, 7, 192, 0, 2, 1, 0x9c, 0x40, 0, 25]);
const tlv = (type: number, value: Buffer): Buffer => {
  const head = Buffer.from([type, 0, 0]);
  head.writeUInt16BE(value.length, 1);
  return Buffer.concat([head, value]);
};
const withTlvs = (...all: Buffer[]) => v2(1, 0x11, Buffer.concat([ADDRESSES, ...all]));

describe('the PROXY header, version 1', () => {
  it('is accepted as the specification writes it', () => {
    expect(readProxyHeader(Buffer.from(V1_VALID))).toEqual({
      length: V1_VALID.length,
      client: '198.51.100.7',
    });
  });

  it.each([
    ['a port with a leading zero', 'PROXY TCP4 198.51.100.7 192.0.2.1 04000 25\r\n'],
    ['a port above 65535', 'PROXY TCP4 198.51.100.7 192.0.2.1 65536 25\r\n'],
    ['an address with a leading zero', 'PROXY TCP4 198.051.100.7 192.0.2.1 40000 25\r\n'],
    ['two spaces', 'PROXY TCP4  198.51.100.7 192.0.2.1 40000 25\r\n'],
    ['a tab', 'PROXY TCP4\t198.51.100.7 192.0.2.1 40000 25\r\n'],
    ['a space at the end', 'PROXY TCP4 198.51.100.7 192.0.2.1 40000 25 \r\n'],
    ['an IPv6 address for TCP4', 'PROXY TCP4 2001:db8::1 192.0.2.1 40000 25\r\n'],
    ['lower case', 'proxy TCP4 198.51.100.7 192.0.2.1 40000 25\r\n'],
    ['a bare LF', 'PROXY TCP4 198.51.100.7 192.0.2.1 40000 25\n\r\n'],
    ['another protocol', 'PROXY UDP4 198.51.100.7 192.0.2.1 40000 25\r\n'],
    ['a zone', 'PROXY TCP6 fe80::1%eth0 2001:db8::1 40000 25\r\n'],
    ['a control character after UNKNOWN', 'PROXY UNKNOWN \0\r\n'],
  ])('is invalid with %s', (_, line) => {
    expect(readProxyHeader(Buffer.from(line))).toBe('invalid');
  });
});

describe('the PROXY header, version 2', () => {
  it.each([
    ['TCP over IPv4', v2(1, 0x11, ADDRESSES)],
    ['padding and unknown TLVs', withTlvs(tlv(0x04, Buffer.alloc(5)), tlv(0xea, Buffer.from('vpce-1')))],
    ['a TLV that is cut off', withTlvs(Buffer.from([0x04, 0, 9, 1]))],
  ])('is accepted with %s', (_, header) => {
    expect(readProxyHeader(header)).toEqual({ length: header.length, client: '198.51.100.7' });
  });

  it.each([
    ['a datagram protocol', v2(1, 0x12, ADDRESSES)],
    ['a family without a transport', v2(1, 0x10, ADDRESSES)],
    ['a transport without a family', v2(1, 0x01, Buffer.alloc(0))],
  ])('is invalid with %s', (_, header) => {
    expect(readProxyHeader(header)).toBe('invalid');
  });

  it('from the balancer itself (LOCAL) has its rest ignored', () => {
    const header = v2(0, 0, Buffer.from([1, 2, 3]));
    expect(readProxyHeader(header)).toEqual({ length: header.length, client: null });
  });
});
