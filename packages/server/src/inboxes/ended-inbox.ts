import { notFound } from '../errors.ts';
import type { InboxRecord, Store } from '../store/contract/index.ts';
import { liveInbox } from './live-inbox.ts';

/**
 * For a request whose inbox ended after the request was admitted: the same error as for one that came later.
 * @throws AppError `inbox_expired` or `not_found`, always
 */
export async function throwEnded(
  inboxes: Pick<Store['inboxes'], 'find'>,
  { accountId, id }: Pick<InboxRecord, 'accountId' | 'id'>,
  now: number,
): Promise<never> {
  liveInbox(await inboxes.find(accountId, id, now), now, id);
  throw notFound('inbox', id);
}
