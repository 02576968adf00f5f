import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/*
 * The header of the PROXY protocol that a load balancer sends first, versions 1 (a line of text) and 2 (binary):
 * sections 2.1 and 2.2 of HAProxy's specification.
 */

/** A whole header. */
export interface ProxyHeader {
  /** How many bytes it has. */
  length: number;
  /** The client's address; null where the header names none, then the peer itself is the client. */
  client: string | null;
}

/** `incomplete` while more bytes could make a header of it, `invalid` when none can. */
export type ProxyHeaderResult = ProxyHeader | 'incomplete' | 'invalid';

const V1_PREFIX = Buffer.from('PROXY ');
/** Section 2.1: the longest line, its CRLF included. */
const V1_MAX_BYTES = 107;
const V1_TCP = /^PROXY (TCP[46]) (\S+) (\S+) (0|[1-9]\d{0,4}) (0|[1-9]\d{0,4})$/;
const V1_UNKNOWN = /^PROXY UNKNOWN(?: [\x20-\x7e]*)?$/;
const MAX_PORT = 65_535;

const V2_SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
/** Signature, version and command, family and transport, length of the rest. */
const V2_FIXED_BYTES = 16;
/**
 * The fixed part and what it announces. Addresses and the usual TLVs take less than 536 bytes; a load balancer
 * that ends TLS may add its client's certificate. The length field could announce 64 KiB.
 */
export const MAX_PROXY_HEADER_BYTES = 4096;
const V2_VERSION = 2;
const V2_LOCAL = 0;
const V2_PROXY = 1;
/** Bytes of one address by family and transport: none, TCP over IPv4 and IPv6, and stream sockets of UNIX. */
const V2_ADDRESS_BYTES: ReadonlyMap<number, number> = new Map([
  [0x00, 0],
  [0x11, 4],
  [0x21, 16],
  [0x31, 108],
]);
/** TCP; addresses of UNIX sockets have no port, and do not identify the client. */
const V2_WITH_PORTS: ReadonlySet<number> = new Set([0x11, 0x21]);
const PORT_BYTES = 2;
/** Section 2.2: type and length of a TLV. */
const TLV_HEAD_BYTES = 3;
/** Section 2.2.3: the checksum of the header, computed with zeros in its own place. */
const TLV_CHECKSUM = 0x03;
const CHECKSUM_BYTES = 4;
/** RFC 9260 appendix A, bits reversed. */
const CRC32C_POLYNOMIAL = 0x82f63b78;

/** Whether a connection begins with the signature of version 2. */
export const hasProxySignature = (bytes: Buffer): boolean =>
  bytes.subarray(0, V2_SIGNATURE.length).equals(V2_SIGNATURE);

const mayBegin = (bytes: Buffer, prefix: Buffer): boolean => {
  const begun = Math.min(bytes.length, prefix.length);
  return bytes.subarray(0, begun).equals(prefix.subarray(0, begun));
};

/** Looks for a header in all bytes that have come so far on a connection. */
export function readProxyHeader(bytes: Buffer): ProxyHeaderResult {
  if (mayBegin(bytes, V1_PREFIX)) return readVersion1(bytes);
  return mayBegin(bytes, V2_SIGNATURE) ? readVersion2(bytes) : 'invalid';
}

function readVersion1(bytes: Buffer): ProxyHeaderResult {
  const end = bytes.subarray(0, V1_MAX_BYTES).indexOf('\r\n');
  if (end < 0) return bytes.length < V1_MAX_BYTES ? 'incomplete' : 'invalid';
  const line = bytes.toString('latin1', 0, end);
  const length = end + 2;
  if (V1_UNKNOWN.test(line)) return { length, client: null };
  const [, protocol, source = '', destination = '', ...ports] = V1_TCP.exec(line) ?? [];
  const isAddress = protocol === 'TCP4' ? isIPv4 : isIPv6;
  const isValid =
    protocol !== undefined &&
    isAddress(source) &&
    isAddress(destination) &&
    !source.includes('%') &&
    ports.every((port) => Number(port) <= MAX_PORT);
  return isValid ? { length, client: ipaddr.process(source).toString() } : 'invalid';
}

function readVersion2(bytes: Buffer): ProxyHeaderResult {
  if (bytes.length < V2_FIXED_BYTES) return 'incomplete';
  const [versionAndCommand = 0, protocol = 0] = bytes.subarray(V2_SIGNATURE.length);
  const length = V2_FIXED_BYTES + bytes.readUInt16BE(V2_FIXED_BYTES - 2);
  const command = versionAndCommand & 0x0f;
  if (versionAndCommand >> 4 !== V2_VERSION || length > MAX_PROXY_HEADER_BYTES) return 'invalid';
  if (command !== V2_LOCAL && command !== V2_PROXY) return 'invalid';
  // LOCAL is a health check of the load balancer itself: the rest of the header is ignored.
  const addressBytes = command === V2_LOCAL ? 0 : V2_ADDRESS_BYTES.get(protocol);
  if (addressBytes === undefined) return 'invalid';
  const portBytes = V2_WITH_PORTS.has(protocol) ? PORT_BYTES : 0;
  const end = V2_FIXED_BYTES + 2 * (addressBytes + portBytes);
  if (addressBytes > 0 && end > length) return 'invalid';
  if (bytes.length < length) return 'incomplete';
  if (addressBytes === 0) return { length, client: null };
  if (!areTlvsValid(bytes.subarray(0, length), end)) return 'invalid';
  if (portBytes === 0) return { length, client: null };
  const source = bytes.subarray(V2_FIXED_BYTES, V2_FIXED_BYTES + addressBytes);
  // A load balancer between the families writes an IPv4 address as ::ffff:a.b.c.d.
  return { length, client: ipaddr.process(ipaddr.fromByteArray([...source]).toString()).toString() };
}

/** Whether the bytes of a header from `start` on are whole TLVs, and its checksum is right where it has one. */
function areTlvsValid(header: Buffer, start: number): boolean {
  let at = start;
  while (at + TLV_HEAD_BYTES <= header.length) {
    const value = at + TLV_HEAD_BYTES;
    const end = value + header.readUInt16BE(at + 1);
    const isChecksum = header[at] === TLV_CHECKSUM;
    if (end > header.length || (isChecksum && !isChecksumRight(header, value, end))) return false;
    at = end;
  }
  return at === header.length;
}

function isChecksumRight(header: Buffer, start: number, end: number): boolean {
  if (end - start !== CHECKSUM_BYTES) return false;
  return crc32c(Buffer.from(header).fill(0, start, end)) === header.readUInt32BE(start);
}

function crc32c(bytes: Buffer): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? CRC32C_POLYNOMIAL : 0);
  }
  return ~crc >>> 0;
}
