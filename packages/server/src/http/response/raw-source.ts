import { notFound } from '../../errors.ts';
import type { MessageRecord, Store } from '../../store/contract/index.ts';
import { RAW_PIECE_BYTES } from '../../store/contract/messages.ts';

type Messages = Pick<Store['messages'], 'readRaw'>;

/**
 * The raw source of a message, piece by piece.
 * @throws AppError `not_found` when the message ends meanwhile, so that a short answer is never taken
 *   for a whole one
 */
export async function* rawPieces(
  messages: Messages,
  { inboxId, id, size }: Pick<MessageRecord, 'inboxId' | 'id' | 'size'>,
  now: () => number,
): AsyncGenerator<Uint8Array> {
  let sent = 0;
  for (let piece = 0; sent < size; piece++) {
    const bytes = await messages.readRaw(inboxId, id, piece, now());
    if (!bytes) throw notFound('message', id);
    sent += bytes.length;
    yield bytes;
  }
}

/**
 * The bytes `[start, end)` of the raw source; only the pieces that hold them are read.
 * @throws AppError `not_found` when the message ends meanwhile
 */
export async function rawRange(
  messages: Messages,
  { inboxId, id }: Pick<MessageRecord, 'inboxId' | 'id'>,
  { start, end }: { start: number; end: number },
  now: () => number,
): Promise<Uint8Array> {
  const range = new Uint8Array(end - start);
  for (let at = start; at < end; ) {
    const piece = Math.floor(at / RAW_PIECE_BYTES);
    const bytes = await messages.readRaw(inboxId, id, piece, now());
    const offset = at - piece * RAW_PIECE_BYTES;
    const part = bytes?.subarray(offset, offset + end - at);
    if (!part || part.length === 0) throw notFound('message', id);
    range.set(part, at - start);
    at += part.length;
  }
  return range;
}
