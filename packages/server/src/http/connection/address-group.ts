/** An IPv4 address as a socket for both families shows it (RFC 4291 section 2.5.5.2). */
const MAPPED_IPV4 = /^::ffff:(?=\d+\.)/i;
/** One customer usually has a whole /64 of IPv6, which are the first four of eight groups (RFC 6177). */
const NETWORK_GROUPS = 4;
const ALL_GROUPS = 8;

/**
 * The addresses that limits count as one client: an IPv4 address, or the /64 network of an IPv6 address.
 * @param address as `socket.remoteAddress` shows it; undefined for a socket that is closed already
 */
export function addressGroup(address = ''): string {
  const plain = address.replace(MAPPED_IPV4, '');
  if (!plain.includes(':')) return plain;
  const [head = '', tail] = plain.split('%', 1).join('').split('::');
  const first = head === '' ? [] : head.split(':');
  const last = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = new Array<string>(Math.max(0, ALL_GROUPS - first.length - last.length)).fill('0');
  const groups = [...first, ...(tail === undefined ? [] : zeros), ...last];
  return `${groups.slice(0, NETWORK_GROUPS).join(':')}::/64`;
}
