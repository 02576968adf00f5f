/* Decodes transfer encodings (RFC 2045 section 6). Never throws. Keeps line endings that are not encoded. */

export type TransferEncoding = '' | 'base64' | 'quoted-printable' | 'uuencode';

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const HYPHEN = 0x2d;
const EQUALS = 0x3d;
const UNDERSCORE = 0x5f;

const NO_DIGIT = -1;
const PADDING = -2;

function tableOf(digits: string): Int8Array {
  const table = new Int8Array(256).fill(NO_DIGIT);
  for (const [value, digit] of [...digits].entries()) table[digit.charCodeAt(0)] = value;
  return table;
}

const BASE64 = tableOf('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/');
BASE64[EQUALS] = PADDING;

export const base64Digit = (byte: number): number => Math.max(NO_DIGIT, BASE64[byte] ?? NO_DIGIT);

const HEX = tableOf('0123456789ABCDEFabcdef').map((value) => (value < 16 ? value : value - 6));

export function transferEncoding(value: string): TransferEncoding {
  if (value === '' || /^[78]bit$/i.test(value)) return '';
  if (/base64/i.test(value)) return 'base64';
  if (/quoted-printable/i.test(value)) return 'quoted-printable';
  return /\buu(?:e|encode)?\b/i.test(value) ? 'uuencode' : '';
}

export function decodeTransfer(bytes: Buffer, encoding: TransferEncoding): Buffer {
  if (encoding === 'base64') return decodeBase64(bytes);
  if (encoding === 'quoted-printable') return decodeQuotedPrintable(bytes);
  return encoding === 'uuencode' ? decodeUu(bytes) : bytes;
}

function hexPair(bytes: Uint8Array, at: number): number {
  const high = HEX[bytes[at] ?? 0] ?? NO_DIGIT;
  const low = HEX[bytes[at + 1] ?? 0] ?? NO_DIGIT;
  return high < 0 || low < 0 ? -1 : (high << 4) | low;
}

/** Copies a range to the offset `to` and decodes valid escapes such as `=41`. @returns the end of the copy */
function moveDecoded(bytes: Buffer, to: number, start: number, end: number, prefix: number): number {
  let length = to;
  for (let at = start; at < end; at++) {
    const byte = bytes[at] ?? 0;
    const value = byte === prefix ? hexPair(bytes, at + 1) : -1;
    bytes[length++] = value < 0 ? byte : value;
    if (value >= 0) at += 2;
  }
  return length;
}

/** Decodes `=41` or `%41`; does not change invalid escapes. @param text one character per byte */
export function decodeEscapes(text: string, prefix: number): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  return bytes.subarray(0, moveDecoded(bytes, 0, 0, bytes.length, prefix));
}

/** RFC 2045 section 6.8. Skips invalid characters. Padding may occur anywhere, as in concatenated files. */
export function decodeBase64(bytes: Buffer): Buffer {
  // Node's decoder is many times faster, but stops at padding, and decodes "-" and "_", which mail must skip.
  const padding = bytes.indexOf(EQUALS);
  const isPlain = padding < 0 || bytes.subarray(padding).every((byte) => byte === EQUALS || byte <= SPACE);
  if (!isPlain || bytes.includes(HYPHEN) || bytes.includes(UNDERSCORE)) return decodeBase64Pieces(bytes);
  return Buffer.from(bytes.toString('latin1', 0, padding < 0 ? bytes.length : padding), 'base64');
}

function decodeBase64Pieces(bytes: Buffer): Buffer {
  const decoded = Buffer.allocUnsafe(Math.ceil((bytes.length * 3) / 4));
  let length = 0;
  let bits = 0;
  let count = 0;
  for (const byte of bytes) {
    const value = BASE64[byte] ?? NO_DIGIT;
    if (value === PADDING) count = 0;
    if (value < 0) continue;
    bits = (bits << 6) | value;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    decoded[length++] = bits >> count;
  }
  return decoded.subarray(0, length);
}

/** RFC 2045 section 6.7. Keeps invalid escapes; removes trailing blanks (rule 3) and soft line breaks. */
function decodeQuotedPrintable(source: Buffer): Buffer {
  const bytes = Buffer.from(source);
  let length = 0;
  for (let start = 0; start < bytes.length; ) {
    const next = nextLine(bytes, start);
    const breakStart = startOfBreak(bytes, start, next);
    let end = breakStart;
    while (end > start && (bytes[end - 1] === SPACE || bytes[end - 1] === TAB)) end--;
    const isSoft = end > start && bytes[end - 1] === EQUALS;
    length = moveDecoded(bytes, length, start, isSoft ? end - 1 : end, EQUALS);
    for (let at = isSoft ? next : breakStart; at < next; at++) bytes[length++] = bytes[at] ?? 0;
    start = next;
  }
  return bytes.subarray(0, length);
}

function nextLine(bytes: Buffer, start: number): number {
  const lineFeed = bytes.indexOf(LF, start);
  return lineFeed < 0 ? bytes.length : lineFeed + 1;
}

function startOfBreak(bytes: Uint8Array, start: number, next: number): number {
  const end = bytes[next - 1] === LF ? next - 1 : next;
  return end > start && bytes[end - 1] === CR ? end - 1 : end;
}

/** Limit of zero bytes added to short lines: uuencode writes zeros as spaces, and relays trim lines. */
export const MAX_FILLED_BYTES = 1024 * 1024;

/** Each character code minus this value gives six bits. The first six bits of a line are its decoded length. */
const UU_ZERO = 0x20;
const UU_BEGIN_WITHIN = 4_096;
const UU_LINE = /^begin [0-7]{3,4} .*$/m;

/** Decodes POSIX uuencode up to its end. Returns bytes that have no `begin` line unchanged. */
function decodeUu(bytes: Buffer): Buffer {
  const begin = UU_LINE.exec(bytes.toString('latin1', 0, Math.min(bytes.length, UU_BEGIN_WITHIN)));
  if (begin === null) return bytes;
  const lines = bytes.indexOf(LF, begin.index) + 1;
  if (lines === 0 || lines === bytes.length) return bytes;
  return decodeUuLines(bytes.subarray(lines));
}

function decodeUuLines(lines: Buffer): Buffer {
  const decoded = Buffer.alloc(lines.length + MAX_FILLED_BYTES);
  let length = 0;
  let mayFill = MAX_FILLED_BYTES;
  for (let at = 0; at < lines.length; ) {
    const next = nextLine(lines, at);
    const end = startOfBreak(lines, at, next);
    // The last line has length 0: it is a space, or empty if a relay has removed the space.
    const written = uuDigit(lines, at, end);
    if (written === 0) break;
    const present = Math.min(written, 3 * Math.ceil((end - at - 1) / 4));
    const filled = Math.min(written - present, mayFill);
    mayFill -= filled;
    let to = length;
    length += present + filled;
    for (let group = at + 1; group < end && to < length; group += 4) {
      let bits = 0;
      for (let digit = group; digit < group + 4; digit++) bits = (bits << 6) | uuDigit(lines, digit, end);
      for (let shift = 16; shift >= 0 && to < length; shift -= 8) decoded[to++] = bits >> shift;
    }
    at = next;
  }
  return decoded.subarray(0, length);
}

const uuDigit = (bytes: Buffer, at: number, end: number): number =>
  at < end ? ((bytes[at] ?? UU_ZERO) - UU_ZERO) & 63 : 0;
