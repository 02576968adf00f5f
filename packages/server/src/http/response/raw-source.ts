import { notFound } from '../../errors.ts';
import type { MessageRecord, Store } from '../../store/contract/index.ts';

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

/** The whole raw source. */
export async function wholeRaw(
  messages: Messages,
  message: Pick<MessageRecord, 'inboxId' | 'id' | 'size'>,
  now: () => number,
): Promise<Uint8Array> {
  const whole = new Uint8Array(message.size);
  let filled = 0;
  for await (const piece of rawPieces(messages, message, now)) {
    whole.set(piece, filled);
    filled += piece.length;
  }
  return whole;
}
