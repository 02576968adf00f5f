import { decodeTransfer, type TransferEncoding } from './transfer-encoding.ts';

/* The part index is stored with a message: its parts can be decoded from the raw source without another parse. */

/** `none`: the part is not shown, for example an empty body. */
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
  /** Charset of text or HTML, detected if necessary; '' for other parts. */
  charset: string;
  /** In lower case. For attachments, this field and the next two are only in the list of attachments. */
  disposition?: string | undefined;
  filename?: string | undefined;
  contentId?: string | undefined;
}

/** In the order of the source. The first item is the mail itself. */
export type PartIndex = IndexedPart[];

export const withRole = <P extends IndexedPart>(parts: readonly P[], role: PartRole): P[] =>
  parts.filter((part) => part.role === role);

export const bodyBytes = (source: Buffer, { bodyStart, bodyEnd, encoding }: BodyRange): Buffer =>
  decodeTransfer(source.subarray(bodyStart, bodyEnd), encoding);

/** @param index position among the attachments of the mail, which is the same after each parse */
export const attachmentId = (index: number): string => `att_${index + 1}`;

export const attachmentPart = (index: PartIndex, id: string): IndexedPart | undefined =>
  withRole(index, 'attachment').find((_, at) => attachmentId(at) === id);
