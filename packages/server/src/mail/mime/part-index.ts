import { charsetOf, decodeAs } from './charset.ts';
import { decodeTransfer, type TransferEncoding } from './transfer-encoding.ts';

/*
 * The offsets of all parts of a mail, as plain data. Stored with a message, so that a body or an attachment is
 * decoded from its range of the raw source without parsing the mail again.
 */

/** What a part is in the parsed message; `none` is not shown, such as a body without bytes. */
export type PartRole = 'multipart' | 'text' | 'html' | 'attachment' | 'none';

/** The place of a body in the raw source, and how it is encoded. */
export interface BodyRange {
  /** Offsets: the body is `[bodyStart, bodyEnd)`. */
  bodyStart: number;
  bodyEnd: number;
  encoding: TransferEncoding;
}

export interface IndexedPart extends BodyRange {
  /** How many multiparts it is within. */
  depth: number;
  /** Offset: its header is `[headerStart, bodyStart)`. */
  headerStart: number;
  role: PartRole;
  /** `type/subtype` in lower case. */
  type: string;
  /** What a text or a page is decoded as; '' for other parts. */
  charset: string;
  /** As declared, lower case; '' for none, and for attachments, whose list has it; so are the next two. */
  disposition: string;
  filename: string;
  contentId: string;
}

/** All parts of a mail in the order of the source, the message itself first. */
export type PartIndex = IndexedPart[];

/** Grows when the meaning of an index changes. An index of another version is not used: the mail is read again. */
const INDEX_VERSION = 1;

const ROLES: readonly PartRole[] = ['multipart', 'text', 'html', 'attachment', 'none'];
const ENCODINGS: readonly TransferEncoding[] = ['', 'base64', 'quoted-printable', 'uuencode'];

/**
 * A part as it is written: depth, three offsets, numbers of role and encoding, type, charset; and disposition,
 * file name and Content-ID, if it has one of them.
 */
type WrittenPart = [
  ...[number, number, number, number, number, number, string, string],
  ...([] | [string, string, string]),
];

/** A compact index, to be stored as JSON: its version, and then about 50 bytes a part. */
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

/** @returns null for an index of another version */
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

/** The decoded bytes of a part: a view of the source where they are not encoded, else new ones. */
export function bodyBytes(source: Buffer, { bodyStart, bodyEnd, encoding }: BodyRange): Buffer {
  return decodeTransfer(source.subarray(bodyStart, bodyEnd), encoding);
}

/** A text or a page, and what it was decoded as. */
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

/** Ids count the attachments in the order of the source, so that every reading gives the same ones. */
export function attachmentId(index: number): string {
  return `att_${index + 1}`;
}

/** The part that is an attachment; undefined when there is none with that id. */
export function attachmentPart(index: PartIndex, id: string): IndexedPart | undefined {
  return index.filter(({ role }) => role === 'attachment').find((_, at) => attachmentId(at) === id);
}

/**
 * The decoded bytes of one attachment, from its range of the raw source: their SHA-256 is the listed one.
 * @param raw the whole mail
 * @param index of that mail
 * @returns a view of `raw` where the part is not encoded; undefined when there is no such attachment
 */
export function attachmentBytes(raw: Uint8Array, index: PartIndex, id: string): Uint8Array | undefined {
  const part = attachmentPart(index, id);
  return part && bodyBytes(Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength), part);
}
