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

export interface FieldRange {
  name: string;
  /** The name in lower case. */
  key: string;
  /** Offsets in the raw source. `[valueStart, end)` includes folds, not the last line break. */
  nameStart: number;
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
/** Octets; a line has at most 998 (RFC 5322 section 2.1.1). */
const MAX_NAME = 998;

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
const BYTE_ORDER_MARK = '\xef\xbb\xbf';

/** Bytes of a line that the patterns below are compared with. */
const LINE_START = 200;
const MAILBOX_LINE = /^>?From (?:\S+@\S|\S+ +[A-Z][a-z]{2},? .*\b\d\d:\d\d\b)/;
/** A parameter such as `boundary="b"` on a line that lost its leading blank. */
const PARAMETER_LINE = /^[a-z0-9*-]+\s*=/i;
/** A field with invalid characters in its name. */
const BROKEN_FIELD = /^[^\s:]{1,64}\s*:(?!\/\/)/;
const TRACE = /^(?:received|return-path)$/;
const HAS_PARAMETERS = /^content-(?:type|disposition)$/;

const isBlank = (byte: number | undefined): boolean => byte === SPACE || byte === TAB;

const isNameByte = (byte: number): boolean =>
  byte > SPACE && byte < DELETE && byte !== COLON && byte !== EQUALS;

/** The unfolded value (RFC 5322 section 2.2.3), one character per byte, not decoded. @param maxBytes cuts the value */
export function fieldValue(source: Buffer, field: FieldRange, maxBytes = Number.POSITIVE_INFINITY): string {
  const raw = source.toString('latin1', field.valueStart, Math.min(field.end, field.valueStart + maxBytes));
  const line = raw.includes('\n') ? raw.replace(/\r?\n(?=[ \t])/g, '').replace(/\r?\n/g, ' ') : raw;
  let start = 0;
  let end = line.length;
  // `trim` would also remove bytes of multibyte characters.
  while (start < end && line.charCodeAt(start) <= SPACE) start++;
  while (end > start && line.charCodeAt(end - 1) <= SPACE) end--;
  return line.slice(start, end);
}

export function readHeader(source: Buffer, start: number, end: number): HeaderRange {
  return new HeaderScan(source, end).run(start);
}

interface Line {
  /** `dashed` may be a boundary delimiter (RFC 2046 section 5.1.1); no field name begins with two dashes. */
  kind: 'blank' | 'fold' | 'dashed' | 'field' | 'other';
  start: number;
  /** Without the line break. */
  end: number;
  next: number;
  /** Offsets of a field's name and of its colon. */
  nameStart: number;
  nameEnd: number;
  colon: number;
}

class HeaderScan {
  private readonly source: Buffer;
  private readonly end: number;
  private readonly fields: FieldRange[] = [];
  private readonly keys = new Set<string>();
  /** The field that folded lines continue; undefined after a broken line, with which they are dropped. */
  private open: FieldRange | undefined;
  private lastKnown: number | undefined;
  private isCut = false;
  /** True while only trace fields were read, which relays prepend. */
  private hasOnlyTrace = true;

  constructor(source: Buffer, end: number) {
    this.source = source;
    this.end = end;
  }

  run(start: number): HeaderRange {
    let at = start;
    while (at < this.end) {
      const line = this.lineAt(at);
      if (line.kind === 'blank' || line.kind === 'dashed') {
        at = line.kind === 'blank' ? line.next : at;
        break;
      }
      if (line.kind === 'field') this.addField(line);
      else if (line.kind === 'fold' || this.isLostFold(line)) {
        if (this.open !== undefined) this.open.end = line.end;
      } else if (this.isText(line)) break;
      else this.open = undefined;
      at = line.next;
    }
    return { fields: this.fields, bodyStart: at, isCut: this.isCut };
  }

