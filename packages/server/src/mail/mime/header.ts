/** Known fields. An invalid line does not end the header if a known field follows (see `isKnown`). */
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

export interface FieldRange {
  name: string;
  key: string;
  /** Offsets in the raw source. `[valueStart, end)` has all folded lines, but not the final line break. */
  valueStart: number;
  end: number;
}

export interface HeaderRange {
  fields: FieldRange[];
  /** Offset after the empty line, or of the first line that is not a field. */
  bodyStart: number;
  isCut: boolean;
}

/** Ordinary mail has fewer than 200. Above the limit, only the first field of each known name is added. */
export const MAX_FIELDS = 2_000;

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const COMMA = 0x2c;
const SEMICOLON = 0x3b;

/** Bytes of a line that are matched with the patterns below. Field names are shorter. */
const LINE_START = 200;
/** A byte order mark may precede the first field. No real field name contains "=". */
const FIELD = /^(?:\xef\xbb\xbf)?([!-9;<>-~]+)[ \t]*:(?!\/\/)/;
const MAILBOX_LINE = /^>?From (?:\S+@\S|\S+ +[A-Z][a-z]{2},? .*\b\d\d:\d\d\b)/;
/** A line such as `boundary="b"`: a parameter that has lost its leading blank. */
const PARAMETER_LINE = /^[a-z0-9*-]+\s*=/i;
const BROKEN_FIELD = /^[^\s:]{1,64}\s*:(?!\/\/)/;
const TRACE = /^(?:received|return-path)$/;
const HAS_PARAMETERS = /^content-(?:type|disposition)$/;

const isKnown = (key: string): boolean => FIELD_NAMES.has(key) || FIELD_PREFIXES.test(key);

/** Unfolds a value (RFC 5322 section 2.2.3) without decoding; one character per byte. */
export function fieldValue(source: Buffer, field: FieldRange, maxBytes = Number.POSITIVE_INFINITY): string {
  const raw = source.toString('latin1', field.valueStart, Math.min(field.end, field.valueStart + maxBytes));
  const line = raw.includes('\n') ? raw.replace(/\r?\n(?=[ \t])/g, '').replace(/\r?\n/g, ' ') : raw;
  let start = 0;
  let end = line.length;
  // `trim` would also remove parts of multibyte characters.
  while (start < end && line.charCodeAt(start) <= SPACE) start++;
  while (end > start && line.charCodeAt(end - 1) <= SPACE) end--;
  return line.slice(start, end);
}

type Line = ReturnType<typeof lineAt>;

/** `isFold`: the line begins with a blank and continues the previous line. */
function lineAt(source: Buffer, start: number) {
  const lineFeed = source.indexOf(LF, start);
  const next = lineFeed < 0 ? source.length : lineFeed + 1;
  let end = lineFeed < 0 ? next : lineFeed;
  if (end > start && source[end - 1] === CR) end--;
  const isFold = end > start && (source[start] === SPACE || source[start] === TAB);
  const text = isFold ? '' : source.toString('latin1', start, Math.min(end, start + LINE_START));
  return { isFold, text, end, next };
}

/** True for an empty line, and for a line that may be a boundary delimiter (RFC 2046 section 5.1.1). */
const endsHeader = ({ isFold, text }: Line): boolean => !isFold && (text === '' || text.startsWith('--'));

export const readHeader = (source: Buffer, start = 0): HeaderRange => new HeaderReader(source).read(start);

class HeaderReader {
  private readonly source: Buffer;
  private readonly fields: FieldRange[] = [];
  private readonly keys = new Set<string>();
  private isCut = false;
  /** The field that the next folded line continues. Undefined after an invalid line, to ignore its folded lines. */
  private open: FieldRange | undefined;
  /** True until a field is read that is not a trace field. Relays put trace fields at the top. */
  private hasOnlyTrace = true;
  private lastKnown: number | undefined;

  constructor(source: Buffer) {
    this.source = source;
  }

  read(start: number): HeaderRange {
    let at = start;
    while (at < this.source.length) {
      const line = lineAt(this.source, at);
      const isEmpty = line.text === '' && !line.isFold;
      if (!isEmpty && (endsHeader(line) || !this.take(line, at))) break;
      at = line.next;
      if (isEmpty) break;
    }
    return { fields: this.fields, bodyStart: at, isCut: this.isCut };
  }

  /** @returns false if the line belongs to the body */
  private take(line: Line, start: number): boolean {
    const { isFold, text, end } = line;
    const [beginning, name = ''] = (!isFold && FIELD.exec(text)) || [];
    if (beginning !== undefined) {
      this.add({ name, key: name.toLowerCase(), valueStart: start + beginning.length, end });
    } else if (isFold || (this.open && this.isLostFold(line, this.open))) {
      if (this.open) this.open.end = end;
    } else {
      this.open = undefined;
      this.lastKnown ??= findLastKnown(this.source, start);
      // The invalid line belongs to the header if a known field follows, or if it is an mbox "From " line.
      return start <= this.lastKnown || (this.hasOnlyTrace && MAILBOX_LINE.test(text));
    }
    return true;
  }

  private add(field: FieldRange): void {
    const { key } = field;
    this.open = field;
    this.hasOnlyTrace &&= TRACE.test(key);
    const isFirst = FIELD_NAMES.has(key) && !this.keys.has(key);
    if (isFirst) this.keys.add(key);
    if (this.fields.length < MAX_FIELDS || isFirst) this.fields.push(field);
    else this.isCut = true;
  }

  /** Whether the line continues the field although it has no leading blank. Some senders lose the blank. */
  private isLostFold({ text, next }: Line, { key, end }: FieldRange): boolean {
    if (HAS_PARAMETERS.test(key) && PARAMETER_LINE.test(text)) return true;
    if (this.hasOnlyTrace || BROKEN_FIELD.test(text)) return false;
    const last = this.source[end - 1];
    return last === COMMA || last === SEMICOLON || isBeforeBody(this.source, next);
  }
}

function isBeforeBody(source: Buffer, start: number): boolean {
  if (start >= source.length || !/^\r?\n/.test(source.toString('latin1', start, start + 2))) return false;
  let at = start;
  while (at < source.length && (source[at] ?? 0) <= SPACE) at++;
  return at < source.length;
}

function findLastKnown(source: Buffer, from: number): number {
  let last = -1;
  for (let at = from; at < source.length; ) {
    const line = lineAt(source, at);
    if (endsHeader(line)) break;
    const name = FIELD.exec(line.text)?.[1];
    if (name !== undefined && isKnown(name.toLowerCase())) last = at;
    at = line.next;
  }
  return last;
}
