import { createRequire } from 'node:module';
import { base64Digit } from './transfer-encoding.ts';

/*
 * Charsets that the platform does not know because browsers dropped them: those in tables of a library, and
 * three seven-bit ones that are decoded here.
 */

/** Decodes bytes of one charset; never throws, and what is no character becomes U+FFFD. */
export type CharsetDecoder = (bytes: Buffer) => string;

/** The library's part that is used here. */
interface CharsetLibrary {
  encodingExists(name: string): boolean;
  decode(bytes: Buffer, name: string): string;
}

const require = createRequire(import.meta.url);
let library: CharsetLibrary | undefined;

/** Loaded when the first mail needs it, for it costs every start 5 ms and its tables more; no mail of a test has. */
function charsetLibrary(): CharsetLibrary {
  library ??= require('iconv-lite') as CharsetLibrary;
  return library;
}

/** Names of the library that are transfer encodings. */
const NO_CHARSET = /^(?:hex|base64|binary)$/;
const ESC = 0x1b;
const SHIFT_OUT = 0x0e;
const SHIFT_IN = 0x0f;
const PLUS = 0x2b;
const HYPHEN = 0x2d;
const TILDE = 0x7e;
const LF = 0x0a;

/** @param name lower case, letters and digits only, such as `cp850` */
export function rareCharset(name: string): CharsetDecoder | undefined {
  if (name === 'iso2022kr' || name === 'csiso2022kr') return decodeIso2022Kr;
  if (name === 'hz' || name === 'hzgb2312') return decodeHz;
  if (name === 'utf7' || name === 'unicode11utf7') return decodeUtf7;
  if (NO_CHARSET.test(name) || !charsetLibrary().encodingExists(name)) return undefined;
  return (bytes) => charsetLibrary().decode(bytes, name);
}

/**
 * Unicode in seven bits (RFC 2152): between "+" and the first byte that is no digit of base64 stand UTF-16
 * code units, highest byte first. The library takes 40 times as long for text that switches often.
 */
function decodeUtf7(bytes: Buffer): string {
  const units = Buffer.allocUnsafe(2 * bytes.length);
  let length = 0;
  const add = (unit: number) => {
    length = units.writeUInt16LE(unit, length);
  };
  let at = 0;
  while (at < bytes.length) {
    const byte = bytes[at++] ?? 0;
    const isShift = byte === PLUS && (bytes[at] === HYPHEN || base64Digit(bytes[at] ?? 0) >= 0);
    if (!isShift || bytes[at] === HYPHEN) {
      add(byte);
      if (isShift) at++;
      continue;
    }
    let bits = 0;
    let count = 0;
    for (let digit = base64Digit(bytes[at] ?? 0); digit >= 0; digit = base64Digit(bytes[++at] ?? 0)) {
      bits = ((bits << 6) | digit) & 0x3f_ffff;
      count += 6;
      if (count < 16) continue;
      count -= 16;
      add((bits >> count) & 0xffff);
    }
    if (bytes[at] === HYPHEN) at++;
  }
  return units.toString('utf16le', 0, length);
}

/** Korean in seven bits (RFC 1557): between shift-out and shift-in stand the bytes of EUC-KR, less their highest bit. */
function decodeIso2022Kr(bytes: Buffer): string {
  const out = Buffer.allocUnsafe(bytes.length);
  let length = 0;
  let isShifted = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    // The announcer, ESC $ ) C.
    if (byte === ESC && bytes[at + 1] === 0x24 && bytes[at + 2] === 0x29) at += 3;
    else if (byte === SHIFT_OUT) isShifted = true;
    else if (byte === SHIFT_IN) isShifted = false;
    else {
      if (byte === LF) isShifted = false;
      out[length++] = isShifted && byte > 0x20 ? byte | 0x80 : byte;
    }
  }
  return new TextDecoder('euc-kr').decode(out.subarray(0, length));
}

/** Chinese in seven bits (RFC 1843): between `~{` and `~}` stand the bytes of GB 2312, less their highest bit. */
function decodeHz(bytes: Buffer): string {
  const out = Buffer.allocUnsafe(bytes.length);
  let length = 0;
  let isShifted = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    const next = bytes[at + 1];
    if (byte === TILDE && next === 0x7b) isShifted = true;
    else if (byte === TILDE && next === 0x7d) isShifted = false;
    else if (byte === TILDE && next === TILDE) out[length++] = TILDE;
    else if (byte !== TILDE || next !== LF) {
      if (byte === LF) isShifted = false;
      out[length++] = isShifted && byte > 0x20 ? byte | 0x80 : byte;
      continue;
    }
    at++;
  }
  return new TextDecoder('gbk').decode(out.subarray(0, length));
}
