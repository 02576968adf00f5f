import { fieldValue, type HeaderRange, readHeader } from './header.ts';
import { isMediaType, MAX_STRUCTURED_BYTES, parseStructured } from './parameters.ts';
import { type TransferEncoding, transferEncoding } from './transfer-encoding.ts';

/* Splits a mail into parts (RFC 2045, RFC 2046) in one linear pass, without copying bodies. Never throws. */

/** Real mail has up to five levels, and each is compared with every delimiter. A deeper multipart is not split. */
export const MAX_DEPTH = 100;
/** Limit of parts: real mail has tens, and each is in every response. Later parts are ignored. */
export const MAX_PARTS = 1_000;

export type Limit = 'depth' | 'parts' | 'fields' | 'parameters';

export interface Part {
  parent: Part | null;
  children: Part[];
  /** Offsets in the source: the header is `[headerStart, bodyStart)`, the body `[bodyStart, bodyEnd)`. */
  headerStart: number;
  bodyStart: number;
  bodyEnd: number;
  /** `type/subtype` in lower case; application/octet-stream if invalid. */
  type: string;
  /** An invalid type as written; '' otherwise. */
  oddType: string;
  /** Parameters of Content-Type; names in lower case, values decoded. */
  parameters: ReadonlyMap<string, string>;
  encoding: TransferEncoding;
  /** Lower case; '' for none. */
  disposition: string;
  /** Decoded but not cleaned; '' for none. */
  filename: string;
  /** As written; '' for none. */
  contentId: string;
  /** True for a multipart that was split, even into no parts. */
  isMultipart: boolean;
}

export interface Parts {
  root: Part;
  all: Part[];
  header: HeaderRange;
  limits: Set<Limit>;
}

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const HYPHEN = 0x2d;
const DELIMITER = Buffer.from('\n--');

export function readParts(source: Buffer, start = 0, end = source.length): Parts {
  return new PartScan(source.subarray(0, end)).run(start);
}

interface OpenMultipart {
  part: Part;
  /** One character per byte, without trailing blanks, which relays may remove (RFC 2046 section 5.1.1). */
  boundary: string;
  written: string | undefined;
  /** True once a delimiter had those blanks: then they are required. */
  needsBlanks: boolean;
}

interface Delimiter {
  level: number;
  isLast: boolean;
  breakStart: number;
  next: number;
}

class PartScan {
  private readonly source: Buffer;
  private readonly all: Part[] = [];
  private readonly limits = new Set<Limit>();
  private readonly open: OpenMultipart[] = [];
  private readonly levels = new Map<string, number>();
  private longest = 0;
  private hasBlanks = false;
  /** Parts whose end is unknown so far, each nested in the previous one. */
  private readonly unended: Part[] = [];

  constructor(source: Buffer) {
    this.source = source;
  }

  run(start: number): Parts {
    const { part: root, header } = this.readPart(start, null);
    let at = root.bodyStart;
    while (this.open.length > 0) {
      const delimiter = this.nextDelimiter(at);
      if (delimiter === undefined) break;
      const multipart = this.endParts(delimiter);
      at = delimiter.next;
      if (delimiter.isLast) continue;
      if (this.all.length === MAX_PARTS) {
        this.limits.add('parts');
        break;
      }
      at = this.readPart(at, multipart).part.bodyStart;
    }
    for (const part of this.unended) part.bodyEnd = this.source.length;
    return { root, all: this.all, header, limits: this.limits };
  }

  private readPart(start: number, parent: Part | null): { part: Part; header: HeaderRange } {
    const header = readHeader(this.source, start, this.source.length);
    if (header.isCut) this.limits.add('fields');
    const part = partOf(this.source, start, header, parent, this.limits);
    this.all.push(part);
    parent?.children.push(part);
    this.unended.push(part);
    if (part.isMultipart) this.openMultipart(part);
    return { part, header };
  }

  private openMultipart(part: Part): void {
    const written = Buffer.from(part.parameters.get('boundary') ?? '').toString('latin1');
    let end = written.length;
    while (end > 0 && written.charCodeAt(end - 1) <= SPACE) end--;
    const boundary = written.slice(0, end);
    if (this.unended.length > MAX_DEPTH) this.limits.add('depth');
    if (this.unended.length > MAX_DEPTH || boundary === '') {
      part.isMultipart = false;
      return;
    }
    this.levels.set(boundary, this.open.length);
    const hasBlanks = end < written.length;
    this.open.push({ part, boundary, written: hasBlanks ? written : undefined, needsBlanks: false });
    this.longest = Math.max(this.longest, written.length);
    this.hasBlanks ||= hasBlanks;
  }

