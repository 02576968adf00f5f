import { decodeCharset } from './charset.ts';
import { decodeHeaderText } from './encoded-words.ts';
import { hexPair } from './transfer-encoding.ts';

/*
 * Content-Type and Content-Disposition (RFC 2045 section 5.1, RFC 2183), with the parameters of RFC 2231
 * and of the senders that write them otherwise. Values are one character a byte until they are decoded.
 */

/**
 * Parameters of a field that are kept: file names come in up to 60 pieces, and a field of 100,000 would
 * become a response of megabytes.
 */
export const MAX_PARAMETERS = 200;
/** Bytes of such a field that are read; real ones have at most a few kilobytes. */
export const MAX_STRUCTURED_BYTES = 64 * 1024;

export interface Structured {
  /** The value before the parameters, in lower case; '' for none. */
  value: string;
  /** Names in lower case, values decoded; of one given twice the first counts. */
  parameters: ReadonlyMap<string, string>;
  /** True when there were more than {@link MAX_PARAMETERS}. */
  isCut: boolean;
}

/** A media type without parameters (RFC 6838 section 4.2). */
const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;
const PLAIN = /^[\w/+.-]*$/;
const NONE: ReadonlyMap<string, string> = new Map();
/** At a blank or comma: a parameter follows that lacks its semicolon. */
const NEXT_PARAMETER =
  /[ \t,](?=(?:boundary|charset|name|filename|type|format|delsp|method|start|protocol|report-type|size)\*?\d*\*?[ \t]*=)/iy;
