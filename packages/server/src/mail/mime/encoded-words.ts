import { decodeCharset } from './charset.ts';
import { decodeBase64, decodeEscapes } from './transfer-encoding.ts';

/* Decodes header text (RFC 2047), given as one character per byte, in linear time. */

/** `=?charset*language?encoding?`. The charset excludes blanks, or a stray "=?" would match a whole sentence. */
const WORD_START = /=\?([^?\s*]+)(?:\*[^?\s]*)?\?([bq])\?/iy;
const BEYOND_ASCII = /[\x80-\xff]/;
const BLANKS = /^[ \t\r\n]*$/;
const EQUALS = 0x3d;
/** Base64 that Node's decoder reads completely: padding only at the end, and no other characters. */
const PLAIN_BASE64 = /^[A-Za-z0-9+/]*=*$/;
const REPLACEMENT = '\ufffd';

interface Word {
  charset: string;
  isBase64: boolean;
  text: string;
  start: number;
  end: number;
}

export function decodeHeaderText(value: string): string {
  if (!value.includes('=?')) return decodeBytes(value);
  let decoded = '';
  let at = 0;
  let group: Word[] = [];
  for (let word = nextWord(value, 0); word !== undefined; word = nextWord(value, word.end)) {
    const between = value.slice(at, word.start);
    const isAdjacent = group.length > 0 && BLANKS.test(between);
    if (!isAdjacent || group[0]?.charset !== word.charset) {
      decoded += decodeGroup(group);
      group = [];
    }
    if (!isAdjacent) decoded += decodeBytes(between);
    group.push(word);
    at = word.end;
  }
  return decoded + decodeGroup(group) + decodeBytes(value.slice(at));
}

function decodeBytes(text: string): string {
  return BEYOND_ASCII.test(text) ? decodeCharset(Buffer.from(text, 'latin1'), '') : text;
}

function nextWord(value: string, from: number): Word | undefined {
  let start = value.indexOf('=?', from);
  while (start >= 0) {
    WORD_START.lastIndex = start;
    const match = WORD_START.exec(value);
    if (match !== null) {
      const textStart = WORD_START.lastIndex;
      const textEnd = endOfText(value, textStart);
      if (value.startsWith('?=', textEnd)) {
        return {
          charset: (match[1] ?? '').toLowerCase(),
          isBase64: match[2] === 'b' || match[2] === 'B',
          text: value.slice(textStart, textEnd),
          start,
          end: textEnd + 2,
        };
      }
    }
    start = value.indexOf('=?', start + 2);
  }
  return undefined;
}

/** An unclosed word ends at the next `=?`. A `?` and blanks within are invalid but occur. */
function endOfText(value: string, from: number): number {
  for (let at = value.indexOf('?', from); at >= 0; at = value.indexOf('?', at + 1)) {
    if (value.charAt(at + 1) === '=') return at;
    if (at > from && value.charAt(at - 1) === '=') return at - 1;
  }
  return value.length;
}

/** Senders split text within a character or a base64 group, so adjacent words of one charset are joined first. */
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
