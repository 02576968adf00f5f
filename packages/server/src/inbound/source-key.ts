import { isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Bytes of an IPv6 address that name a network: a customer gets a /64 at least, and chooses the rest. */
const NETWORK_BYTES = 8;

/**
 * The key under which limits count a client: its IPv4 address, or the /64 network of its IPv6 address.
 * @param address without a zone; anything that is no address is its own key
 */
export function sourceKey(address: string): string {
  if (!isIPv6(address)) return address;
  const bytes = ipaddr.parse(address).toByteArray();
  return Buffer.from(bytes.slice(0, NETWORK_BYTES)).toString('hex');
}
