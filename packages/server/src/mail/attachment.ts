import { bodyBytes, type IndexedPart, type PartIndex } from './mime/part-index.ts';

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
