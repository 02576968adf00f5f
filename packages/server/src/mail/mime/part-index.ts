import { charsetOf, decodeAs } from './charset.ts';
import { decodeTransfer, type TransferEncoding } from './transfer-encoding.ts';

/*
 * The offsets of all parts. Stored with a message, so that parts are decoded from the raw source without parsing it
 * again.
 */

/** `none` is not shown, such as an empty body. */
export type PartRole = 'multipart' | 'text' | 'html' | 'attachment' | 'none';

export interface BodyRange {
  /** Offsets in the raw source: `[bodyStart, bodyEnd)`. */
  bodyStart: number;
  bodyEnd: number;
  encoding: TransferEncoding;
}

export interface IndexedPart extends BodyRange {
  depth: number;
  /** The header is `[headerStart, bodyStart)`. */
  headerStart: number;
  role: PartRole;
  type: string;
  /** Detected charset of text and HTML; '' for other parts. */
  charset: string;
  /** Lower case. This and the next two are '' when absent, and for attachments, whose list has them. */
  disposition: string;
  filename: string;
  contentId: string;
}

/** In the order of the source, the message itself first. */
export type PartIndex = IndexedPart[];

/** Change it with the format: mail with an index of another version is parsed again. */
const INDEX_VERSION = 1;

const ROLES: readonly PartRole[] = ['multipart', 'text', 'html', 'attachment', 'none'];
const ENCODINGS: readonly TransferEncoding[] = ['', 'base64', 'quoted-printable', 'uuencode'];

/** Depth, three offsets, role, encoding, type, charset; and, if one is set, disposition, file name and Content-ID. */
type WrittenPart = [
  ...[number, number, number, number, number, number, string, string],
  ...([] | [string, string, string]),
];

/** About 50 bytes a part in JSON. */
export type WrittenIndex = [number, ...WrittenPart[]];

export function writeIndex(index: PartIndex): WrittenIndex {
  const parts = index.map(
    (part): WrittenPart => [
      part.depth,
      part.headerStart,
      part.bodyStart,
      part.bodyEnd,
      ROLES.indexOf(part.role),
      ENCODINGS.indexOf(part.encoding),
      part.type,
      part.charset,
      ...(part.disposition || part.filename || part.contentId
        ? ([part.disposition, part.filename, part.contentId] as const)
        : ([] as const)),
    ],
  );
  return [INDEX_VERSION, ...parts];
}

/** @returns null for another version */
export function readIndex([version, ...parts]: WrittenIndex): PartIndex | null {
  if (version !== INDEX_VERSION) return null;
  return parts.map(([depth, headerStart, bodyStart, bodyEnd, role, encoding, type, charset, ...rest]) => ({
    depth,
    headerStart,
    bodyStart,
    bodyEnd,
    role: ROLES[role] ?? 'none',
    encoding: ENCODINGS[encoding] ?? '',
    type,
    charset,
    disposition: rest[0] ?? '',
    filename: rest[1] ?? '',
    contentId: rest[2] ?? '',
  }));
}

/** A view of the source where the part is not encoded. */
export function bodyBytes(source: Buffer, { bodyStart, bodyEnd, encoding }: BodyRange): Buffer {
  return decodeTransfer(source.subarray(bodyStart, bodyEnd), encoding);
}

export function bodyText(
  source: Buffer,
  part: BodyRange,
  declaredCharset: string,
  isPage: boolean,
): { text: string; charset: string } {
  const bytes = bodyBytes(source, part);
  const charset = charsetOf(bytes, declaredCharset, isPage);
  return { text: decodeAs(bytes, charset), charset };
}

/** Counts attachments in the order of the source, so that ids are stable. */
export function attachmentId(index: number): string {
  return `att_${index + 1}`;
}

export function attachmentPart(index: PartIndex, id: string): IndexedPart | undefined {
  return index.filter(({ role }) => role === 'attachment').find((_, at) => attachmentId(at) === id);
}
