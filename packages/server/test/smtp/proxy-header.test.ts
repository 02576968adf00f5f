import { isIP } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_PROXY_HEADER_BYTES, readProxyHeader } from '../../src/smtp/input.ts';
import { FROM_IPV4, FROM_IPV6, proxyHeader } from './transport/proxy-header.ts';

const tlvs = (bytes: number): Buffer => {
  const one = Buffer.alloc(bytes);
  one[0] = 0xee;
  if (bytes >= 3) one.writeUInt16BE(bytes - 3, 1);
  return one;
};

/** A header is read whole, at every cut of it, and no byte more. */
function expectHeader(header: Buffer, client: string | null): void {
  for (let cut = 0; cut < header.length; cut++) {
    expect(readProxyHeader(header.subarray(0, cut))).toBe('incomplete');
  }
  const found = { length: header.length, client };
  expect(readProxyHeader(header)).toEqual(found);
  expect(readProxyHeader(Buffer.concat([header, Buffer.from('EHLO c\r\n')]))).toEqual(found);
}

describe('a PROXY header of version 1', () => {
  it.each([
    ['TCP4 198.51.100.7 192.0.2.1 40000 25', '198.51.100.7'],
    ['TCP6 2001:db8::7 2001:DB8::1 40000 25', '2001:db8::7'],
    ['TCP6 ::ffff:198.51.100.7 2001:db8::1 40000 25', '198.51.100.7'],
    ['TCP4 198.51.100.7 192.0.2.1 0 65535', '198.51.100.7'],
    ['UNKNOWN', null],
    ['UNKNOWN ffff:f...f:ffff whatever 65535', null],
  ])('is read: PROXY %s', (rest, client) => {
    expectHeader(Buffer.from(`PROXY ${rest}\r\n`), client);
  });

  it.each([
    'PROXY',
    'PROXY ',
    'PROXY TCP4',
    'PROXY TCP4 not-an-address 192.0.2.1 1 2',
    'PROXY TCP4 2001:db8::7 2001:db8::1 1 2',
    'PROXY TCP6 192.0.2.1 192.0.2.2 1 2',
    'PROXY TCP6 fe80::1%eth0 2001:db8::1 1 2',
    'PROXY TCP4 192.0.2.1 192.0.2.2 1',
    'PROXY TCP4 192.0.2.1 192.0.2.2 1 65536',
    'PROXY TCP4 192.0.2.1 192.0.2.2 -1 2',
    'PROXY TCP4 192.0.2.1 192.0.2.2 1 2 3',
    'PROXY  TCP4 192.0.2.1 192.0.2.2 1 2',
    'PROXY TCP4 198.51.100.7 192.0.2.1 04000 25',
    'PROXY TCP4 198.051.100.7 192.0.2.1 40000 25',
    'PROXY TCP4\t198.51.100.7 192.0.2.1 40000 25',
    'PROXY TCP4 198.51.100.7 192.0.2.1 40000 25 ',
    'PROXY TCP4 198.51.100.7 192.0.2.1 40000 25\n',
    'PROXY UDP4 198.51.100.7 192.0.2.1 40000 25',
    'PROXY UNKNOWN \0',
    'PROXY UNKNOWNX',
    'proxy TCP4 192.0.2.1 192.0.2.2 1 2',
    'EHLO client.test',
  ])('is none: %j', (line) => {
    expect(readProxyHeader(Buffer.from(`${line}\r\n`))).toBe('invalid');
  });

  it('has at most 107 bytes and ends with CRLF', () => {
    const read = (rest: string) => readProxyHeader(Buffer.from(`PROXY UNKNOWN${rest}`));
    expect(read(` ${'x'.repeat(91)}\r\n`)).toMatchObject({ length: 107 });
    for (const rest of [` ${'x'.repeat(92)}\r\n`, ` ${'x'.repeat(93)}`, '\nEHLO c\r\n'])
      expect(read(rest)).toBe('invalid');
  });
});

describe('a PROXY header of version 2', () => {
  it.each([
    ['IPv4', FROM_IPV4, '198.51.100.7'],
    ['IPv6', FROM_IPV6, '2001:db8::7'],
    ['IPv4 in IPv6', { ...FROM_IPV6, source: '::ffff:198.51.100.7' }, '198.51.100.7'],
    ['IPv4 with TLVs', { ...FROM_IPV4, more: tlvs(300) }, '198.51.100.7'],
    ['IPv4 with a TLV that is cut off', { ...FROM_IPV4, more: Buffer.from([4, 0, 9, 1]) }, '198.51.100.7'],
    ['LOCAL', { command: 0, protocol: 0 }, null],
    ['LOCAL with addresses', { ...FROM_IPV4, command: 0 }, null],
    ['LOCAL with anything', { command: 0, protocol: 0xff, more: tlvs(5) }, null],
    ['a protocol that is not told', { protocol: 0, more: tlvs(20) }, null],
    ['a UNIX socket', { protocol: 0x31, more: tlvs(216) }, null],
  ])('is read whole, at every cut of it, and no byte more: %s', (_name, parts, client) => {
    expectHeader(proxyHeader(parts), client);
  });

  it.each([
    ['another version', { ...FROM_IPV4, version: 1 }],
    ['an unknown command', { ...FROM_IPV4, command: 2 }],
    ['an unknown family', { ...FROM_IPV4, protocol: 0x41 }],
    ['an unknown transport', { ...FROM_IPV4, protocol: 0x13 }],
    ['a family without a transport', { ...FROM_IPV4, protocol: 0x10 }],
    ['a transport without a family', { protocol: 0x01 }],
    ['UDP', { ...FROM_IPV4, protocol: 0x12 }],
    ['an IPv4 header too short for its addresses', { protocol: 0x11, more: tlvs(11) }],
    ['an IPv6 header too short for its addresses', { protocol: 0x21, more: tlvs(35) }],
    ['more than the limit', { ...FROM_IPV4, more: tlvs(MAX_PROXY_HEADER_BYTES - 16 - 12 + 1) }],
    ['all that its length can announce', { command: 0, protocol: 0, more: Buffer.alloc(0xffff) }],
  ])('is none as soon as its fixed part tells: %s', (_name, parts) => {
    const header = proxyHeader(parts);
    expect(readProxyHeader(header.subarray(0, 15))).toBe('incomplete');
    expect(readProxyHeader(header.subarray(0, 16))).toBe('invalid');
    expect(readProxyHeader(header)).toBe('invalid');
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
      expect(readProxyHeader(changed)).toBe('invalid');
      expect(readProxyHeader(changed.subarray(0, at + 1))).toBe('invalid');
    }
  });

  it('names an address or none, whatever its bytes are', () => {
    const bytes = fc.uint8Array({ maxLength: 80 });
    fc.assert(
      fc.property(fc.nat(3), fc.nat(0x40), bytes, (command, protocol, more) => {
        const found = readProxyHeader(proxyHeader({ command, protocol, more: Buffer.from(more) }));
        if (typeof found === 'string') return found === 'invalid';
        return found.client === null || isIP(found.client) > 0;
      }),
    );
  });
});
