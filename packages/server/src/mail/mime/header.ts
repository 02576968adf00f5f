/*
 * Names of header fields that occur in mail, from the IANA registry and from large senders.
 * They distinguish a broken header line from the first line of a text, and name the fields that are kept when
 * there are too many.
 */

/** Whole names, lower case. */
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

/** Beginnings of names that families of fields share, lower case. */
const FIELD_PREFIXES = /^(?:x|content|list|arc|resent|dkim|authentication|received|autocrypt|bimi|mime)-/;

/*
 * Finds the fields of a header (RFC 5322 section 2.2) as ranges of the raw source. Nothing is decoded
 * here. Mail has broken header lines, so the rules are lenient: a line that is no field costs itself and
 * nothing else, and a header that lacks its empty line ends where the text begins.
 */

/** Where a field stands in the raw source. `[valueStart, end)` includes its folds and not its last line break. */
export interface FieldRange {
  nameStart: number;
  nameEnd: number;
  valueStart: number;
  end: number;
}

export interface HeaderRange {
  fields: FieldRange[];
  /** Where the body begins: behind the empty line, or at the first line that is no header line. */
  bodyStart: number;
  /** True when it has more than {@link MAX_FIELDS} fields; the others are not in `fields`. */
  isCut: boolean;
}

/**
 * Fields of one header that are kept. Real mails have fewer than 200; a header of a million lines `a:`
 * would become a response of tens of megabytes. Of the fields beyond, the first of each name in
 * {@link FIELD_NAMES} is still kept, so that many fields hide neither the subject nor the content type.
 */
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
/** Written in front of a mail by some editors: UTF-8's byte order mark. */
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/** Bytes at the start of a line that decide what kind of line it is. */
const LINE_START = 200;
/** Longer than any name that is looked up, bytes. */
const LONGEST_NAME = 64;
/** The line that mailbox files put before a mail, with an address or with a date. */
const MAILBOX_LINE = /^>?From (?:\S+@\S|\S+ +[A-Z][a-z]{2},? .*\b\d\d:\d\d\b)/;
/** A fold that lost its blank: a parameter such as `boundary="b"`, which is no field name. */
const PARAMETER_LINE = /^[a-z0-9*-]+\s*=/i;
/** A field whose name has letters that it may not have; an address is none. */
const BROKEN_FIELD = /^[^\s:]{1,64}\s*:(?!\/\/)/;
const TRACE = /^(?:received|return-path)$/;
const HAS_PARAMETERS = /^content-(?:type|disposition)$/i;

type LineKind = 'blank' | 'fold' | 'field' | 'other';

const isBlank = (byte: number | undefined): boolean => byte === SPACE || byte === TAB;

const isNameByte = (byte: number): boolean =>
  byte > SPACE && byte < DELETE && byte !== COLON && byte !== EQUALS;

/** Lower-case name of a field. */
export function fieldKey(source: Buffer, field: FieldRange): string {
  return source.toString('latin1', field.nameStart, field.nameEnd).toLowerCase();
}

/**
 * Value of a field, unfolded (RFC 5322 section 2.2.3), one character a byte, nothing decoded.
 * @param maxBytes the value is cut there
 */
export function fieldValue(source: Buffer, field: FieldRange, maxBytes = Number.POSITIVE_INFINITY): string {
  const raw = source.toString('latin1', field.valueStart, Math.min(field.end, field.valueStart + maxBytes));
  return unfold(raw);
}

/** Without its line breaks; where a fold lost its blank, a blank takes the place of the break. */
function unfold(raw: string): string {
  const line = raw.includes('\n') ? raw.replace(/\r?\n(?=[ \t])/g, '').replace(/\r?\n/g, ' ') : raw;
  return trimBlanks(line);
}

/** Only blanks of ASCII: other characters that `trim` takes off are bytes of a longer character here. */
function trimBlanks(line: string): string {
  let start = 0;
  let end = line.length;
  while (start < end && line.charCodeAt(start) <= SPACE) start++;
  while (end > start && line.charCodeAt(end - 1) <= SPACE) end--;
  return line.slice(start, end);
}

/**
 * Reads the header that begins at `start`, where a line begins.
 * @param end where the source ends
 */
export function readHeader(source: Buffer, start: number, end: number): HeaderRange {
  return new HeaderScan(source, start, end).run();
}

class HeaderScan {
  private readonly source: Buffer;
  private readonly end: number;
  private readonly fields: FieldRange[] = [];
  private at: number;
  /** The field that a fold would go on with. */
  private open: FieldRange | undefined;
  /** Where the last field with a known name begins; determined once, if needed. */
  private lastKnown: number | undefined;
  private isCut = false;
  /** True while all fields read are trace fields, which servers add in front. */
  private hasOnlyTrace = true;
  /** Known names met, once there are too many fields. */
  private met: Set<string> | undefined;
  /** Of the line that {@link findName} read last. */
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

  /** Offset of the line feed that ends the line, or the end. */
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

  /**
   * Finds the name and the colon of a field. A field name is any printable characters but the colon (RFC 5322
   * section 2.2); no real one has a "=".
   * @returns false for a line that is no field
   */
  private findName(lineStart: number): boolean {
    const { source, end } = this;
    const nameStart = this.nameStart(lineStart);
    let at = nameStart;
    while (at < end && isNameByte(source[at] ?? 0)) at++;
    this.nameEnd = at;
    while (at < end && isBlank(source[at])) at++;
    this.colon = at;
    // "https://…" begins a text.
    const isUrl = source[at + 1] === SLASH && source[at + 2] === SLASH;
    return this.nameEnd > nameStart && at < end && source[at] === COLON && !isUrl;
  }

  /** Delimiters begin so (RFC 2046 section 5.1.1), and no field name does. */
  private isDashed(lineStart: number): boolean {
    return this.source[lineStart] === HYPHEN && this.source[lineStart + 1] === HYPHEN;
  }

  /** Behind the byte order mark of an editor, which stands before the sender's first field. */
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

  /** A fold goes on with the field above; one below a broken line is lost with it. */
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

  /**
   * Whether a line that is no field goes on with the field above, of which the blank was lost: a parameter, the rest of
   * a list, or the last line of a header. A header that lacks its empty line has more lines of text behind it.
   */
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

  /** Whether the empty line follows, and a text behind it. */
  private isLastOfHeader(lineStart: number): boolean {
    const { source, end } = this;
    const next = this.lineEnd(lineStart) + 1;
    if (next >= end || this.kindOf(next) !== 'blank') return false;
    let at = next;
    while (at < end && (source[at] ?? 0) <= SPACE) at++;
    return at < end;
  }

  /**
   * For a line that is neither a field nor a fold: does the header end before it? What may be a delimiter ends it. So
   * does the text of a mail that lacks its empty line: then no field with a known name comes later. A line
   * of a mailbox file, or any broken line with known fields behind it, is passed over.
   */
  private isEnd(lineStart: number): boolean {
    if (this.isDashed(lineStart)) return true;
    if (this.isLostFold(lineStart)) return false;
    if (this.hasOnlyTrace && MAILBOX_LINE.test(this.startOf(lineStart))) return false;
    this.lastKnown ??= this.findLastKnown(lineStart);
    return lineStart > this.lastKnown;
  }

  /** Where the last field with a known name begins, up to the empty line; -1 without one. Run once a header. */
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
