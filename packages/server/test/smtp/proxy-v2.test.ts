import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_PROXY_HEADER_BYTES, readProxyHeader } from '../../src/smtp/transport/proxy-v2.ts';
import { FROM_IPV4, FROM_IPV6, proxyHeader } from './proxy-header.ts';

const UNKNOWN = 'PROXY UNKNOWN\r\n';
const tlvs = (bytes: number) => Buffer.alloc(bytes, 0xee);

describe('a PROXY header of version 2', () => {
  it.each([
    ['IPv4', FROM_IPV4, 'PROXY TCP4 198.51.100.7 192.0.2.1 40000 25\r\n'],
    ['IPv6', FROM_IPV6, 'PROXY TCP6 2001:db8::7 2001:db8::1 40000 25\r\n'],
    [
      'IPv4 in IPv6',
      { ...FROM_IPV6, source: '::ffff:198.51.100.7' },
      'PROXY TCP4 198.51.100.7 2001:db8::1 40000 25\r\n',
    ],
    ['IPv4 with TLVs', { ...FROM_IPV4, more: tlvs(300) }, 'PROXY TCP4 198.51.100.7 192.0.2.1 40000 25\r\n'],
    ['LOCAL', { command: 0, protocol: 0 }, UNKNOWN],
    ['LOCAL with addresses', { ...FROM_IPV4, command: 0 }, UNKNOWN],
    ['LOCAL with anything', { command: 0, protocol: 0xff, more: tlvs(5) }, UNKNOWN],
    ['a protocol that is not told', { protocol: 0, more: tlvs(20) }, UNKNOWN],
    ['UDP', { ...FROM_IPV4, protocol: 0x12 }, UNKNOWN],
    ['a UNIX socket', { protocol: 0x31, more: tlvs(216) }, UNKNOWN],
  ])('is read whole, at every cut of it, and no byte more: %s', (_name, parts, line) => {
    const header = proxyHeader(parts);
    for (let cut = 0; cut < header.length; cut++) {
      expect(readProxyHeader(header.subarray(0, cut))).toBe('incomplete');
    }
    const found = { length: header.length, line };
    expect(readProxyHeader(header)).toEqual(found);
    expect(readProxyHeader(Buffer.concat([header, Buffer.from('EHLO c\r\n')]))).toEqual(found);
  });

  it.each([
    ['another version', { ...FROM_IPV4, version: 1 }],
    ['an unknown command', { ...FROM_IPV4, command: 2 }],
    ['an unknown family', { ...FROM_IPV4, protocol: 0x41 }],
    ['an unknown transport', { ...FROM_IPV4, protocol: 0x13 }],
    ['an IPv4 header too short for its addresses', { protocol: 0x11, more: tlvs(11) }],
    ['an IPv6 header too short for its addresses', { protocol: 0x21, more: tlvs(35) }],
    ['more than the limit', { ...FROM_IPV4, more: tlvs(MAX_PROXY_HEADER_BYTES - 16 - 12 + 1) }],
    ['all that its length can announce', { command: 0, protocol: 0, more: tlvs(0xffff) }],
  ])('is none as soon as its fixed part tells: %s', (_name, parts) => {
    const header = proxyHeader(parts);
    expect(readProxyHeader(header.subarray(0, 15))).toBe('incomplete');
    expect(readProxyHeader(header.subarray(0, 16))).toBe('none');
    expect(readProxyHeader(header)).toBe('none');
  });

  it('may be as long as the limit', () => {
    const header = proxyHeader({ ...FROM_IPV4, more: tlvs(MAX_PROXY_HEADER_BYTES - 16 - 12) });
    expect(readProxyHeader(header)).toMatchObject({ length: MAX_PROXY_HEADER_BYTES });
  });

  it('is none when any byte of the signature is another one', () => {
    const header = proxyHeader(FROM_IPV4);
    for (let at = 0; at < 12; at++) {
      const changed = Buffer.from(header);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(readProxyHeader(changed)).toBe('none');
      expect(readProxyHeader(changed.subarray(0, at + 1))).toBe('none');
    }
    expect(readProxyHeader(Buffer.from('PROXY TCP4 198.51.100.7 192.0.2.1 40000 25\r\n'))).toBe('none');
  });

  it('never makes more than one line of version 1, whatever its bytes are', () => {
    const bytes = fc.uint8Array({ maxLength: 80 });
    fc.assert(
      fc.property(fc.nat(3), fc.nat(0x40), bytes, (command, protocol, more) => {
        const found = readProxyHeader(proxyHeader({ command, protocol, more: Buffer.from(more) }));
        if (typeof found === 'string') return found === 'none';
        return /^PROXY (?:UNKNOWN|TCP[46] [0-9a-f.:]+ [0-9a-f.:]+ \d+ \d+)\r\n$/.test(found.line);
      }),
    );
  });
});