/** The names of RFC 2231: `name*`, `name*0`, `name*0*`. */
const EXTENDED_NAME = /^([^*]+)\*(?:(\d{1,4})(\*)?)?$/;
/** `charset'language'value`. */
const EXTENDED_VALUE = /^([^']*)'[^']*'(.*)$/s;
const SPACE = 0x20;
const QUOTE = 0x22;
const PERCENT = 0x25;
const OPEN = 0x28;
const CLOSE = 0x29;
const COMMA = 0x2c;
const SEMICOLON = 0x3b;
const EQUALS = 0x3d;
const BACKSLASH = 0x5c;

/** True for `type/subtype` in lower case. */
export const isMediaType = (type: string): boolean => MEDIA_TYPE.test(type);

/** @param field an unfolded value, one character a byte */
export function parseStructured(field: string): Structured {
  if (PLAIN.test(field)) return { value: field.toLowerCase(), parameters: NONE, isCut: false };
  const scan = new StructuredScan(field);
  const value = scan.value().toLowerCase();
  const written = scan.parameters();
  return { value, parameters: decodeParameters(written), isCut: scan.isCut };
}

class StructuredScan {
  isCut = false;
  private readonly text: string;
  private at = 0;
  /** False once a comment was found open: then a parenthesis is only a character. */
  private hasComments = true;

  constructor(text: string) {
    this.text = text;
  }

  /** The media type, or the disposition; without blanks, quotes and comments. */
  value(): string {
    return this.token().replace(/[\s"]/g, '');
  }

  /** Names in lower case, values as written without their quotes. */
  parameters(): Map<string, string> {
    const found = new Map<string, string>();
    while (this.skipSeparators()) {
      const name = this.name();
      if (name === undefined) continue;
      const value = this.text.charCodeAt(this.at) === QUOTE ? this.quoted() : this.token();
      if (name === '' || found.has(name)) continue;
      if (found.size === MAX_PARAMETERS) {
        this.isCut = true;
        break;
      }
      found.set(name, value);
    }
    return found;
  }

  /** @returns false at the end */
  private skipSeparators(): boolean {
    const { text } = this;
    while (this.at < text.length) {
      const code = text.charCodeAt(this.at);
      if (code === OPEN && this.skipComment()) continue;
      if (code > SPACE && code !== SEMICOLON && code !== COMMA) return true;
      this.at++;
    }
    return false;
  }

  /** The name up to its "=" and the blanks behind it; undefined for a word without one. */
  private name(): string | undefined {
    const { text } = this;
    const start = this.at;
    let code = text.charCodeAt(start);
    while (this.at < text.length && code !== EQUALS && code !== SEMICOLON) code = text.charCodeAt(++this.at);
    if (code !== EQUALS) return undefined;
    const name = text.slice(start, this.at).trim().toLowerCase();
    do this.at++;
    while (text.charCodeAt(this.at) <= SPACE);
    return name;
  }

  /**
   * A quoted string (RFC 5322 section 3.2.4); one that is not closed ends with the field. A backslash
   * escapes only itself and the quote: others are in the paths that some senders write.
   */
  private quoted(): string {
    const { text } = this;
    let value = '';
    let from = ++this.at;
    for (; this.at < text.length; this.at++) {
      const code = text.charCodeAt(this.at);
      if (code === QUOTE) break;
      const next = text.charCodeAt(this.at + 1);
      if (code === BACKSLASH && (next === QUOTE || next === BACKSLASH)) {
        value += text.slice(from, this.at);
        from = ++this.at;
      }
    }
    value += text.slice(from, this.at);
    this.at++;
    return value;
  }

  /** Up to the semicolon, or to a parameter that lacks it; comments behind a blank dropped, blanks within kept. */
  private token(): string {
    const { text } = this;
    let value = '';
    let from = this.at;
    while (this.at < text.length) {
      const code = text.charCodeAt(this.at);
      if (code === SEMICOLON || ((code <= SPACE || code === COMMA) && this.isBeforeParameter())) break;
      const mayOpen = code === OPEN && (this.at === 0 || text.charCodeAt(this.at - 1) <= SPACE);
      const before = this.at;
      if (mayOpen && this.skipComment()) {
        value += text.slice(from, before);
        from = this.at;
      } else {
        this.at++;
      }
    }
    return withoutEnd(value + text.slice(from, this.at));
  }

  private isBeforeParameter(): boolean {
    NEXT_PARAMETER.lastIndex = this.at;
    return NEXT_PARAMETER.test(this.text);
  }

  /** @returns false where it is not closed; nothing was skipped then */
  private skipComment(): boolean {
    if (!this.hasComments) return false;
    const { text } = this;
    let depth = 0;
    for (let at = this.at; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code === BACKSLASH) at++;
      else if (code === OPEN) depth++;
      else if (code === CLOSE && --depth === 0) {
        this.at = at + 1;
        return true;
      }
    }
    this.hasComments = false;
    return false;
  }
}

/** Without blanks and commas at the end, which belong to what follows. */
function withoutEnd(value: string): string {
  let end = value.length;
  while (end > 0 && (value.charCodeAt(end - 1) <= SPACE || value.charCodeAt(end - 1) === COMMA)) end--;
  return value.slice(0, end).trimStart();
}

/** Pieces of one parameter by their number. */
interface Pieces {
  charset: string;
  pieces: Map<number, { value: string; isEncoded: boolean }>;
}

function decodeParameters(written: ReadonlyMap<string, string>): Map<string, string> {
  const decoded = new Map<string, string>();
  const extended = new Map<string, Pieces>();
  for (const [name, value] of written) {
    const match = name.includes('*') ? EXTENDED_NAME.exec(name) : null;
    if (match === null) decoded.set(name, decodeHeaderText(value));
    else addPiece(extended, match, value);
  }
  // A value in the extended form is the better one of two (RFC 6266 section 4.3).
  for (const [name, pieces] of extended) decoded.set(name, joinPieces(pieces));
  return decoded;
}

function addPiece(
  extended: Map<string, Pieces>,
  [, name = '', number, star]: RegExpExecArray,
  value: string,
): void {
  const at = Number(number ?? 0);
  const isEncoded = number === undefined || star !== undefined;
  const all = extended.get(name) ?? { charset: '', pieces: new Map() };
  extended.set(name, all);
  const [, charset, rest] = (isEncoded && at === 0 && EXTENDED_VALUE.exec(value)) || [];
  if (charset !== undefined) all.charset = charset;
  if (!all.pieces.has(at)) all.pieces.set(at, { value: rest ?? value, isEncoded });
}

/** RFC 2231 sections 3 and 4: encoded pieces beside each other are decoded together, for a character may be cut. */
function joinPieces({ charset, pieces }: Pieces): string {
  const sorted = [...pieces].sort(([a], [b]) => a - b).map(([, piece]) => piece);
  if (!sorted.some(({ isEncoded }) => isEncoded))
    return decodeHeaderText(sorted.map(({ value }) => value).join(''));
  let decoded = '';
  let encoded = '';
  for (const { value, isEncoded } of sorted) {
    if (isEncoded) encoded += value;
    else {
      decoded += decodePercent(encoded, charset) + decodeHeaderText(value);
      encoded = '';
    }
  }
  return decoded + decodePercent(encoded, charset);
}

function decodePercent(text: string, charset: string): string {
  const bytes = Buffer.from(text, 'latin1');
  let length = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    const value = byte === PERCENT ? hexPair(bytes, at + 1) : -1;
    bytes[length++] = value < 0 ? byte : value;
    if (value >= 0) at += 2;
  }
  return decodeCharset(bytes.subarray(0, length), charset);
}
