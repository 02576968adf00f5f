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
const V1_TCP = /^PROXY (TCP[46]) (\S+) (\S+) (\d{1,5}) (\d{1,5})$/;
const V1_UNKNOWN = /^PROXY UNKNOWN(?: .*)?$/;
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
/** Families go to 3 (UNIX), transports to 2 (datagrams); what is above shall be rejected. */
const V2_MAX_FAMILY = 3;
const V2_MAX_TRANSPORT = 2;
/** TCP over IPv4 and IPv6, with the bytes that an address has there. */
const V2_ADDRESS_BYTES: ReadonlyMap<number, number> = new Map([
  [0x11, 4],
  [0x21, 16],
]);
const PORT_BYTES = 2;

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
  // LOCAL is a health check of the load balancer itself: what else the header says is to be ignored.
  if (command !== V2_LOCAL && (command !== V2_PROXY || !isProtocol(protocol))) return 'invalid';
  const addressBytes = command === V2_PROXY ? V2_ADDRESS_BYTES.get(protocol) : undefined;
  if (addressBytes && length < V2_FIXED_BYTES + 2 * (addressBytes + PORT_BYTES)) return 'invalid';
  if (bytes.length < length) return 'incomplete';
  if (!addressBytes) return { length, client: null };
  const source = bytes.subarray(V2_FIXED_BYTES, V2_FIXED_BYTES + addressBytes);
  // A load balancer between the families writes an IPv4 address as ::ffff:a.b.c.d.
  return { length, client: ipaddr.process(ipaddr.fromByteArray([...source]).toString()).toString() };
}

const isProtocol = (byte: number): boolean => byte >> 4 <= V2_MAX_FAMILY && (byte & 0x0f) <= V2_MAX_TRANSPORT;
