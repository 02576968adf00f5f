import { notFound } from '../errors.ts';
import type { Store } from '../store.ts';
import { liveInbox } from './live-inbox.ts';
import type { InboxRecord } from './records.ts';

/** For an inbox that ended during the request. @throws AppError `inbox_expired` or `not_found`, always */
export async function throwEnded(
  inboxes: Pick<Store['inboxes'], 'find'>,
  { accountId, id }: Pick<InboxRecord, 'accountId' | 'id'>,
  now: number,
): Promise<never> {
  liveInbox(await inboxes.find(accountId, id, now), now, id);
  throw notFound('inbox', id);
}
