import { readMime } from './mime/mime.ts';
import { attachmentId, sortLeaves } from './parse.ts';

/**
 * The decoded bytes of one attachment, read again from the raw source: its SHA-256 is the listed one.
 * Undefined when the mail has no such attachment.
 * @throws Error when the mail passes a limit of the parser; its attachments were never listed then
 */
export async function attachmentBytes(raw: Uint8Array, id: string): Promise<Uint8Array | undefined> {
  const { attachments } = sortLeaves((await readMime(raw)).leaves);
  return attachments.find((_, index) => attachmentId(index) === id)?.bytes();
}
