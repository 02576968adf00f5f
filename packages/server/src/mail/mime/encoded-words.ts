import { decodeCharset } from './charset.ts';
import { decodeBase64, decodeEscapes } from './transfer-encoding.ts';

/* Decodes header text (RFC 2047) in linear time. The text has one character per byte. */

/**
 * `=?charset*language?encoding?text?=`. The text may contain "?" and blanks (invalid, but sent), but no "=?",
 * which starts the next word. The charset has no blanks, so that "=?" in a sentence does not start a word.
 */
const WORD = /=\?([^?\s*]+)(?:\*[^?\s]*)?\?([bq])\?((?:(?!=\?(?!=)).)*?)\?=/gis;
const BEYOND_ASCII = /[\x80-\xff]/;
const BLANKS = /^[ \t\r\n]*$/;
const EQUALS = 0x3d;
/** Base64 that Node.js decodes completely: padding only at the end, and no invalid characters. */
const PLAIN_BASE64 = /^[A-Za-z0-9+/]*=*$/;
const REPLACEMENT = '\ufffd';

interface Word {
  charset: string;
  isBase64: boolean;
  text: string;
}

export function decodeHeaderText(value: string): string {
  if (!value.includes('=?')) return decodeBytes(value);
  let decoded = '';
  let at = 0;
  let group: Word[] = [];
  WORD.lastIndex = 0;
  for (let match = WORD.exec(value); match !== null; match = WORD.exec(value)) {
    const [, name = '', encoding, text = ''] = match;
    const charset = name.toLowerCase();
    const between = value.slice(at, match.index);
    const isAdjacent = group.length > 0 && BLANKS.test(between);
    if (!isAdjacent || group[0]?.charset !== charset) {
      decoded += decodeGroup(group);
      group = [];
    }
    if (!isAdjacent) decoded += decodeBytes(between);
    group.push({ charset, isBase64: encoding?.toLowerCase() === 'b', text });
    at = WORD.lastIndex;
  }
  return decoded + decodeGroup(group) + decodeBytes(value.slice(at));
}

const decodeBytes = (text: string): string =>
  BEYOND_ASCII.test(text) ? decodeCharset(Buffer.from(text, 'latin1'), '') : text;

/** Decodes adjacent words of one charset together, because some senders split a character or a base64 group. */
function decodeGroup(words: readonly Word[]): string {
  const [first] = words;
  if (first === undefined) return '';
  const { charset } = first;
  const pieces = words.map(bytesOf);
  const joined = decodeCharset(
    pieces.length === 1 ? (pieces[0] as Uint8Array) : Buffer.concat(pieces),
    charset,
  );
  if (words.length === 1 || !joined.includes(REPLACEMENT)) return joined;
  if (words.every(({ isBase64 }) => isBase64)) {
    const whole = decodeCharset(decodeBase64(latin1(words.map(({ text }) => text).join(''))), charset);
    if (!whole.includes(REPLACEMENT)) return whole;
  }
  return pieces.map((piece) => decodeCharset(piece, charset)).join('');
}

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');

function bytesOf({ isBase64, text }: Word): Uint8Array {
  // The "Q" encoding (RFC 2047 section 4.2).
  if (!isBase64) return decodeEscapes(text.replaceAll('_', ' '), EQUALS);
  return PLAIN_BASE64.test(text) ? Buffer.from(text, 'base64') : decodeBase64(latin1(text));
}
