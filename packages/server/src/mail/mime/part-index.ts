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
  /** Lower case. This and the next two are not set for attachments, whose list has them. */
  disposition?: string | undefined;
  filename?: string | undefined;
  contentId?: string | undefined;
}

/** In the order of the source, the message itself first. */
export type PartIndex = IndexedPart[];

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