  private lineAt(start: number): Line {
    const { source } = this;
    let end = start;
    while (end < this.end && source[end] !== LF) end++;
    const next = Math.min(end + 1, this.end);
    if (end > start && source[end - 1] === CR) end--;
    const line: Line = { kind: 'other', start, end, next, nameStart: start, nameEnd: start, colon: start };
    if (end === start) line.kind = 'blank';
    else if (isBlank(source[start])) line.kind = 'fold';
    else if (source[start] === HYPHEN && source[start + 1] === HYPHEN) line.kind = 'dashed';
    else if (this.findName(line)) line.kind = 'field';
    return line;
  }

  /** Finds a field name (RFC 5322 section 2.2). Excludes "=", which no real name contains. */
  private findName(line: Line): boolean {
    const { source } = this;
    // Skips an editor's byte order mark before the sender's first field.
    const mayBeMarked = this.hasOnlyTrace && (source[line.start] ?? 0) > DELETE;
    if (mayBeMarked && this.startOf(line).startsWith(BYTE_ORDER_MARK))
      line.nameStart += BYTE_ORDER_MARK.length;
    let at = line.nameStart;
    while (at < line.end && isNameByte(source[at] ?? 0)) at++;
    line.nameEnd = at;
    while (at < line.end && isBlank(source[at])) at++;
    line.colon = at;
    const isUrl = source[at + 1] === SLASH && source[at + 2] === SLASH;
    const length = line.nameEnd - line.nameStart;
    return length > 0 && length <= MAX_NAME && at < line.end && source[at] === COLON && !isUrl;
  }

  private addField(line: Line): void {
    const name = this.source.toString('latin1', line.nameStart, line.nameEnd);
    const key = name.toLowerCase();
    const field = { name, key, nameStart: line.nameStart, valueStart: line.colon + 1, end: line.end };
    this.open = field;
    this.hasOnlyTrace &&= TRACE.test(key);
    const isFirst = FIELD_NAMES.has(key) && !this.keys.has(key);
    if (isFirst) this.keys.add(key);
    if (this.fields.length < MAX_FIELDS || isFirst) this.fields.push(field);
    else this.isCut = true;
  }

  private startOf({ start, end }: Line): string {
    return this.source.toString('latin1', start, Math.min(end, start + LINE_START));
  }

  /** Whether a line lacks its leading blank: a parameter, the rest of a list, or the last line of the header. */
  private isLostFold(line: Line): boolean {
    const { source, open } = this;
    if (open === undefined) return false;
    const text = this.startOf(line);
    if (HAS_PARAMETERS.test(open.key) && PARAMETER_LINE.test(text)) return true;
    if (this.hasOnlyTrace || BROKEN_FIELD.test(text)) return false;
    const last = source[open.end - 1];
    return last === COMMA || last === SEMICOLON || this.isLastOfHeader(line);
  }

  private isLastOfHeader({ next }: Line): boolean {
    if (next >= this.end || this.lineAt(next).kind !== 'blank') return false;
    let at = next;
    while (at < this.end && (this.source[at] ?? 0) <= SPACE) at++;
    return at < this.end;
  }

  /** Whether a line is text that no known field follows, and so belongs to the body. */
  private isText(line: Line): boolean {
    if (this.hasOnlyTrace && MAILBOX_LINE.test(this.startOf(line))) return false;
    this.lastKnown ??= this.findLastKnown(line.start);
    return line.start > this.lastKnown;
  }

  private findLastKnown(from: number): number {
    let last = -1;
    for (let at = from; at < this.end; ) {
      const { kind, nameStart, nameEnd, next } = this.lineAt(at);
      if (kind === 'blank' || kind === 'dashed') break;
      if (kind === 'field' && this.isKnown(nameStart, nameEnd)) last = at;
      at = next;
    }
    return last;
  }

  private isKnown(nameStart: number, nameEnd: number): boolean {
    const name = this.source.toString('latin1', nameStart, nameEnd).toLowerCase();
    return FIELD_NAMES.has(name) || FIELD_PREFIXES.test(name);
  }
}
