import { fieldValue, type HeaderRange, readHeader } from './header.ts';
import { isMediaType, MAX_STRUCTURED_BYTES, parseStructured } from './parameters.ts';
import type { PartRole } from './part-index.ts';
import { type TransferEncoding, transferEncoding } from './transfer-encoding.ts';

/* Splits a mail into parts (RFC 2045, RFC 2046) in linear time, without copies of bodies. Never throws. */

/** Ordinary mail has up to five levels. A multipart below this level is not split. */
export const MAX_DEPTH = 100;
/** Ordinary mail has tens of parts. Every response lists all parts, so further parts are ignored. */
export const MAX_PARTS = 1_000;

export type Limit = 'depth' | 'parts' | 'fields' | 'parameters';

export interface Part {
  parent: Part | null;
  children: Part[];
  depth: number;
  /** Set by `readPartRoles`; "none" until then. */
  role: PartRole;
  /** Offsets in the source: the header is `[headerStart, bodyStart)`, the body `[bodyStart, bodyEnd)`. */
  headerStart: number;
  bodyStart: number;
  bodyEnd: number;
  /** `type/subtype` in lower case; application/octet-stream if invalid. */
  type: string;
  /** The value of Content-Type if it is invalid; else ''. */
  oddType: string;
  parameters: ReadonlyMap<string, string>;
  encoding: TransferEncoding;
  /** Set when the body is decoded; '' before. */
  charset: string;
  /** In lower case; '' if the part has none. */
  disposition: string;
  /** Decoded but not cleaned; '' if the part has none. */
  filename: string;
  contentId: string;
  isMultipart: boolean;
  /** One character per byte, without trailing blanks, which relays add. '' if no delimiter is expected. */
  boundary: string;
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

export const readParts = (source: Buffer): Parts => new PartScan(source).run();

interface Delimiter {
  multipart: Part;
  isLast: boolean;
  breakStart: number;
  next: number;
}

class PartScan {
  private readonly source: Buffer;
  private readonly all: Part[] = [];
  private readonly limits = new Set<Limit>();
  private readonly open: Part[] = [];
  private readonly byBoundary = new Map<string, Part>();
  private longest = 0;

  constructor(source: Buffer) {
    this.source = source;
  }

  run(): Parts {
    const header = readHeader(this.source);
    const root = this.addPart(0, header, null);
    for (let at = root.bodyStart; this.byBoundary.size > 0; ) {
      const delimiter = this.nextDelimiter(at);
      if (delimiter === undefined) break;
      this.endParts(delimiter);
      at = delimiter.next;
      if (delimiter.isLast) continue;
      if (this.all.length === MAX_PARTS) {
        this.limits.add('parts');
        break;
      }
      at = this.addPart(at, readHeader(this.source, at), delimiter.multipart).bodyStart;
    }
    for (const part of this.open) part.bodyEnd = this.source.length;
    return { root, all: this.all, header, limits: this.limits };
  }

  private addPart(start: number, header: HeaderRange, parent: Part | null): Part {
    if (header.isCut) this.limits.add('fields');
    const part = this.partOf(start, header, parent);
    this.all.push(part);
    parent?.children.push(part);
    const isTooDeep = part.isMultipart && this.open.length >= MAX_DEPTH;
    if (isTooDeep) this.limits.add('depth');
    if (part.isMultipart && !isTooDeep) part.boundary = boundaryOf(part);
    part.isMultipart = part.boundary !== '';
    if (part.isMultipart) this.byBoundary.set(part.boundary, part);
    this.open.push(part);
    this.longest = Math.max(this.longest, part.boundary.length);
    return part;
  }

