import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { Config } from '../config/config.ts';
import type { SmtpLimits } from './limits.ts';
import { REPLIES, type Reply } from './protocol.ts';

/** `length`: bytes of the header. `client`: address of the client; null if the header contains none. */
export type ProxyHeader = { length: number; client: string | null } | 'incomplete' | 'invalid';

const V1_PREFIX = Buffer.from('PROXY ');
const V1_MAX_BYTES = 107;
const V1_TCP = /^PROXY (TCP[46]) (\S+) (\S+) (0|[1-9]\d{0,4}) (0|[1-9]\d{0,4})$/;
const V1_UNKNOWN = /^PROXY UNKNOWN(?: [\x20-\x7e]*)?$/;

const V2_SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
/** Length of the fixed part of a version 2 header. Its last two bytes are the length of the variable part. */
const V2_FIXED_BYTES = 16;
/** Large enough for a client certificate, which a load balancer may add if it terminates TLS. */
export const MAX_PROXY_HEADER_BYTES = 4096;
/** Keys are address family and transport: unspecified, TCP over IPv4, TCP over IPv6, UNIX stream. */
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

/** Parses a PROXY header (HAProxy's specification, section 2). @param bytes all bytes received so far */
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
  // LOCAL (0x20) is a health check by the load balancer, without the address of a client.
  const protocol = V2_PROTOCOLS.get(isLocal ? 0x00 : family);
  if (!protocol || length > MAX_PROXY_HEADER_BYTES || (!isLocal && versionAndCommand !== 0x21))
    return 'invalid';
  const { addressBytes, portBytes } = protocol;
  const end = V2_FIXED_BYTES + 2 * (addressBytes + portBytes);
  if (addressBytes > 0 && end > length) return 'invalid';
  if (bytes.length < length) return 'incomplete';
  // The address of a UNIX socket does not identify the client.
  if (portBytes === 0) return { length, client: null };
  const source = bytes.subarray(V2_FIXED_BYTES, V2_FIXED_BYTES + addressBytes);
  // Some load balancers write an IPv4 address as ::ffff:a.b.c.d.
  return { length, client: ipaddr.process(ipaddr.fromByteArray([...source]).toString()).toString() };
}

/** The longest line of an AUTH exchange, in octets (RFC 4954 section 4). */
const MAX_AUTH_LINE_BYTES = 12_288;
const CR = 0x0d;
const LF = 0x0a;

/** `too-long`: the line is skipped. `endless`: the skipped part exceeds its limit; close the connection. */
export type LineResult = 'line' | 'too-long' | 'endless' | 'incomplete';

export class LineReader {
  line: Buffer = Buffer.alloc(0);
  crlf = true;
  isAuth = false;
  /** Index of the first unread byte. An incomplete line counts as unread. */
  end = 0;
  readonly #limits: Pick<SmtpLimits, 'maxCommandBytes' | 'maxSkippedLineBytes'>;
  #skipped = 0;

  constructor(limits: Pick<SmtpLimits, 'maxCommandBytes' | 'maxSkippedLineBytes'>) {
    this.#limits = limits;
  }

