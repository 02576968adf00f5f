import { LRUCache } from 'lru-cache';
import { notFound } from '../../errors.ts';
import type { MessageRecord, Store } from '../../store/contract/index.ts';
import type { AttachmentParsing } from '../context.ts';
import { ATTACHMENT_CACHE_BYTES, MAX_DECODINGS } from '../limits.ts';
import { wholeRaw } from './raw-source.ts';

/** Decoded attachments, on demand. */
export interface AttachmentBytes {
  /**
   * @param message a message that was found just now: the cache itself does not ask whether it still is
   * @throws AppError `not_found` when it ends meanwhile or the parser finds no such attachment
   */
  read(message: MessageRecord, attachmentId: string): Promise<Uint8Array>;
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

export function createAttachmentBytes(deps: {
  messages: () => Pick<Store['messages'], 'readRaw'>;
  parsing: () => AttachmentParsing;
  now: () => number;
}): AttachmentBytes {
  const turn = createTurnstile(MAX_DECODINGS);
  const cache = new LRUCache<string, Uint8Array>({
    maxSize: ATTACHMENT_CACHE_BYTES,
    // An empty attachment counts as one byte: sizes must be positive.
    sizeCalculation: (bytes) => bytes.length + 1,
  });
  const pending = new Map<string, Promise<Uint8Array>>();

  const decode = (message: MessageRecord, attachmentId: string) =>
    turn(async () => {
      const raw = await wholeRaw(deps.messages(), message, deps.now);
      const bytes = await deps.parsing().attachment(raw, attachmentId);
      if (!bytes) throw notFound('attachment', attachmentId);
      return bytes;
    });

  return {
    async read(message, attachmentId) {
      const key = `${message.id}/${attachmentId}`;
      const known = cache.get(key) ?? pending.get(key);
      if (known) return known;
      const decoding = decode(message, attachmentId);
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
