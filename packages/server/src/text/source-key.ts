import { isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** An IPv4 address as a dual-stack socket shows it (RFC 4291 section 2.5.5.2). */
const MAPPED_IPV4 = /^::ffff:(?=\d+\.)/i;
/** Network part of an IPv6 address: a customer has at least a /64 (RFC 6177). */
const NETWORK_BYTES = 8;

export const plainAddress = (address = ''): string => address.replace(MAPPED_IPV4, '');

/** Key of a client in limits: its IPv4 address or IPv6 /64 network; any other text is its own key. */
export function sourceKey(address = ''): string {
  const plain = plainAddress(address);
  if (!isIPv6(plain)) return plain;
  const bytes = ipaddr.parse(plain).toByteArray();
  return Buffer.from(bytes.slice(0, NETWORK_BYTES)).toString('hex');
}
