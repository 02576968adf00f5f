import { notFound } from '../errors.ts';
import type { FullMessageRecord, Store } from '../store/contract/index.ts';

/** The message that a path names. @throws AppError `not_found` */
export async function findMessage(
  store: Pick<Store, 'messages'>,
  inboxId: string,
  messageId: string,
  now: number,
): Promise<FullMessageRecord> {
  const message = await store.messages.find(inboxId, messageId, now);
  if (!message) throw notFound('message', messageId);
  return message;
}