  private nextDelimiter(from: number): Delimiter | undefined {
    const { source } = this;
    const isFirst = source[from] === HYPHEN && source[from + 1] === HYPHEN;
    let lineStart = isFirst ? from : source.indexOf(DELIMITER, from) + 1;
    while (isFirst || lineStart > 0) {
      const lineFeed = source.indexOf(LF, lineStart);
      const next = lineFeed < 0 ? source.length : lineFeed + 1;
      const found = this.delimiterAt(lineStart, next);
      if (found !== undefined || lineFeed < 0) return found;
      lineStart = source.indexOf(DELIMITER, lineFeed) + 1;
      if (lineStart === 0) return undefined;
    }
    return undefined;
  }

  /** Compares the whole line, because boundaries may be prefixes of others. */
  private delimiterAt(lineStart: number, next: number): Delimiter | undefined {
    const { source, levels } = this;
    let end = next;
    while (end > lineStart && (source[end - 1] ?? 0) <= SPACE) end--;
    if (end - lineStart - 4 > this.longest) return undefined;
    const text = source.toString('latin1', lineStart + 2, end);
    const begun = levels.get(text) ?? -1;
    const ended = text.endsWith('--') ? (levels.get(text.slice(0, -2)) ?? -1) : -1;
    const match = { level: Math.max(begun, ended), isLast: ended > begun };
    const { level, isLast } = (this.hasBlanks && this.literalMatch(lineStart, next)) || match;
    if (level < 0) return undefined;
    const breakStart = lineStart - (source[lineStart - 2] === CR ? 2 : 1);
    return { level, isLast, breakStart, next };
  }

  /** Boundaries with trailing blanks. `level` is -1 for a line without the blanks that earlier delimiters had. */
  private literalMatch(lineStart: number, next: number): Pick<Delimiter, 'level' | 'isLast'> | undefined {
    const line = this.source.toString('latin1', lineStart + 2, next).replace(/\r?\n$/, '');
    for (let level = this.open.length - 1; level >= 0; level--) {
      const multipart = this.open[level];
      if (multipart?.written === undefined || !line.startsWith(multipart.boundary)) continue;
      const isLast = line === `${multipart.written}--`;
      if (isLast || line === multipart.written) {
        multipart.needsBlanks = true;
        return { level, isLast };
      }
      if (multipart.needsBlanks) return { level: -1, isLast };
    }
    return undefined;
  }

  private endParts({ level, isLast, breakStart }: Delimiter): Part {
    const multipart = this.open[level]?.part as Part;
    // In a part without a body, this line break belongs to the header's empty line.
    let end = breakStart;
    while (this.unended.at(-1) !== multipart) {
      const part = this.unended.pop();
      if (part === undefined) break;
      end = Math.max(end, part.bodyStart);
      part.bodyEnd = end;
    }
    while (this.open.length > level + (isLast ? 0 : 1)) this.closeMultipart();
    if (isLast && multipart.children.length === 0) {
      multipart.bodyEnd = Math.max(multipart.bodyStart, breakStart);
      this.unended.pop();
    }
    return multipart;
  }

  private closeMultipart(): void {
    const boundary = this.open.pop()?.boundary ?? '';
    const outer = this.open.findLastIndex((one) => one.boundary === boundary);
    if (outer < 0) this.levels.delete(boundary);
    else this.levels.set(boundary, outer);
  }
}

function partOf(
  source: Buffer,
  headerStart: number,
  { fields, bodyStart }: HeaderRange,
  parent: Part | null,
  limits: Set<Limit>,
): Part {
  const written = (name: string): string => {
    const field = fields.find(({ key }) => key === name);
    return field === undefined ? '' : fieldValue(source, field, MAX_STRUCTURED_BYTES);
  };
  const type = parseStructured(written('content-type'));
  const disposition = parseStructured(written('content-disposition'));
  if (type.isCut || disposition.isCut) limits.add('parameters');
  const isMultipart = /^multipart(?:\/|$)/.test(type.value);
  return {
    parent,
    children: [],
    headerStart,
    bodyStart,
    bodyEnd: bodyStart,
    ...mediaTypeOf(type.value, parent),
    parameters: type.parameters,
    encoding: transferEncoding(written('content-transfer-encoding')),
    disposition: disposition.value,
    filename:
      disposition.parameters.get('filename') ||
      type.parameters.get('name') ||
      disposition.parameters.get('name') ||
      '',
    contentId: written('content-id'),
    isMultipart,
  };
}

function mediaTypeOf(written: string, parent: Part | null): Pick<Part, 'type' | 'oddType'> {
  // Defaults of RFC 2046 section 5.1.5 and RFC 2045 section 5.2.
  if (written === '')
    return { type: parent?.type === 'multipart/digest' ? 'message/rfc822' : 'text/plain', oddType: '' };
  if (isMediaType(written)) return { type: written, oddType: '' };
  return { type: written === 'multipart' ? 'multipart/mixed' : 'application/octet-stream', oddType: written };
}
