/* Known names distinguish a broken header line from text, and have priority if there are too many fields. */

export const FIELD_NAMES: ReadonlySet<string> = new Set(
  (
    'from to cc bcc subject date sender reply-to message-id in-reply-to references comments keywords ' +
    'return-path received received-spf delivered-to envelope-to apparently-to mime-version content-type ' +
    'content-transfer-encoding content-disposition content-id content-description content-location ' +
    'content-language authentication-results dkim-signature domainkey-signature list-unsubscribe ' +
    'list-unsubscribe-post list-id precedence importance sensitivity organization user-agent ' +
    'errors-to auto-submitted feedback-id return-receipt-to disposition-notification-to ' +
    'thread-topic thread-index mail-followup-to'
  ).split(' '),
);

const FIELD_PREFIXES = /^(?:x|content|list|arc|resent|dkim|authentication|received|autocrypt|bimi|mime)-/;

/* Finds header fields (RFC 5322 section 2.2) leniently: an invalid line affects only itself. */

/** Offsets in the raw source. `[valueStart, end)` includes folds, not the last line break. */
export interface FieldRange {
  nameStart: number;
  nameEnd: number;
  valueStart: number;
  end: number;
}

export interface HeaderRange {
  fields: FieldRange[];
  /** Offset after the empty line, or of the first line of text. */
  bodyStart: number;
  isCut: boolean;
}

/** Real mail has fewer than 200. Above the limit, the first field of each name in {@link FIELD_NAMES} is kept. */
export const MAX_FIELDS = 2_000;

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const COMMA = 0x2c;
const HYPHEN = 0x2d;
const SLASH = 0x2f;
const COLON = 0x3a;
const SEMICOLON = 0x3b;
const EQUALS = 0x3d;
const DELETE = 0x7f;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

const LINE_START = 200;
const LONGEST_NAME = 64;
const MAILBOX_LINE = /^>?From (?:\S+@\S|\S+ +[A-Z][a-z]{2},? .*\b\d\d:\d\d\b)/;
/** A parameter such as `boundary="b"` on a line that lost its leading blank. */
const PARAMETER_LINE = /^[a-z0-9*-]+\s*=/i;
/** A field with invalid characters in its name. */
const BROKEN_FIELD = /^[^\s:]{1,64}\s*:(?!\/\/)/;
const TRACE = /^(?:received|return-path)$/;
const HAS_PARAMETERS = /^content-(?:type|disposition)$/i;

type LineKind = 'blank' | 'fold' | 'field' | 'other';

const isBlank = (byte: number | undefined): boolean => byte === SPACE || byte === TAB;

const isNameByte = (byte: number): boolean =>
  byte > SPACE && byte < DELETE && byte !== COLON && byte !== EQUALS;

export function fieldKey(source: Buffer, field: FieldRange): string {
  return source.toString('latin1', field.nameStart, field.nameEnd).toLowerCase();
}

/** The unfolded value (RFC 5322 section 2.2.3), one character per byte, not decoded. @param maxBytes cuts the value */
export function fieldValue(source: Buffer, field: FieldRange, maxBytes = Number.POSITIVE_INFINITY): string {
  const raw = source.toString('latin1', field.valueStart, Math.min(field.end, field.valueStart + maxBytes));
  return unfold(raw);
}

function unfold(raw: string): string {
  const line = raw.includes('\n') ? raw.replace(/\r?\n(?=[ \t])/g, '').replace(/\r?\n/g, ' ') : raw;
  return trimBlanks(line);
}

/** Trims blanks. `trim` would also remove bytes of multibyte characters. */
function trimBlanks(line: string): string {
  let start = 0;
  let end = line.length;
  while (start < end && line.charCodeAt(start) <= SPACE) start++;
  while (end > start && line.charCodeAt(end - 1) <= SPACE) end--;
  return line.slice(start, end);
}

export function readHeader(source: Buffer, start: number, end: number): HeaderRange {
  return new HeaderScan(source, start, end).run();
}

class HeaderScan {
  private readonly source: Buffer;
  private readonly end: number;
  private readonly fields: FieldRange[] = [];
  private at: number;
  private open: FieldRange | undefined;
  private lastKnown: number | undefined;
  private isCut = false;
  /** True while only trace fields were read, which relays prepend. */
  private hasOnlyTrace = true;
  private met: Set<string> | undefined;
  private nameEnd = 0;
  private colon = 0;

  constructor(source: Buffer, start: number, end: number) {
    this.source = source;
    this.at = start;
    this.end = end;
  }

  run(): HeaderRange {
    while (this.at < this.end) {
      const lineStart = this.at;
      const kind = this.kindOf(lineStart);
      if (kind === 'other' && this.isEnd(lineStart)) return this.result(lineStart);
      const lineEnd = this.lineEnd(lineStart);
      this.at = Math.min(lineEnd + 1, this.end);
      if (kind === 'blank') return this.result(this.at);
      if (kind === 'field') this.addField(lineStart, lineEnd);
      else if (kind === 'fold' || this.isLostFold(lineStart)) this.extend(lineEnd);
      else this.open = undefined;
    }
    return this.result(this.end);
  }

  private result(bodyStart: number): HeaderRange {
    return { fields: this.fields, bodyStart, isCut: this.isCut };
  }

