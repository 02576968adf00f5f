import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Length in bytes, and the client's address; null if the header names none, because the peer is the client. */
export type ProxyHeader = { length: number; client: string | null } | 'incomplete' | 'invalid';

const V1_PREFIX = Buffer.from('PROXY ');
/** The longest header of version 1, with CRLF. */
const V1_MAX_BYTES = 107;
const V1_TCP = /^PROXY (TCP[46]) (\S+) (\S+) (0|[1-9]\d{0,4}) (0|[1-9]\d{0,4})$/;
const V1_UNKNOWN = /^PROXY UNKNOWN(?: [\x20-\x7e]*)?$/;

const V2_SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
/** Bytes of the fixed part of version 2: signature, version and command, family and transport, length of the rest. */
const V2_FIXED_BYTES = 16;
/** Addresses and usual TLVs take less than 536 bytes; a load balancer that terminates TLS may add a certificate. */
export const MAX_PROXY_HEADER_BYTES = 4096;
/** Bytes of an address and a port by family and transport: unspecified, TCP over IPv4 and IPv6, UNIX stream. */
const V2_PROTOCOLS = new Map([
  [0x00, { addressBytes: 0, portBytes: 0 }],
  [0x11, { addressBytes: 4, portBytes: 2 }],
  [0x21, { addressBytes: 16, portBytes: 2 }],
  [0x31, { addressBytes: 108, portBytes: 0 }],
]);

export const hasProxySignature = (bytes: Buffer): boolean =>
  bytes.subarray(0, V2_SIGNATURE.length).equals(V2_SIGNATURE);

const mayBegin = (bytes: Buffer, prefix: Buffer): boolean => {
  const begun = Math.min(bytes.length, prefix.length);
  return bytes.subarray(0, begun).equals(prefix.subarray(0, begun));
};

/** Parses a PROXY header of version 1 or 2 (HAProxy's specification, sections 2.1 and 2.2). @param bytes all bytes received so far */
export function readProxyHeader(bytes: Buffer): ProxyHeader {
  if (mayBegin(bytes, V1_PREFIX)) return readVersion1(bytes);
  return mayBegin(bytes, V2_SIGNATURE) ? readVersion2(bytes) : 'invalid';
}

function readVersion1(bytes: Buffer): ProxyHeader {
  const end = bytes.subarray(0, V1_MAX_BYTES).indexOf('\r\n');
  if (end < 0) return bytes.length < V1_MAX_BYTES ? 'incomplete' : 'invalid';
  const line = bytes.toString('latin1', 0, end);
  const length = end + 2;
  if (V1_UNKNOWN.test(line)) return { length, client: null };
  const [, protocol, source = '', destination = '', ...ports] = V1_TCP.exec(line) ?? [];
  const isAddress = protocol === 'TCP4' ? isIPv4 : isIPv6;
  const areAddresses = isAddress(source) && isAddress(destination) && !source.includes('%');
  if (protocol === undefined || !areAddresses || ports.some((port) => Number(port) > 65_535))
    return 'invalid';
  return { length, client: ipaddr.process(source).toString() };
}

function readVersion2(bytes: Buffer): ProxyHeader {
  if (bytes.length < V2_FIXED_BYTES) return 'incomplete';
  const [versionAndCommand = 0, family = 0] = bytes.subarray(V2_SIGNATURE.length);
  const length = V2_FIXED_BYTES + bytes.readUInt16BE(V2_FIXED_BYTES - 2);
  const isLocal = versionAndCommand === 0x20;
  // LOCAL is a health check by the load balancer; the rest of the header is ignored.
  const protocol = V2_PROTOCOLS.get(isLocal ? 0x00 : family);
  if (!protocol || length > MAX_PROXY_HEADER_BYTES || (!isLocal && versionAndCommand !== 0x21))
    return 'invalid';
  const { addressBytes, portBytes } = protocol;
  const end = V2_FIXED_BYTES + 2 * (addressBytes + portBytes);
  if (addressBytes > 0 && end > length) return 'invalid';
  if (bytes.length < length) return 'incomplete';
  if (addressBytes === 0) return { length, client: null };
  if (!areTlvsValid(bytes.subarray(0, length), end)) return 'invalid';
  // Addresses of UNIX sockets do not identify the client.
  if (portBytes === 0) return { length, client: null };
  const source = bytes.subarray(V2_FIXED_BYTES, V2_FIXED_BYTES + addressBytes);
  // Load balancers that translate between families write an IPv4 address as ::ffff:a.b.c.d.
  return { length, client: ipaddr.process(ipaddr.fromByteArray([...source]).toString()).toString() };
}

/** Whether the rest consists of complete TLVs, with a correct checksum if there is one. */
function areTlvsValid(header: Buffer, start: number): boolean {
  let at = start;
  while (at + 3 <= header.length) {
    const value = at + 3;
    const end = value + header.readUInt16BE(at + 1);
    const isChecksum = header[at] === 0x03;
    if (end > header.length || (isChecksum && !isChecksumRight(header, value, end))) return false;
    at = end;
  }
  return at === header.length;
}

/** Section 2.2.3: CRC32C of the header (RFC 9260 appendix A, reflected), with zeros in the checksum's place. */
function isChecksumRight(header: Buffer, start: number, end: number): boolean {
  if (end - start !== 4) return false;
  let crc = 0xffffffff;
  for (const byte of Buffer.from(header).fill(0, start, end)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0x82f63b78 : 0);
  }
  return ~crc >>> 0 === header.readUInt32BE(start);
}

export type NetworkMatch = (address: string | undefined) => boolean;

/** @param networks addresses or networks in CIDR form @throws Error for one that is neither */
export function networkMatch(networks: readonly string[]): NetworkMatch {
  const ranges = networks.map((network) =>
    ipaddr.parseCIDR(network.includes('/') ? network : `${network}/${network.includes(':') ? 128 : 32}`),
  );
  return (text) => {
    if (ranges.length === 0 || text === undefined || !ipaddr.isValid(text)) return false;
    // Dual-stack listeners report an IPv4 peer as ::ffff:a.b.c.d.
    const address = ipaddr.process(text);
    return ranges.some(([range, bits]) => address.kind() === range.kind() && address.match(range, bits));
  };
}

export const isLoopback: NetworkMatch = networkMatch(['127.0.0.0/8', '::1']);
