import { notFound } from '../errors.ts';
import type { InboxRecord } from '../inboxes/records.ts';
import { throwEnded } from '../inboxes/records.ts';
import type { Store } from '../store.ts';
import type { FullMessageRecord } from './records.ts';

type Admitted = Pick<InboxRecord, 'id' | 'accountId'>;

/** @throws AppError `not_found` for the message, or the error of an inbox that has ended since the request was admitted */
export const throwMissing = (
  inboxes: Pick<Store['inboxes'], 'find'>,
  inbox: Admitted,
  messageId: string,
  now: number,
): Promise<never> => throwEnded(inboxes, inbox, now, notFound('message', messageId));

/** @throws AppError as {@link throwMissing} */
export async function findMessage(
  store: Pick<Store, 'messages' | 'inboxes'>,
  inbox: Admitted,
  messageId: string,
  now: number,
): Promise<FullMessageRecord> {
  const message = await store.messages.find(inbox.id, messageId, now);
  return message ?? throwMissing(store.inboxes, inbox, messageId, now);
}