  private lineEnd(from: number): number {
    const { source, end } = this;
    let at = from;
    while (at < end && source[at] !== LF) at++;
    return at;
  }

  private kindOf(lineStart: number): LineKind {
    const { source, end } = this;
    const first = source[lineStart];
    if (first === LF) return 'blank';
    if (first === CR && (lineStart + 1 === end || source[lineStart + 1] === LF)) return 'blank';
    if (isBlank(first)) return 'fold';
    return !this.isDashed(lineStart) && this.findName(lineStart) ? 'field' : 'other';
  }

  /** Finds a field name (RFC 5322 section 2.2). Excludes "=", which no real name contains. */
  private findName(lineStart: number): boolean {
    const { source, end } = this;
    const nameStart = this.nameStart(lineStart);
    let at = nameStart;
    while (at < end && isNameByte(source[at] ?? 0)) at++;
    this.nameEnd = at;
    while (at < end && isBlank(source[at])) at++;
    this.colon = at;
    const isUrl = source[at + 1] === SLASH && source[at + 2] === SLASH;
    return this.nameEnd > nameStart && at < end && source[at] === COLON && !isUrl;
  }

  /** Boundary delimiters begin with dashes (RFC 2046 section 5.1.1); no field name does. */
  private isDashed(lineStart: number): boolean {
    return this.source[lineStart] === HYPHEN && this.source[lineStart + 1] === HYPHEN;
  }

  /** Skips an editor's byte order mark before the sender's first field. */
  private nameStart(lineStart: number): number {
    if (this.source[lineStart] !== BYTE_ORDER_MARK[0]) return lineStart;
    const isMarked = BYTE_ORDER_MARK.every((byte, i) => this.source[lineStart + i] === byte);
    return isMarked && this.hasOnlyTrace ? lineStart + BYTE_ORDER_MARK.length : lineStart;
  }

  private addField(lineStart: number, lineEnd: number): void {
    const field = {
      nameStart: this.nameStart(lineStart),
      nameEnd: this.nameEnd,
      valueStart: this.colon + 1,
      end: this.withoutCr(lineEnd),
    };
    this.open = field;
    this.hasOnlyTrace &&= TRACE.test(fieldKey(this.source, field));
    if (this.fields.length < MAX_FIELDS || this.isNeeded(field)) this.fields.push(field);
    else this.isCut = true;
  }

  private isNeeded(field: FieldRange): boolean {
    this.met ??= new Set(this.fields.map((one) => fieldKey(this.source, one)));
    if (field.nameEnd - field.nameStart > LONGEST_NAME) return false;
    const key = fieldKey(this.source, field);
    if (this.met.has(key) || !FIELD_NAMES.has(key)) return false;
    this.met.add(key);
    return true;
  }

  /** Folded lines after a broken line are dropped with it. */
  private extend(lineEnd: number): void {
    if (this.open !== undefined) this.open.end = this.withoutCr(lineEnd);
  }

  private withoutCr(lineEnd: number): number {
    return this.source[lineEnd - 1] === CR ? lineEnd - 1 : lineEnd;
  }

  private startOf(lineStart: number): string {
    const end = Math.min(this.lineEnd(lineStart), lineStart + LINE_START);
    return this.source.toString('latin1', lineStart, end);
  }

  /** Whether a line lacks its leading blank: a parameter, the rest of a list, or the last line of the header. */
  private isLostFold(lineStart: number): boolean {
    const { source, open } = this;
    if (open === undefined) return false;
    const hasParameters = HAS_PARAMETERS.test(fieldKey(source, open));
    if (hasParameters && PARAMETER_LINE.test(this.startOf(lineStart))) return true;
    if (this.hasOnlyTrace || this.isDashed(lineStart) || BROKEN_FIELD.test(this.startOf(lineStart)))
      return false;
    const last = source[open.end - 1];
    return last === COMMA || last === SEMICOLON || this.isLastOfHeader(lineStart);
  }

  private isLastOfHeader(lineStart: number): boolean {
    const { source, end } = this;
    const next = this.lineEnd(lineStart) + 1;
    if (next >= end || this.kindOf(next) !== 'blank') return false;
    let at = next;
    while (at < end && (source[at] ?? 0) <= SPACE) at++;
    return at < end;
  }

  /** At a possible boundary delimiter, or at text that no known field follows. */
  private isEnd(lineStart: number): boolean {
    if (this.isDashed(lineStart)) return true;
    if (this.isLostFold(lineStart)) return false;
    if (this.hasOnlyTrace && MAILBOX_LINE.test(this.startOf(lineStart))) return false;
    this.lastKnown ??= this.findLastKnown(lineStart);
    return lineStart > this.lastKnown;
  }

  private findLastKnown(from: number): number {
    let last = -1;
    let at = from;
    while (at < this.end) {
      const kind = this.kindOf(at);
      if (kind === 'blank' || this.isDashed(at)) break;
      if (kind === 'field' && this.isKnown(this.nameStart(at), this.nameEnd)) last = at;
      at = this.lineEnd(at) + 1;
    }
    return last;
  }

  private isKnown(nameStart: number, nameEnd: number): boolean {
    if (nameEnd - nameStart > LONGEST_NAME) return false;
    const name = this.source.toString('latin1', nameStart, nameEnd).toLowerCase();
    return FIELD_NAMES.has(name) || FIELD_PREFIXES.test(name);
  }
}
