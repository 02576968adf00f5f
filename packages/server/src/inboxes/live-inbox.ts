import { AppError, notFound } from '../errors.ts';
import type { Store } from '../store.ts';
import { quoted } from '../text/nearest.ts';
import type { InboxRecord } from './records.ts';

/**
 * Returns a live inbox. @param id as given by the caller
 * @throws AppError `inbox_expired` with `expiredAt` for 24 hours after the expiry; `not_found`
 */
export function liveInbox(inbox: InboxRecord | undefined, now: number, id: string): InboxRecord {
  if (!inbox) throw notFound('inbox', id);
  if (inbox.expiresAt > now) return inbox;
  const { expiresAt: expiredAt } = inbox;
  const message = `The inbox ${quoted(inbox.id)} expired at ${new Date(expiredAt).toISOString()}. Create a new one with POST /v1/inboxes; "ttlMinutes" sets its lifetime.`;
  throw new AppError('inbox_expired', message, { expiredAt });
}

/** For a held request, whose inbox was live when it began: a missing inbox was deleted since. */
export function stillLiveInbox(inbox: InboxRecord | undefined, now: number, id: string): InboxRecord {
  if (inbox) return liveInbox(inbox, now, id);
  throw new AppError(
    'not_found',
    `The inbox ${quoted(id)} was deleted while this request waited: keep it until the test has its messages.`,
  );
}

/** For an inbox that may have ended during the request. @throws its `inbox_expired` or `not_found`; else `missing` */
export async function throwEnded(
  inboxes: Pick<Store['inboxes'], 'find'>,
  { accountId, id }: Pick<InboxRecord, 'accountId' | 'id'>,
  now: number,
  missing = notFound('inbox', id),
): Promise<never> {
  liveInbox(await inboxes.find(accountId, id, now), now, id);
  throw missing;
}

/** For changes of an inbox's lifetime and its deletion. @throws AppError `permanent_inbox` for the sink */
export function assertNoSink({ kind }: InboxRecord): void {
  if (kind !== 'sink') return;
  throw new AppError(
    'permanent_inbox',
    'This inbox is the sink, which does not expire and cannot be deleted while it takes mail. Empty it with DELETE /v1/inboxes/{id}/messages, or start the server with MAYFLY_SINK=off and delete it then.',
  );
}
