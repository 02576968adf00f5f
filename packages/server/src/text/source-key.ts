import { isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** An IPv4 address as a socket for both families shows it (RFC 4291 section 2.5.5.2). */
const MAPPED_IPV4 = /^::ffff:(?=\d+\.)/i;
/** Bytes of an IPv6 address that name a network: a customer gets a /64 at least, and chooses the rest (RFC 6177). */
const NETWORK_BYTES = 8;

/**
 * @param address as `socket.remoteAddress` shows it: nothing for a socket that is closed already
 * @returns the address of a client, IPv4 as such where a listener on both families shows it as IPv6
 */
export const plainAddress = (address = ''): string => address.replace(MAPPED_IPV4, '');

/**
 * The key under which limits count a client: its IPv4 address, or the /64 network of its IPv6 address.
 * @param address as `socket.remoteAddress` shows it; what is no address, as of a socket that is closed already, is
 *   its own key
 */
export function sourceKey(address = ''): string {
  const plain = plainAddress(address);
  if (!isIPv6(plain)) return plain;
  const bytes = ipaddr.parse(plain).toByteArray();
  return Buffer.from(bytes.slice(0, NETWORK_BYTES)).toString('hex');
}
