import { setImmediate } from 'node:timers/promises';
import type { Attachment } from '@mayfly/client/contract';
import type { AttachmentBytes } from './bytes/attachment-bytes.ts';
import { toMessage } from './json.ts';
import type { FullMessageRecord } from './records.ts';

/** Decoded bytes of attachments that one response includes; the others are downloaded one by one. */
const MAX_INCLUDED_BYTES = 8 * 1024 * 1024;
/** Attachments of a message that was stored without an index of its parts: each costs parsing it once more. */
const MAX_INCLUDED_WITHOUT_INDEX = 20;
/** After so many bytes others have a turn: about half a millisecond of decoding and encoding. */
const BYTES_PER_TURN = 256 * 1024;

/** How many attachments are included, from the first one on. */
function includedCount(attachments: readonly Attachment[], hasIndex: boolean): number {
  const most = hasIndex ? attachments.length : Math.min(attachments.length, MAX_INCLUDED_WITHOUT_INDEX);
  let bytes = 0;
  for (let count = 0; count < most; count++) {
    bytes += attachments[count]?.size ?? 0;
    if (bytes > MAX_INCLUDED_BYTES) return count;
  }
  return most;
}

/**
 * The JSON of a message with the contents of its attachments, as far as they fit.
 * @param base of the URLs in it
 * @param signal ends it early: the client disconnected; its reason is thrown
 * @throws AppError `not_found` when the message is deleted meanwhile
 */
export async function messageWithAttachments(
  message: FullMessageRecord,
  base: string,
  attachmentBytes: Pick<AttachmentBytes, 'read'>,
  signal: AbortSignal,
): Promise<Buffer> {
  const { attachments, ...rest } = toMessage(message, base);
  const included = includedCount(attachments, message.index !== null);
  const fields = { ...rest, ...(included < attachments.length && { truncated: true }) };
  const pieces = [Buffer.from(`${JSON.stringify(fields).slice(0, -1)},"attachments":[`)];
  let bytes = 0;
  for (const [at, attachment] of attachments.entries()) {
    const json = `${at === 0 ? '' : ','}${JSON.stringify(attachment)}`;
    if (at >= included) {
      pieces.push(Buffer.from(json));
      continue;
    }
    signal.throwIfAborted();
    const { buffer, byteOffset, length } = await attachmentBytes.read(message, attachment.id);
    const content = Buffer.from(buffer, byteOffset, length).toString('base64');
    pieces.push(Buffer.from(`${json.slice(0, -1)},"content":"`), Buffer.from(content, 'latin1'));
    pieces.push(Buffer.from('"}'));
    bytes += length + 1;
    if (bytes > BYTES_PER_TURN) {
      bytes = 0;
      await setImmediate();
    }
  }
  pieces.push(Buffer.from(']}'));
  return Buffer.concat(pieces);
}
