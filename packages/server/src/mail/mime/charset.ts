import { isAscii, isUtf8 } from 'node:buffer';
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

/** Loaded on demand, because it takes 5 ms and memory, and very little mail needs it. */
function charsetLibrary(): CharsetLibrary {
  library ??= require('iconv-lite') as CharsetLibrary;
  return library;
}

/** Names that the library accepts although they are transfer encodings. */
const NO_CHARSET = /^(?:hex|base64|binary)$/;

/** @param name lower case, letters and digits only, such as `cp850` */
function rareCharset(name: string): CharsetDecoder | undefined {
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

/** Decodes UTF-7 (RFC 2152). iconv-lite takes 40 times as long for text that switches often. */
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
  /** Undefined if the input bytes stand for no byte. */
  byte?: number;
}

/**
 * Decodes text with shift sequences: while shifted, bytes are those of an 8-bit charset without the highest
 * bit. Each line begins unshifted. @param switchAt returns undefined for an ordinary byte
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

/*
 * Text with a missing or wrong charset is decoded as mail programs do: valid UTF-8 as UTF-8, because other
 * text is rarely valid by chance; everything else as windows-1252, which defines every byte.
 */

const FALLBACK = 'windows-1252';
/** Charset names that say nothing about 8-bit bytes: ASCII and unknown charsets. */
const VAGUE = /^(?:(?:us-)?ascii|ansi_x3\.4-1968|(?:x-)?unknown(?:-8bit)?|8bit|)$/;
/** 7-bit charsets. */
const SEVEN_BIT = /^(?:iso-?2022-?(?:jp|kr)|hz|utf-?7)/;
const UTF8 = /^(?:utf-?8|unicode-1-1-utf-8|utf_8|utf-?8mb[34])$/;
/** Bytes that browsers search for the charset of an HTML page. */
const META_BYTES = 1_024;
const META_CHARSET = /<meta[^>]{1,200}?charset\s*=\s*["']?([\w:.-]{2,40})/i;
/** Bytes sampled to detect the byte order. */
const UTF16_SAMPLE = 256;

/** Charset names without punctuation that TextDecoder knows by another name. */
const ALIASES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    shift_jis: 'cp932 windows932 ibm932',
    gbk: 'cp936 ms936 windows936',
    'euc-kr': 'cp949 ms949 windows949 uhc',
    big5: 'cp950 ms950 windows950',
    'windows-874': 'cp874',
    'euc-jp': 'cp51932',
    'iso-2022-jp': 'cp50220 cp50221 cp50222 iso2022jp1 iso2022jp2 iso2022jp3 iso2022jpms junet',
    'utf-16be': 'ucs2be',
    'utf-16le': 'ucs2le',
  }).flatMap(([name, aliases]) => aliases.split(' ').map((alias) => [alias, name])),
);

/** Contains known names only, so its size is bounded. */
const decoders = new Map<string, CharsetDecoder>();
const MAX_NAME = 40;
/**
 * Unknown names since the last call of {@link forgetUnknownCharsets}: a look-up takes 30 µs, and a header can
 * name 100,000.
 */
const unknown = new Set<string>();
const MAX_UNKNOWN = 100;

/** Must be called before each mail. */
export function forgetUnknownCharsets(): void {
  if (unknown.size > 0) unknown.clear();
}

/** @param declared the charset as the mail names it; '' for none */
export function decodeCharset(bytes: Uint8Array, declared: string): string {
  return decodeAs(bytes, charsetOf(bytes, declared, false));
}

/**
 * The charset for {@link decodeAs}: the declared one if it is known, else a detected one. @param isPage true
 * for HTML, which may declare its charset itself
 */
export function charsetOf(bytes: Uint8Array, declared: string, isPage: boolean): string {
  if (declared === 'utf-8' || (decoders.has(declared) && !isSevenBit(declared))) return declared;
  const name = declared.trim().toLowerCase();
  if (UTF8.test(name)) return 'utf-8';
  const isVague = VAGUE.test(name);
  const isKnown = !isVague && decoderOf(name) !== undefined;
  if (isKnown && !(isSevenBit(name) && !isAscii(bytes) && isUtf8(bytes))) return name;
  if (isUtf8(bytes)) return 'utf-8';
  return (isPage && isVague ? charsetOfPage(bytes) : undefined) ?? (isCutUtf8(bytes) ? 'utf-8' : FALLBACK);
}

export const isSevenBit = (name: string): boolean => SEVEN_BIT.test(name);

/** The number of bytes that must follow the first one of a character; undefined for an invalid first byte. */
function followers(first: number): number | undefined {
  if (first < 0xc2 || first > 0xf4) return undefined;
  return first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
}

