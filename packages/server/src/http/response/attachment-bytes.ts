import { LRUCache } from 'lru-cache';
import { notFound } from '../../errors.ts';
import { attachmentPart } from '../../mail/attachment.ts';
import { decodeTransfer, type TransferEncoding } from '../../mail/mime/transfer-encoding.ts';
import type { FullMessageRecord, Store } from '../../store/contract/index.ts';
import { ATTACHMENT_CACHE_BYTES, DECODED_HERE_BYTES, MAX_DECODINGS } from '../limits.ts';
import { rawRange } from './raw-source.ts';

/** Decoded attachments, on demand. */
export interface AttachmentBytes {
  /**
   * @param message a message that was found just now: the cache itself does not ask whether it still exists
   * @throws AppError `not_found` when it ends meanwhile or has no such attachment
   */
  read(message: FullMessageRecord, attachmentId: string): Promise<Uint8Array>;
}

/** The part of parsing that HTTP uses: work that would hold up the main thread. */
export interface AttachmentParsing {
  /** The decoded bytes of an attachment, searched in the whole raw source; undefined when it is not there. */
  attachment(raw: Uint8Array, attachmentId: string): Promise<Uint8Array | undefined>;
  /** The bytes of a part without their transfer encoding. */
  decode(bytes: Uint8Array, encoding: TransferEncoding): Promise<Uint8Array>;
}

/** Lets at most `limit` run at once; the others queue in order. */
function createTurnstile(limit: number) {
  let running = 0;
  const queue: (() => void)[] = [];
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (running < limit) running++;
    else await new Promise<void>((resolve) => queue.push(resolve));
    try {
      return await work();
    } finally {
      const next = queue.shift();
      if (next) next();
      else running--;
    }
  };
}

interface Deps {
  messages: () => Pick<Store['messages'], 'readRaw'>;
  parsing: () => AttachmentParsing;
  now: () => number;
}

/** Reads the range of the attachment in the raw source and decodes it. */
async function readAttachment(
  deps: Deps,
  message: FullMessageRecord,
  attachmentId: string,
): Promise<Uint8Array> {
  const { index, size } = message;
  const part = index && attachmentPart(index, attachmentId);
  if (part) {
    const { bodyStart: start, bodyEnd: end, encoding } = part;
    const bytes = await rawRange(deps.messages(), message, { start, end }, deps.now);
    const isCheap = encoding === '' || bytes.length <= DECODED_HERE_BYTES;
    return isCheap
      ? decodeTransfer(Buffer.from(bytes.buffer, 0, bytes.length), encoding)
      : deps.parsing().decode(bytes, encoding);
  }
  // Messages that were stored without an index are parsed once more.
  const raw =
    index === null ? await rawRange(deps.messages(), message, { start: 0, end: size }, deps.now) : null;
  const decoded = raw && (await deps.parsing().attachment(raw, attachmentId));
  if (!decoded) throw notFound('attachment', attachmentId);
  return decoded;
}

export function createAttachmentBytes(deps: Deps): AttachmentBytes {
  const turn = createTurnstile(MAX_DECODINGS);
  const cache = new LRUCache<string, Uint8Array>({
    maxSize: ATTACHMENT_CACHE_BYTES,
    // An empty attachment counts as one byte: sizes must be positive.
    sizeCalculation: (bytes) => bytes.length + 1,
  });
  const pending = new Map<string, Promise<Uint8Array>>();

  return {
    async read(message, attachmentId) {
      const key = `${message.id}/${attachmentId}`;
      const known = cache.get(key) ?? pending.get(key);
      if (known) return known;
      const decoding = turn(() => readAttachment(deps, message, attachmentId));
      pending.set(key, decoding);
      try {
        const bytes = await decoding;
        cache.set(key, bytes);
        return bytes;
      } finally {
        pending.delete(key);
      }
    },
  };
}
