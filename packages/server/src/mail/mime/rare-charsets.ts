import { createRequire } from 'node:module';
import { base64Digit } from './transfer-encoding.ts';

/** Never throws; invalid bytes become U+FFFD. */
export type CharsetDecoder = (bytes: Buffer) => string;

interface CharsetLibrary {
  encodingExists(name: string): boolean;
  decode(bytes: Buffer, name: string): string;
}

const require = createRequire(import.meta.url);
let library: CharsetLibrary | undefined;

/** Loaded on demand, because it takes 5 ms and memory, and hardly any mail needs it. */
function charsetLibrary(): CharsetLibrary {
  library ??= require('iconv-lite') as CharsetLibrary;
  return library;
}

/** The library also accepts transfer encodings. */
const NO_CHARSET = /^(?:hex|base64|binary)$/;

/** @param name lower case, letters and digits only, such as `cp850` */
export function rareCharset(name: string): CharsetDecoder | undefined {
  if (name === 'iso2022kr' || name === 'csiso2022kr') return decodeIso2022Kr;
  if (name === 'hz' || name === 'hzgb2312') return decodeHz;
  if (name === 'utf7' || name === 'unicode11utf7') return decodeUtf7;
  if (NO_CHARSET.test(name) || !charsetLibrary().encodingExists(name)) return undefined;
  return (bytes) => charsetLibrary().decode(bytes, name);
}

const LF = 0x0a;
const SHIFT_OUT = 0x0e;
const SHIFT_IN = 0x0f;
const ESC = 0x1b;
const SPACE = 0x20;
const PLUS = 0x2b;
const HYPHEN = 0x2d;
const TILDE = 0x7e;

// Reused: a header can have 100,000 encoded words, and creating a decoder costs more than decoding one.
const EUC_KR = new TextDecoder('euc-kr');
const GBK = new TextDecoder('gbk');

/** RFC 2152. iconv-lite takes 40 times as long for text that switches often. */
function decodeUtf7(bytes: Buffer): string {
  const units = Buffer.allocUnsafe(2 * bytes.length);
  let length = 0;
  let at = 0;
  while (at < bytes.length) {
    const byte = bytes[at++] ?? 0;
    const next = bytes[at] ?? 0;
    if (byte === PLUS && base64Digit(next) >= 0) {
      const end = endOfBase64(bytes, at);
      length = writeUnits(bytes, at, end, units, length);
      at = bytes[end] === HYPHEN ? end + 1 : end;
    } else {
      length = units.writeUInt16LE(byte, length);
      if (byte === PLUS && next === HYPHEN) at++;
    }
  }
  return units.toString('utf16le', 0, length);
}

function endOfBase64(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length && base64Digit(bytes[at] ?? 0) >= 0) at++;
  return at;
}

/** Decodes `[from, end)`; drops incomplete code units. @returns the new length */
function writeUnits(bytes: Buffer, from: number, end: number, units: Buffer, length: number): number {
  let written = length;
  let bits = 0;
  let count = 0;
  for (let at = from; at < end; at++) {
    bits = ((bits << 6) | base64Digit(bytes[at] ?? 0)) & 0x3f_ffff;
    count += 6;
    if (count < 16) continue;
    count -= 16;
    written = units.writeUInt16LE((bits >> count) & 0xffff, written);
  }
  return written;
}

interface Switch {
  length: number;
  isShifted: boolean;
  /** Undefined when they stand for no byte. */
  byte?: number;
}

/**
 * While shifted, bytes are those of an eight-bit charset without the highest bit. Each line begins unshifted.
 * @param switchAt undefined for an ordinary byte
 */
function decodeShifted(
  bytes: Buffer,
  decoder: InstanceType<typeof TextDecoder>,
  switchAt: (bytes: Buffer, at: number, isShifted: boolean) => Switch | undefined,
): string {
  const decoded = Buffer.allocUnsafe(bytes.length);
  let length = 0;
  let isShifted = false;
  for (let at = 0; at < bytes.length; ) {
    const found = switchAt(bytes, at, isShifted);
    const byte = found === undefined ? (bytes[at] ?? 0) : found.byte;
    isShifted = found?.isShifted ?? (isShifted && byte !== LF);
    at += found?.length ?? 1;
    if (byte === undefined) continue;
    decoded[length++] = found === undefined && isShifted && byte > SPACE ? byte | 0x80 : byte;
  }
  return decoder.decode(decoded.subarray(0, length));
}

/** RFC 1557: EUC-KR between shift-out and shift-in. */
function decodeIso2022Kr(bytes: Buffer): string {
  return decodeShifted(bytes, EUC_KR, (source, at, isShifted) => {
    const byte = source[at];
    if (byte === ESC && source[at + 1] === 0x24 && source[at + 2] === 0x29) return { length: 4, isShifted };
    if (byte === SHIFT_OUT || byte === SHIFT_IN) return { length: 1, isShifted: byte === SHIFT_OUT };
    return undefined;
  });
}

/** RFC 1843: GB 2312 between `~{` and `~}`; `~~` is a tilde, and `~` at the end of a line joins two lines. */
function decodeHz(bytes: Buffer): string {
  return decodeShifted(bytes, GBK, (source, at, isShifted) => {
    if (source[at] !== TILDE) return undefined;
    const next = source[at + 1];
    if (next === 0x7b || next === 0x7d) return { length: 2, isShifted: next === 0x7b };
    if (next === TILDE) return { length: 2, isShifted, byte: TILDE };
    return next === LF ? { length: 2, isShifted } : undefined;
  });
}
