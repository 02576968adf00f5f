import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

export interface Cidr {
  address: ipaddr.IPv4 | ipaddr.IPv6;
  prefixLength: number;
  /** In CIDR form, as it was configured. */
  toString(): string;
}

/** False for an invalid address. `::ffff:192.0.2.1` is an IPv6 address and not inside an IPv4 network. */
export function isInside({ address, prefixLength }: Cidr, ip: string): boolean {
  if (!ipaddr.isValid(ip)) return false;
  const inner = ipaddr.parse(ip);
  return inner.kind() === address.kind() && inner.match([address, prefixLength]);
}

/** Parses networks in CIDR form, separated by commas or white space. @throws Error that lists invalid ones */
export function parseCidrs(text: string): Cidr[] {
  const parsed = (text.match(/[^\s,]+/g) ?? []).map(parseCidr);
  const problems = parsed.filter((one) => typeof one === 'string');
  if (problems.length > 0) throw new Error(problems.join('; '));
  return parsed.filter((one) => typeof one !== 'string');
}

/** @returns the network, or an error message */
function parseCidr(piece: string): Cidr | string {
  const [ip = '', prefix, ...rest] = piece.split('/');
  const family = isIP(ip);
  if (family === 0 || ip.includes('%') || rest.length > 0) {
    return `"${piece}" is not a network in CIDR form, such as 10.0.0.0/8 or fd00::/8`;
  }
  const bits = family === 4 ? 32 : 128;
  if (prefix === undefined)
    return `"${piece}" has no prefix length; for this one address write ${ip}/${bits}`;
  if (!/^\d{1,3}$/.test(prefix) || Number(prefix) > bits) {
    return `"${piece}" needs a prefix length from 0 to ${bits}`;
  }
  const protocol = family === 4 ? ipaddr.IPv4 : ipaddr.IPv6;
  const address = ipaddr.parse(ip);
  const network = protocol.networkAddressFromCIDR(piece);
  if (network.toString() !== address.toString()) {
    return `"${piece}" has bits set behind its prefix; the network is ${network.toString()}/${Number(prefix)}`;
  }
  return { address, prefixLength: Number(prefix), toString: () => piece };
}
