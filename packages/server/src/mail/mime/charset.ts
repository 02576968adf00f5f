import { isAscii, isUtf8 } from 'node:buffer';
import { createRequire } from 'node:module';
import { asBuffer } from '../../memory.ts';

export type CharsetDecoder = (bytes: Buffer) => string;

interface CharsetLibrary {
  encodingExists(name: string): boolean;
  decode(bytes: Buffer, name: string): string;
}

const require = createRequire(import.meta.url);

function rareCharset(name: string): CharsetDecoder | undefined {
  if (name === 'iso2022kr' || name === 'csiso2022kr') return decodeIso2022Kr;
  if (name === 'hz' || name === 'hzgb2312') return decodeHz;
  if (name === 'utf7' || name === 'unicode11utf7') return decodeUtf7;
  // Loaded on demand: loading takes 5 ms and memory, and very few mails need the library.
  const library: CharsetLibrary = require('iconv-lite');
  // iconv-lite also accepts the names of transfer encodings.
  if (/^(?:hex|base64|binary)$/.test(name) || !library.encodingExists(name)) return undefined;
  return (bytes) => library.decode(bytes, name);
}

const ESC = '\x1b';
const SPACE = 0x20;

// Decoders are reused: creating one takes longer than decoding a word, and a header can have 100,000 words.
const EUC_KR = new TextDecoder('euc-kr');
const GBK = new TextDecoder('gbk');

/** Decodes UTF-7 (RFC 2152). iconv-lite is not used: it takes 40 times as long for text with many shifts. */
const decodeUtf7: CharsetDecoder = (bytes) =>
  bytes.toString('latin1').replace(/\+([A-Za-z0-9+/]*)-?/g, (whole, digits: string) => {
    if (digits === '') return whole === '+-' ? '+' : whole;
    const units = Buffer.from(digits, 'base64');
    return units
      .subarray(0, units.length & ~1)
      .swap16()
      .toString('utf16le');
  });

/** Converts the 7-bit form of a charset to its 8-bit form. @param text one character per byte */
function to8Bit(text: string): string {
  const bytes = Buffer.from(text, 'latin1');
  for (const [at, byte] of bytes.entries()) if (byte > SPACE) bytes[at] = byte | 0x80;
  return bytes.toString('latin1');
}

// biome-ignore-start lint/suspicious/noControlCharactersInRegex: the shift characters of these charsets
/** RFC 1557: text between shift-out and shift-in (or the end of the line) is EUC-KR. */
const decodeIso2022Kr: CharsetDecoder = (bytes) => {
  const text = bytes.toString('latin1').replaceAll(/\x1b\$\)./gs, '');
  const decoded = text.replace(/\x0e([^\n]*?)(?:\x0f|(?=\n)|$)|\x0f/g, (_, shifted = '') =>
    to8Bit(shifted.replaceAll('\x0e', '')),
  );
  return EUC_KR.decode(Buffer.from(decoded, 'latin1'));
};
// biome-ignore-end lint/suspicious/noControlCharactersInRegex: the shift characters of these charsets

/** RFC 1843: GB 2312 between `~{` and `~}`. `~~` is a tilde, and `~` at the end of a line joins two lines. */
const decodeHz: CharsetDecoder = (bytes) => {
  const decoded = bytes
    .toString('latin1')
    .replace(/~\{([^\n]*?)(?:~\}|(?=\n)|$)|~\}|~(~)|~\n/g, (_, shifted = '', tilde = '') =>
      shifted === '' ? tilde : to8Bit(shifted),
    );
  return GBK.decode(Buffer.from(decoded, 'latin1'));
};

/* Text with a missing or unknown charset is read as UTF-8 if it is valid UTF-8, else as windows-1252 in most cases. */

const FALLBACK = 'windows-1252';
/** Charset names that do not say what bytes above 127 mean, such as ASCII. */
const VAGUE = /^(?:(?:us-)?ascii|ansi_x3\.4-1968|(?:x-)?unknown(?:-8bit)?|8bit|)$/;
const SEVEN_BIT = /^(?:iso-?2022-?(?:jp|kr)|hz|utf-?7)/;
const UTF8 = /^(?:utf-?8|unicode-1-1-utf-8|utf_8|utf-?8mb[34])$/;
const META_BYTES = 1_024;
const META_CHARSET = /<meta[^>]{1,200}?charset\s*=\s*["']?([\w:.-]{2,40})/i;
const CUT_SAMPLE = 64 * 1024;
const UTF16_SAMPLE = 256;

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

const decoders = new Map<string, CharsetDecoder>();
const MAX_NAME = 40;
/** Caches unknown charset names of a mail: a look-up takes 30 µs, and a header can have 100,000 names. */
const unknown = new Set<string>();
const MAX_UNKNOWN = 100;

export function forgetUnknownCharsets(): void {
  if (unknown.size > 0) unknown.clear();
}

export const decodeCharset = (bytes: Uint8Array, declared: string): string =>
  decodeAs(bytes, charsetOf(bytes, declared, false));

/** Returns the declared charset if it is known, else a detected one. Valid UTF-8 overrides a 7-bit charset. */
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

/** Whether most non-ASCII characters are valid UTF-8, as in damaged UTF-8. In other charsets, this is rare. */
function isCutUtf8(bytes: Uint8Array): boolean {
  // `stream` makes the decoder ignore an incomplete character at the end.
  const text = new TextDecoder().decode(bytes.subarray(0, CUT_SAMPLE), { stream: true });
  const broken = text.split('\ufffd').length - 1;
  return (text.match(/[^\0-\x7f\ufffd]/gu) ?? []).length > broken;
}

export const isKnownCharset = (name: string): boolean =>
  UTF8.test(name) || VAGUE.test(name) || decoderOf(name) !== undefined;

export function decodeAs(bytes: Uint8Array, charset: string): string {
  const buffer = asBuffer(bytes);
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

/** Removes escape sequences directly before another one: TextDecoder would return U+FFFD for each of them. */
function withoutEmptyStretches(bytes: Buffer): Buffer {
  const pieces = bytes.toString('latin1').split(ESC);
  const kept = pieces.filter((piece, at) => piece.length !== 2 || at === 0 || at === pieces.length - 1);
  return Buffer.from(kept.join(ESC), 'latin1');
}

function platformDecoder(name: string): CharsetDecoder | undefined {
  try {
    const decoder = new TextDecoder(name);
    if (decoder.encoding === 'iso-2022-jp') return (bytes) => decoder.decode(withoutEmptyStretches(bytes));
    return (bytes) => decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Without a byte order mark, a sample decides: big-endian if zero bytes are mostly the first byte of their pair. */
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
  const start = asBuffer(bytes).toString('latin1', 0, META_BYTES);
  const name = META_CHARSET.exec(start)?.[1]?.toLowerCase();
  return name !== undefined && !VAGUE.test(name) && decoderOf(name) !== undefined ? name : undefined;
}