  private partOf(headerStart: number, { fields, bodyStart }: HeaderRange, parent: Part | null): Part {
    const written = (name: string): string => {
      const field = fields.find(({ key }) => key === name);
      return field === undefined ? '' : fieldValue(this.source, field, MAX_STRUCTURED_BYTES);
    };
    const type = parseStructured(written('content-type'));
    const disposition = parseStructured(written('content-disposition'));
    if (type.isCut || disposition.isCut) this.limits.add('parameters');
    const isMultipart = /^multipart(?:\/|$)/.test(type.value);
    return {
      parent,
      children: [],
      depth: parent === null ? 0 : parent.depth + 1,
      role: 'none',
      charset: '',
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
      boundary: '',
    };
  }

  private nextDelimiter(from: number): Delimiter | undefined {
    const { source } = this;
    const isFirst = source[from] === HYPHEN && source[from + 1] === HYPHEN;
    let lineStart = isFirst ? from : source.indexOf(DELIMITER, from) + 1;
    while (lineStart > 0) {
      const lineFeed = source.indexOf(LF, lineStart);
      const next = lineFeed < 0 ? source.length : lineFeed + 1;
      const found = this.delimiterAt(lineStart, next);
      if (found !== undefined || lineFeed < 0) return found;
      lineStart = source.indexOf(DELIMITER, lineFeed) + 1;
    }
    return undefined;
  }

  /** Compares the whole line with the boundaries, because one boundary may be a prefix of another. */
  private delimiterAt(lineStart: number, next: number): Delimiter | undefined {
    const { source, open, byBoundary } = this;
    let end = next;
    while (end > lineStart && (source[end - 1] ?? 0) <= SPACE) end--;
    if (end - lineStart - 4 > this.longest) return undefined;
    const text = source.toString('latin1', lineStart + 2, end);
    const begun = byBoundary.get(text);
    const ended = text.endsWith('--') ? byBoundary.get(text.slice(0, -2)) : undefined;
    const isLast = ended !== undefined && (begun === undefined || open.indexOf(ended) > open.indexOf(begun));
    const multipart = isLast ? ended : begun;
    const breakStart = lineStart - (source[lineStart - 2] === CR ? 2 : 1);
    return multipart && { multipart, isLast, breakStart, next };
  }

  private endParts({ multipart, isLast, breakStart }: Delimiter): void {
    // If there is no body, the header ends with the line break before the delimiter, so `bodyStart` > `end`.
    let end = breakStart;
    for (let inner = this.open.pop(); inner !== undefined && inner !== multipart; inner = this.open.pop()) {
      end = Math.max(end, inner.bodyStart);
      inner.bodyEnd = end;
      this.forgetBoundary(inner);
    }
    if (isLast) this.forgetBoundary(multipart);
    // A multipart that has parts stays open after its last delimiter, because an epilogue may follow.
    if (!isLast || multipart.children.length > 0) this.open.push(multipart);
    else multipart.bodyEnd = Math.max(multipart.bodyStart, breakStart);
  }

  private forgetBoundary(ended: Part): void {
    const { boundary } = ended;
    ended.boundary = '';
    const outer = this.open.findLast((one) => one.boundary === boundary);
    if (boundary === '') return;
    if (outer) this.byBoundary.set(boundary, outer);
    else this.byBoundary.delete(boundary);
  }
}

function boundaryOf({ parameters }: Part): string {
  const written = Buffer.from(parameters.get('boundary') ?? '').toString('latin1');
  let end = written.length;
  while (end > 0 && written.charCodeAt(end - 1) <= SPACE) end--;
  return written.slice(0, end);
}

function mediaTypeOf(written: string, parent: Part | null): Pick<Part, 'type' | 'oddType'> {
  // The defaults of RFC 2046 section 5.1.5 and RFC 2045 section 5.2.
  if (written === '')
    return { type: parent?.type === 'multipart/digest' ? 'message/rfc822' : 'text/plain', oddType: '' };
  if (isMediaType(written)) return { type: written, oddType: '' };
  return { type: written === 'multipart' ? 'multipart/mixed' : 'application/octet-stream', oddType: written };
}
