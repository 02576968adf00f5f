import { decodeTransfer, type TransferEncoding } from './transfer-encoding.ts';

/* Stored with a message, so that parts can be decoded from the raw source without parsing it again. */

/** `none`: not shown, such as an empty body. */
export type PartRole = 'multipart' | 'text' | 'html' | 'attachment' | 'none';

export interface BodyRange {
  /** Offsets in the raw source: `[bodyStart, bodyEnd)`. */
  bodyStart: number;
  bodyEnd: number;
  encoding: TransferEncoding;
}

export interface IndexedPart extends BodyRange {
  depth: number;
  headerStart: number;
  role: PartRole;
  type: string;
  /** Detected charset of text and HTML; '' for other parts. */
  charset: string;
  /** Lower case. Attachments do not set this and the next two fields, because the list of attachments has them. */
  disposition?: string | undefined;
  filename?: string | undefined;
  contentId?: string | undefined;
}

/** In the order of the source, the message itself first. */
export type PartIndex = IndexedPart[];

export function bodyBytes(source: Buffer, { bodyStart, bodyEnd, encoding }: BodyRange): Buffer {
  return decodeTransfer(source.subarray(bodyStart, bodyEnd), encoding);
}

/** The id of an attachment, by its position in the source, so that it never changes. */
export const attachmentId = (index: number): string => `att_${index + 1}`;

export function attachmentPart(index: PartIndex, id: string): IndexedPart | undefined {
  return index.filter(({ role }) => role === 'attachment').find((_, at) => attachmentId(at) === id);
}
