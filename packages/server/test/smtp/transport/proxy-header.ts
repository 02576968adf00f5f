import ipaddr from 'ipaddr.js';

/** What a header of the PROXY protocol's version 2 is made of; by default version 2 and the command PROXY. */
export interface ProxyHeaderParts {
  version?: number;
  /** 0 LOCAL, 1 PROXY. */
  command?: number;
  /** Family in the high four bits, transport in the low ones. */
  protocol: number;
  source?: string;
  destination?: string;
  /** Behind the addresses and ports; instead of them where there are none. */
  more?: Buffer;
}

export const FROM_IPV4 = { protocol: 0x11, source: '198.51.100.7', destination: '192.0.2.1' };
export const FROM_IPV6 = { protocol: 0x21, source: '2001:db8::7', destination: '2001:db8::1' };

/** The header as a load balancer sends it, from port 40000 to port 25. */
export function proxyHeader(parts: ProxyHeaderParts): Buffer {
  const { version = 2, command = 1, protocol, source, destination, more = Buffer.alloc(0) } = parts;
  const addresses = [source, destination].flatMap((text) => (text ? ipaddr.parse(text).toByteArray() : []));
  const ports = source ? [40000 >> 8, 40000 & 0xff, 0, 25] : [];
  const rest = Buffer.concat([Buffer.from([...addresses, ...ports]), more]);
  const fixed = Buffer.from([version * 16 + command, protocol, rest.length >> 8, rest.length & 0xff]);
  return Buffer.concat([Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1'), fixed, rest]);
}