  /** @param input all unread bytes @param isAnswer whether the client responds to an AUTH challenge */
  read(input: Buffer, at: number, isAnswer: boolean): LineResult {
    const { maxCommandBytes, maxSkippedLineBytes } = this.#limits;
    let start = at;
    if (this.#skipped > 0) {
      this.#skip(input, at);
      if (this.#skipped > 0) return this.#skipped > maxSkippedLineBytes ? 'endless' : 'incomplete';
      start = this.end;
    }
    const lf = input.indexOf(LF, start);
    const end = lf < 0 ? input.length : lf;
    this.isAuth = isAnswer || isAuthCommand(input, start);
    this.crlf = end > start && input[end - 1] === CR;
    this.line = input.subarray(start, this.crlf ? end - 1 : end);
    if (this.line.length > (this.isAuth ? MAX_AUTH_LINE_BYTES : maxCommandBytes)) {
      this.#skip(input, start);
      return 'too-long';
    }
    this.end = lf < 0 ? start : lf + 1;
    return lf < 0 ? 'incomplete' : 'line';
  }

  #skip(input: Buffer, at: number): void {
    const lf = input.indexOf(LF, at);
    const end = lf < 0 ? input.length : lf;
    this.#skipped += end - at;
    this.end = lf < 0 ? end : lf + 1;
    if (lf >= 0 && this.#skipped <= this.#limits.maxSkippedLineBytes) this.#skipped = 0;
  }
}

const isAuthCommand = (input: Buffer, at: number): boolean =>
  ((input[at] ?? 0) | 0x20) === 0x61 && /^auth /i.test(input.toString('latin1', at, at + 5));

export interface DataLimits {
  /** Size limit of the message, after removing stuffed dots and normalising line endings. */
  maxBytes: number;
  /** Limit of bytes read of a rejected message. Stuffed dots count too, so use at least twice `maxBytes`. */
  maxDrainedBytes: number;
}

/** The only accepted end of data. Accepting others enables SMTP smuggling (CVE-2023-51764 to -51766). */
const END = '\r\n.\r\n';
/** Last bytes of a read that may be the start of END or of a CRLF. They are processed with the next read. */
const UNDECIDED = /(?:(?<=\n)\.)?\r?$/;
const BARE = /\r(?!\n)|(?<!\r)\n/;
const BARE_OR_STUFFED = /\r(?!\n)|(?<!\r)\n|\n\./;
/** Stuffed dots (RFC 5321 section 4.5.2). A single dot after a bare LF is kept: it may belong to the text. */
const STUFFED = /(\r\n)\.|((?<!\r)\n)\.(?=\.)/g;

/** Parses the message after DATA (RFC 5321 sections 4.1.1.4 and 4.5.2), received in pieces of any size. */
export class DataReader {
  /** Message bytes from the last call of {@link read}. They may share memory with the input. */
  output: Buffer | undefined;
  refusal: Reply | undefined;
  bytesRead = 0;
  ended = false;
  /** Whether a rejected message exceeded `maxDrainedBytes`, so that the connection must be closed. */
  outOfStep = false;
  readonly #limits: DataLimits;
  readonly #normalises: boolean;
  /** Unprocessed bytes of earlier reads. `#lineEnd` is the line ending before them, or '' within a line. */
  #undecided = '';
  #lineEnd: string;
  #length = 0;

  /** @param afterCrlf whether the DATA command ended with CRLF; if not, a first line `.` is not the end */
  constructor(limits: DataLimits, policy: Config['smtpBareLineEndings'], afterCrlf = true) {
    this.#limits = limits;
    this.#normalises = policy === 'normalise';
    this.#lineEnd = afterCrlf ? '\r\n' : '\n';
  }

  /** Reads until the end of the message or the input. @returns index of the first unread byte */
  read(input: Buffer, at: number): number {
    const text = `${this.#lineEnd}${this.#undecided}${input.toString('latin1', at)}`;
    const end = text.indexOf(END);
    const [undecided = ''] = (end < 0 && UNDECIDED.exec(text.slice(-3))) || [];
    const lines = text.slice(0, end < 0 ? text.length - undecided.length : end + 2);
    const next = end < 0 ? input.length : input.length - text.length + end + END.length;
    this.output = this.refusal ? undefined : this.#keep(lines, input.subarray(at));
    this.ended = end >= 0;
    this.#undecided = undecided;
    this.#lineEnd = /\r?\n$/.exec(lines.slice(-2))?.[0] ?? '';
    const before = this.bytesRead;
    this.bytesRead += next - at;
    const excess = this.refusal ? this.bytesRead - this.#limits.maxDrainedBytes : 0;
    if (excess <= 0) return next;
    this.ended = false;
    this.outOfStep = true;
    this.bytesRead = Math.max(before, this.#limits.maxDrainedBytes);
    return next - excess;
  }

  /** Removes stuffed dots. @param lines `#lineEnd`, `#undecided` and new text @param input the bytes of this read */
  #keep(lines: string, input: Buffer): Buffer | undefined {
    const isPlain = this.#undecided === '' && !BARE_OR_STUFFED.test(lines);
    const kept = isPlain ? lines : lines.replace(STUFFED, '$1$2');
    const message = kept.slice(this.#lineEnd.length);
    const left = this.#limits.maxBytes - this.#length;
    // Bytes beyond the size limit are not checked. A bare CR is rejected only if the next byte is also within
    // the limit, so that the result does not depend on how the input is split into reads.
    const bare = isPlain || this.#normalises ? -1 : message.search(BARE);
    if (bare >= 0 && (message[bare] === '\r' ? bare + 1 : bare) < left) {
      this.refusal = REPLIES.bareLineEnding;
      return undefined;
    }
    const output = isPlain || !this.#normalises ? message : message.replace(/\r\n|\r|\n/g, '\r\n');
    this.#length += output.length;
    if (output.length > left) this.refusal = REPLIES.messageTooLarge;
    if (this.refusal || output === '') return undefined;
    return isPlain ? input.subarray(0, output.length) : Buffer.from(output, 'latin1');
  }
}
