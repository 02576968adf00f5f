import { decodeCharset } from './charset.ts';
import { decodeHeaderText } from './encoded-words.ts';
import { hexPair } from './transfer-encoding.ts';

/* Content-Type and Content-Disposition (RFC 2045 section 5.1, RFC 2183) with parameters of RFC 2231. */

/** Limit of parameters: file names have up to 60 pieces, and 100,000 parameters would make a response of megabytes. */
export const MAX_PARAMETERS = 200;
export const MAX_STRUCTURED_BYTES = 64 * 1024;

export interface Structured {
  value: string;
  /** Names in lower case, values decoded; the first duplicate counts. */
  parameters: ReadonlyMap<string, string>;
  isCut: boolean;
}

const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;
const PLAIN = /^[\w/+.-]*$/;
const NONE: ReadonlyMap<string, string> = new Map();
/** A blank or comma before a parameter with a missing semicolon. */
const NEXT_PARAMETER =
  /[ \t,](?=(?:boundary|charset|name|filename|type|format|delsp|method|start|protocol|report-type|size)\*?\d*\*?[ \t]*=)/iy;
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

export const isMediaType = (type: string): boolean => MEDIA_TYPE.test(type);

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
  /** False after an unclosed comment: from then on, parentheses are plain characters. */
  private hasComments = true;

  constructor(text: string) {
    this.text = text;
  }

  value(): string {
    return this.token().replace(/[\s"]/g, '');
  }

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

  /** RFC 5322 section 3.2.4, but a backslash escapes only itself and the quote, because some senders write paths. */
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

  /** Ends at a semicolon or before a parameter with a missing semicolon; drops comments after a blank. */
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

function withoutEnd(value: string): string {
  let end = value.length;
  while (end > 0 && (value.charCodeAt(end - 1) <= SPACE || value.charCodeAt(end - 1) === COMMA)) end--;
  return value.slice(0, end).trimStart();
}

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
  // The extended form takes precedence (RFC 6266 section 4.3).
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

/** RFC 2231 sections 3 and 4. Adjacent encoded pieces are decoded together, as a character may be split. */
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
