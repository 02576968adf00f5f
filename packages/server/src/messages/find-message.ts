import { notFound } from '../errors.ts';
import { liveInbox } from '../inboxes/live-inbox.ts';
import type { InboxRecord } from '../inboxes/records.ts';
import type { Store } from '../store.ts';
import type { FullMessageRecord } from './records.ts';

type Admitted = Pick<InboxRecord, 'id' | 'accountId'>;

/** @throws AppError `not_found` for the message, or the error of an inbox that has ended since the admission */
export async function throwMissing(
  inboxes: Pick<Store['inboxes'], 'find'>,
  { id: inboxId, accountId }: Admitted,
  messageId: string,
  now: number,
): Promise<never> {
  liveInbox(await inboxes.find(accountId, inboxId, now), now, inboxId);
  throw notFound('message', messageId);
}

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
