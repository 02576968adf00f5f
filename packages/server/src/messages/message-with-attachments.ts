import { setImmediate } from 'node:timers/promises';
import type { Attachment } from '@mayfly/client/contract';
import type { AttachmentBytes } from './bytes/attachment-bytes.ts';
import { toMessage } from './json.ts';
import type { FullMessageRecord } from './records.ts';

/** Decoded bytes in one response; other attachments are downloaded one by one. */
const MAX_INCLUDED_BYTES = 8 * 1024 * 1024;
/** About half a millisecond of decoding and encoding in one turn of the event loop. */
const BYTES_PER_TURN = 256 * 1024;

function includedCount(attachments: readonly Attachment[]): number {
  let bytes = 0;
  const end = attachments.findIndex(({ size }) => {
    bytes += size;
    return bytes > MAX_INCLUDED_BYTES;
  });
  return end < 0 ? attachments.length : end;
}

/** Includes attachments up to the limits. @throws AppError `not_found` if the message ends; the reason of `signal` */
export async function messageWithAttachments(
  message: FullMessageRecord,
  base: string,
  attachmentBytes: Pick<AttachmentBytes, 'read'>,
  signal: AbortSignal,
): Promise<Buffer> {
  const { attachments, ...rest } = toMessage(message, base);
  const included = includedCount(attachments);
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
