import { AppError, notFound } from '../errors.ts';
import { quoted } from '../text/nearest.ts';
import type { InboxRecord } from './records.ts';

/**
 * Checks that an inbox was found and has not expired.
 * @param inbox as the store found it
 * @param id as the caller gave it
 * @throws AppError `inbox_expired` with `expiredAt` for 24 hours after its expiry; `not_found`
 */
export function liveInbox(inbox: InboxRecord | undefined, now: number, id: string): InboxRecord {
  if (!inbox) throw notFound('inbox', id);
  if (inbox.expiresAt > now) return inbox;
  throw inboxExpired(inbox.id, inbox.expiresAt);
}

/**
 * The same for a request that is held, whose inbox was live when it began: it says that the inbox was deleted meanwhile.
 * @throws AppError `inbox_expired`; `not_found`
 */
export function stillLiveInbox(inbox: InboxRecord | undefined, now: number, id: string): InboxRecord {
  if (inbox) return liveInbox(inbox, now, id);
  throw new AppError(
    'not_found',
    `The inbox ${quoted(id)} was deleted while this request waited: keep it until the test has its messages.`,
  );
}

/** @param expiredAt epoch milliseconds */
function inboxExpired(id: string, expiredAt: number): AppError {
  const ended = new Date(expiredAt).toISOString();
  return new AppError(
    'inbox_expired',
    `The inbox ${quoted(id)} expired at ${ended}. Create a new one with POST /v1/inboxes; "ttlMinutes" sets its lifetime.`,
    { expiredAt },
  );
}
