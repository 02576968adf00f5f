import { setImmediate as nextTurn } from 'node:timers/promises';
import { notFound } from '../../errors.ts';
import type { Store } from '../../store.ts';
import { type MessageRecord, RAW_PIECE_BYTES } from '../records.ts';

/** An embedded database answers at once: after so many pieces others have a turn, about a millisecond. */
const PIECES_PER_TURN = 4;

type Messages = Pick<Store['messages'], 'readRaw'>;
type Source = Pick<MessageRecord, 'inboxId' | 'id'>;

/** Offsets in the raw source: `[start, end)`. */
export interface SourceRange {
  start: number;
  end: number;
}

/**
 * A range of the raw source of a message, piece by piece; only the pieces that contain it are read.
 * @throws AppError `not_found` when the message ends meanwhile, so that a short result is never taken for a
 *   whole one
 */
export async function* rawPieces(
  messages: Messages,
  { inboxId, id }: Source,
  { start, end }: SourceRange,
  now: () => number,
): AsyncGenerator<Uint8Array> {
  for (let at = start, read = 1; at < end; read++) {
    if (read % PIECES_PER_TURN === 0) await nextTurn();
    const piece = Math.floor(at / RAW_PIECE_BYTES);
    const bytes = await messages.readRaw(inboxId, id, piece, now());
    const offset = at - piece * RAW_PIECE_BYTES;
    const part = bytes?.subarray(offset, offset + end - at);
    if (!part || part.length === 0) throw notFound('message', id);
    // The reader may give the memory of the part back.
    at += part.length;
    yield part;
  }
}

/** The same range as one array. @throws AppError as {@link rawPieces}; the reason of `signal` once it is aborted */
export async function rawRange(
  messages: Messages,
  source: Source,
  range: SourceRange,
  now: () => number,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  signal?.throwIfAborted();
  const whole = new Uint8Array(range.end - range.start);
  let length = 0;
  for await (const piece of rawPieces(messages, source, range, now)) {
    signal?.throwIfAborted();
    whole.set(piece, length);
    length += piece.length;
  }
  return whole;
}
