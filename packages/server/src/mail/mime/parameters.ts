import { decodeCharset } from './charset.ts';
import { Enclosures } from './enclosures.ts';
import { decodeHeaderText } from './encoded-words.ts';
import { decodeEscapes } from './transfer-encoding.ts';

/* Parses Content-Type and Content-Disposition (RFC 2045 section 5.1, RFC 2183, RFC 2231). */

/** A long file name may be split into 60 parameters (RFC 2231). The limit bounds the time per field. */
export const MAX_PARAMETERS = 200;
export const MAX_STRUCTURED_BYTES = 64 * 1024;

const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;
const PLAIN = /^[\w/+.-]*$/;
const NONE: ReadonlyMap<string, string> = new Map();
/** The start of a parameter that follows a blank or a comma instead of a semicolon. */
const NEXT_PARAMETER =
  /(?:boundary|charset|name|filename|type|format|delsp|method|start|protocol|report-type|size)\*?\d*\*?[ \t]*=/iy;
const EXTENDED_NAME = /^([^*]+)\*(?:(\d{1,4})(\*)?)?$/;
/** `charset'language'value`. */
const EXTENDED_VALUE = /^([^']*)'[^']*'(.*)$/s;
const SPACE = 0x20;
const PERCENT = 0x25;

export const isMediaType = (type: string): boolean => MEDIA_TYPE.test(type);

/** Returns the value, and decoded parameters by name in lower case. Of duplicates, the first is returned. */
export function parseStructured(field: string) {
  if (PLAIN.test(field)) return { value: field.toLowerCase(), parameters: NONE, isCut: false };
  const scan = new StructuredScan(field);
  const value = scan.value().toLowerCase();
  const written = scan.parameters();
  return { value, parameters: decodeParameters(written), isCut: scan.isCut };
}

const NAME = /[^=;]*/y;
const EQUALS = /=[\0-\x20]*/y;
const WORD = /[^\0-\x20;,]*/y;
const BLANKS = /[\0-\x20,]*/y;
const SEPARATORS = /[\0-\x20,;]*/y;

class StructuredScan {
  isCut = false;
  readonly #text: string;
  readonly #enclosures: Enclosures;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
    this.#enclosures = new Enclosures(text);
  }

  value(): string {
    return this.#token().replace(/[\s"]/g, '');
  }

  parameters(): Map<string, string> {
    const found = new Map<string, string>();
    while (this.#skipSeparators()) {
      const name = this.#take(NAME);
      if (this.#take(EQUALS) === '') continue;
      const value = this.#text.charAt(this.#at) === '"' ? this.#quoted() : this.#token();
      const key = name.trim().toLowerCase();
      if (key === '' || found.has(key)) continue;
      this.isCut = found.size === MAX_PARAMETERS;
      if (this.isCut) break;
      found.set(key, value);
    }
    return found;
  }

  #take(pattern: RegExp): string {
    const start = this.#at;
    pattern.lastIndex = start;
    if (pattern.test(this.#text)) this.#at = pattern.lastIndex;
    return this.#text.slice(start, this.#at);
  }

  #skipSeparators(): boolean {
    do this.#take(SEPARATORS);
    while (this.#skipComment());
    return this.#at < this.#text.length;
  }

  #skipComment(): boolean {
    const end = this.#text.charAt(this.#at) === '(' ? this.#enclosures.endOf(this.#at) : -1;
    this.#at = Math.max(this.#at, end);
    return end > 0;
  }

  /** A quoted string (RFC 5322 section 3.2.4). Only `\"` and `\\` are escapes, because `C:\a` is a file path. */
  #quoted(): string {
    const start = this.#at + 1;
    const end = this.#enclosures.endOf(this.#at);
    this.#at = end < 0 ? this.#text.length : end;
    const value = this.#text.slice(start, end < 0 ? undefined : end - 1);
    return value.includes('\\') ? value.replace(/\\(["\\])/g, '$1') : value;
  }

  /** Reads a value up to a semicolon or, if that is missing, a parameter name. Skips comments after blanks. */
  #token(): string {
    const text = this.#text;
    let value = '';
    let gap = '';
    do {
      if (this.#at === 0 || text.charCodeAt(this.#at - 1) <= SPACE) this.#skipComment();
      const word = this.#take(WORD);
      if (word !== '') {
        value += value === '' ? word : gap + word;
        gap = '';
      }
      gap += this.#take(BLANKS);
    } while (this.#at < text.length && text.charAt(this.#at) !== ';' && !this.#isBeforeParameter());
    return value;
  }

  #isBeforeParameter(): boolean {
    NEXT_PARAMETER.lastIndex = this.#at;
    return NEXT_PARAMETER.test(this.#text);
  }
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

function addPiece(extended: Map<string, Pieces>, match: RegExpExecArray, value: string): void {
  const [, name = '', number, star] = match;
  const at = Number(number ?? 0);
  const isEncoded = number === undefined || star !== undefined;
  const all = extended.get(name) ?? { charset: '', pieces: new Map() };
  extended.set(name, all);
  const [, charset, rest] = (isEncoded && at === 0 && EXTENDED_VALUE.exec(value)) || [];
  if (charset !== undefined) all.charset = charset;
  if (!all.pieces.has(at)) all.pieces.set(at, { value: rest ?? value, isEncoded });
}

/** The pieces of RFC 2231 are decoded together, because a character may be split between two of them. */
function joinPieces({ charset, pieces }: Pieces): string {
  const sorted = [...pieces].sort(([a], [b]) => a - b).map(([, piece]) => piece);
  if (!sorted.some(({ isEncoded }) => isEncoded))
    return decodeHeaderText(sorted.map(({ value }) => value).join(''));
  const bytes = sorted.map(({ value, isEncoded }) =>
    isEncoded ? decodeEscapes(value, PERCENT) : Buffer.from(value, 'latin1'),
  );
  return decodeCharset(Buffer.concat(bytes), charset);
}
