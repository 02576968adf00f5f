import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../clock.ts';
import { notFound } from '../../errors.ts';
import { RAW_PIECE_BYTES } from '../../reading/sql.ts';
import type { Store } from '../../store.ts';
import type { MessageRecord } from '../records.ts';

export interface RawDeps {
  store: { messages: Pick<Store['messages'], 'readRaw'> };
  clock: Pick<Clock, 'now'>;
}
type Source = Pick<MessageRecord, 'inboxId' | 'id'>;

/** Offsets in the raw source or in an attachment: `[start, end)`. */
export interface SourceRange {
  start: number;
  end: number;
}

/**
 * Reads only the needed pieces, one in each turn of the event loop.
 * @throws AppError `not_found` if the message is deleted or expires before the last piece is read
 */
export async function* rawPieces(
  { store, clock }: RawDeps,
  { inboxId, id }: Source,
  { start, end }: SourceRange,
): AsyncGenerator<Uint8Array> {
  for (let at = start; at < end; await nextTurn()) {
    const piece = Math.floor(at / RAW_PIECE_BYTES);
    const bytes = await store.messages.readRaw(inboxId, id, piece, clock.now());
    const offset = at - piece * RAW_PIECE_BYTES;
    const part = bytes?.subarray(offset, offset + end - at);
    if (!part || part.length === 0) throw notFound('message', id);
    // The consumer may free the memory of the part.
    at += part.length;
    yield part;
  }
}

/** As {@link rawPieces}, as one array. @throws the reason of `signal` as well */
export async function rawRange(
  deps: RawDeps,
  source: Source,
  range: SourceRange,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  signal?.throwIfAborted();
  const whole = new Uint8Array(range.end - range.start);
  let length = 0;
  for await (const piece of rawPieces(deps, source, range)) {
    signal?.throwIfAborted();
    whole.set(piece, length);
    length += piece.length;
  }
  return whole;
}
