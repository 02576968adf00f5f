import type { Socket } from 'node:net';
import ipaddr from 'ipaddr.js';

/*
 * The PROXY protocol, version 2: the binary header of section 2.2 of HAProxy's specification. It is put in
 * the words of version 1, so that one reader stands behind both.
 */

const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
/** Signature, version and command, family and transport, length of the rest. */
const FIXED_BYTES = 16;
/**
 * The fixed part and what it announces. Addresses and the usual TLVs take less than 536 bytes; a load
 * balancer that ends TLS may add its client's certificate. The length field could announce 64 KiB.
 */
export const MAX_PROXY_HEADER_BYTES = 4096;

const VERSION = 2;
const LOCAL = 0;
const PROXY = 1;
/** Families go to 3 (UNIX), transports to 2 (datagrams); what is above shall be rejected. */
const MAX_FAMILY = 3;
const MAX_TRANSPORT = 2;
/** TCP over IPv4 and IPv6, with the bytes that an address has there. */
const ADDRESS_BYTES: ReadonlyMap<number, number> = new Map([
  [0x11, 4],
  [0x21, 16],
]);
const PORT_BYTES = 2;

/** The line of version 1 that names nobody: the peer is taken for the client. */
const UNKNOWN = 'PROXY UNKNOWN\r\n';

/** A whole header. */
export interface ProxyHeader {
  /** How many bytes it has, TLVs included. */
  length: number;
  /** What version 1 says for it, with its CRLF. */
  line: string;
}

/** Whether a connection begins with the signature of version 2. */
export const hasProxySignature = (bytes: Buffer): boolean =>
  bytes.subarray(0, SIGNATURE.length).equals(SIGNATURE);

/**
 * Looks for a header of version 2 in the first bytes of a connection.
 * @returns `incomplete` while more bytes could make one; `none` when none can: another beginning, or a
 *   header that is malformed or too long
 */
export function readProxyHeader(bytes: Buffer): ProxyHeader | 'incomplete' | 'none' {
  const begun = Math.min(bytes.length, SIGNATURE.length);
  if (!bytes.subarray(0, begun).equals(SIGNATURE.subarray(0, begun))) return 'none';
  if (bytes.length < FIXED_BYTES) return 'incomplete';
  const [versionAndCommand = 0, protocol = 0] = bytes.subarray(SIGNATURE.length);
  const length = FIXED_BYTES + bytes.readUInt16BE(FIXED_BYTES - 2);
  const command = versionAndCommand & 0x0f;
  if (versionAndCommand >> 4 !== VERSION || length > MAX_PROXY_HEADER_BYTES) return 'none';
  // LOCAL is a health check of the load balancer itself: what else the header says is to be ignored.
  if (command !== LOCAL && (command !== PROXY || !isProtocol(protocol))) return 'none';
  const addressBytes = command === PROXY ? ADDRESS_BYTES.get(protocol) : undefined;
  if (addressBytes && length < FIXED_BYTES + 2 * (addressBytes + PORT_BYTES)) return 'none';
  if (bytes.length < length) return 'incomplete';
  return { length, line: addressBytes ? lineOf(bytes.subarray(FIXED_BYTES), addressBytes) : UNKNOWN };
}

const isProtocol = (byte: number): boolean => byte >> 4 <= MAX_FAMILY && (byte & 0x0f) <= MAX_TRANSPORT;

/** @param block source and destination address, source and destination port, then TLVs */
function lineOf(block: Buffer, addressBytes: number): string {
  const addressAt = (at: number) => {
    const address = ipaddr.fromByteArray([...block.subarray(at, at + addressBytes)]);
    // A load balancer between the families writes an IPv4 address as ::ffff:a.b.c.d.
    return ipaddr.process(address.toString());
  };
  const [source, destination] = [addressAt(0), addressAt(addressBytes)];
  const ports = 2 * addressBytes;
  const words = [source, destination, block.readUInt16BE(ports), block.readUInt16BE(ports + PORT_BYTES)];
  return `PROXY ${source.kind() === 'ipv4' ? 'TCP4' : 'TCP6'} ${words.join(' ')}\r\n`;
}

/**
 * Reads the beginning of a connection whose peer is trusted; a header of version 2 is replaced by its line of
 * version 1, anything else left as it is. Nothing limits the time: whoever destroys the socket ends it.
 * @param next called once; with an error when the connection ended before, which is destroyed then
 */
export function asProxyVersion1(socket: Socket, next: (error: Error | null) => void): void {
  let bytes = Buffer.alloc(0);
  let finished = false;

  const finish = (error: Error | null): void => {
    if (finished) return;
    finished = true;
    socket.off('readable', read).off('end', lose).off('error', lose).off('close', lose);
    if (error) {
      // What a closing socket still has to say must not end the process.
      socket.on('error', () => undefined);
      socket.destroy();
    }
    next(error);
  };
  const lose = (): void => finish(new Error('the connection ended before its PROXY header'));
  const read = (): void => {
    const piece: Buffer | null = socket.read();
    if (!piece) return;
    bytes = Buffer.concat([bytes, piece]);
    const header = readProxyHeader(bytes);
    if (header === 'incomplete') return;
    socket.off('readable', read);
    const beginning =
      header === 'none' ? bytes : Buffer.concat([Buffer.from(header.line), bytes.subarray(header.length)]);
    socket.unshift(beginning);
    // In a later turn: till then the stream counts us as its reader, and would not wake the next one.
    setImmediate(finish, null);
  };
  socket.on('readable', read).on('end', lose).on('error', lose).on('close', lose);
}