/**
 * Whether the bytes are UTF-8 cut within a character: most non-ASCII characters are complete, or only the
 * last one is not. Other charsets rarely form valid sequences.
 */
function isCutUtf8(bytes: Uint8Array): boolean {
  let whole = 0;
  let broken = 0;
  let isLastCut = false;
  for (let at = 0; at < bytes.length; ) {
    const byte = bytes[at++] ?? 0;
    if (byte < 0x80) continue;
    const end = at + (followers(byte) ?? Number.NaN);
    while (at < end && ((bytes[at] ?? 0) & 0xc0) === 0x80) at++;
    if (at === end) whole++;
    else broken++;
    isLastCut = at < end && at === bytes.length;
  }
  return whole > broken || (whole === 1 && broken === 1 && isLastCut);
}

export const isKnownCharset = (name: string): boolean =>
  UTF8.test(name) || VAGUE.test(name) || decoderOf(name) !== undefined;

/** @param charset result of {@link charsetOf}; an unknown one is decoded as windows-1252 */
export function decodeAs(bytes: Uint8Array, charset: string): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (charset === 'utf-8') return decodeUtf8(buffer);
  return (decoderOf(charset) ?? decoderOf(FALLBACK) ?? decodeUtf8)(buffer);
}

function decodeUtf8(bytes: Buffer): string {
  if (isAscii(bytes)) return bytes.toString('latin1', 0, bytes.length);
  const start = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  return bytes.toString('utf8', start, bytes.length);
}

function decoderOf(name: string): CharsetDecoder | undefined {
  const known = decoders.get(name);
  if (known !== undefined || name.length > MAX_NAME || unknown.has(name)) return known;
  if (unknown.size >= MAX_UNKNOWN) return undefined;
  const decoder = makeDecoder(name);
  if (decoder === undefined) unknown.add(name);
  else decoders.set(name, decoder);
  return decoder;
}

function makeDecoder(name: string): CharsetDecoder | undefined {
  const bare = name.replace(/^x-/, '').replace(/[^a-z0-9]/g, '');
  if (/^(?:utf16|ucs2|iso10646ucs2|unicode|csunicode)$/.test(bare)) return decodeUtf16;
  const alias = ALIASES.get(bare);
  // Try the unchanged name first, because TextDecoder knows many spellings.
  return (
    platformDecoder(alias ?? name) ??
    rareCharset(bare) ??
    platformDecoder(name.replaceAll('_', '-').replace(/^x-/, ''))
  );
}

/** Removes escape sequences directly followed by another one, which TextDecoder would decode as errors. */
function withoutEmptyStretches(bytes: Buffer): Buffer {
  const kept = Buffer.allocUnsafe(bytes.length);
  let length = 0;
  for (let at = 0; at < bytes.length; at++) {
    if (bytes[at] === ESC && bytes[at + 3] === ESC) at += 2;
    else kept[length++] = bytes[at] ?? 0;
  }
  return kept.subarray(0, length);
}

function platformDecoder(name: string): CharsetDecoder | undefined {
  try {
    const decoder = new TextDecoder(name);
    if (decoder.encoding === FALLBACK) return (bytes) => decodeWestern(bytes, decoder);
    if (decoder.encoding === 'iso-2022-jp') return (bytes) => decoder.decode(withoutEmptyStretches(bytes));
    return (bytes) => decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Most windows-1252 text is also ISO 8859-1, which Node decodes faster. */
function decodeWestern(bytes: Buffer, decoder: InstanceType<typeof TextDecoder>): string {
  for (const byte of bytes) if (byte >= 0x80 && byte < 0xa0) return decoder.decode(bytes);
  return bytes.toString('latin1');
}

/**
 * UTF-16 by its byte order mark, else by the position of zero bytes in ASCII characters, else little-endian
 * like TextDecoder.
 */
function decodeUtf16(bytes: Buffer): string {
  const isBigEndian = bytes[0] === 0xfe && bytes[1] === 0xff;
  const isMarked = isBigEndian || (bytes[0] === 0xff && bytes[1] === 0xfe);
  let higherFirst = 0;
  for (let at = 0; !isMarked && at + 1 < Math.min(bytes.length, UTF16_SAMPLE); at += 2) {
    if (bytes[at] === 0 && bytes[at + 1] !== 0) higherFirst++;
    else if (bytes[at] !== 0 && bytes[at + 1] === 0) higherFirst--;
  }
  const name = isBigEndian || higherFirst > 0 ? 'utf-16be' : 'utf-16le';
  return decoderOf(name)?.(bytes) ?? '';
}

function charsetOfPage(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, META_BYTES)).toString(
    'latin1',
  );
  const name = META_CHARSET.exec(start)?.[1]?.toLowerCase();
  return name !== undefined && !VAGUE.test(name) && decoderOf(name) !== undefined ? name : undefined;
}
