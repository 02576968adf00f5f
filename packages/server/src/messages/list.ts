import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import { AppError, notFound } from '../errors.ts';
import type { News } from '../events.ts';
import { timeOfId } from '../ids.ts';
import { type Filters, failedConditions, failedContent, needsContent } from '../mail/filters.ts';
import { quoted } from '../nearest.ts';
import type { InboxRecord, MessageRecord, Store, UnreadMessage } from '../store/contract/index.ts';
import { lookUntil, type Subscribe } from './change-signal.ts';
import { cursorAt, timeOfSince } from './cursor.ts';
import type { Newest } from './newest-cache.ts';

/** Rows looked at between two turns of the event loop: about a millisecond of matching. */
const SCAN_PAGE = 200;

/** What a list was asked for. */
export interface ListQuery extends Filters {
  since?: string | undefined;
  /** A message id. */
  before?: string | undefined;
  limit: number;
}

/** A page of messages, newest first. */
export interface MessagePage<M = MessageRecord> {
  messages: M[];
  cursor: string;
  /** True when older messages match too. */
  hasMore: boolean;
}

export interface ReadDeps {
  store: Pick<Store, 'inboxes' | 'messages'>;
  news: Pick<News, 'onMessage'>;
  clock: Clock;
}

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

/** @param expiredAt epoch milliseconds */
export function inboxExpired(id: string, expiredAt: number): AppError {
  const ended = new Date(expiredAt).toISOString();
  return new AppError(
    'inbox_expired',
    `The inbox ${quoted(id)} expired at ${ended}. Create a new one with POST /v1/inboxes; "ttlMinutes" sets its lifetime.`,
    { expiredAt },
  );
}

function timeOfBefore(before: string | undefined): number | undefined {
  if (before === undefined) return undefined;
  const time = timeOfId('msg', before);
  if (time !== undefined) return time;
  const message = `"before" must be the id of a message (msg_…), not ${quoted(before)}.`;
  throw new AppError('invalid_request', message, { errors: [{ path: 'before', message }] });
}

interface Range {
  /** Only messages that arrived later, epoch milliseconds. */
  after: number;
  /** Only messages that arrived earlier. */
  before: number;
}

async function matches(store: ReadDeps['store'], message: MessageRecord, query: ListQuery, now: number) {
  if (failedConditions(message, query).length > 0) return false;
  if (!needsContent(query)) return true;
  const full = await store.messages.find(message.inboxId, message.id, now);
  return full !== undefined && failedContent(full, query).length === 0;
}

/** True when a list shows only what meets some condition, so that messages must be looked into. */
export const hasFilters = ({ from, to, rcptTo, subject, text, hasAttachments }: Filters): boolean =>
  [from, to, rcptTo, subject, text, hasAttachments].some((condition) => condition !== undefined);

/** Answers the newest messages of a range, one more than asked for where there is one more. */
type Scan<M> = (
  store: ReadDeps['store'],
  inboxId: string,
  range: Range,
  query: ListQuery,
  now: number,
) => Promise<M[]>;

const scan: Scan<MessageRecord> = async (store, inboxId, range, query, now) => {
  const wanted = query.limit + 1;
  if (!hasFilters(query)) return store.messages.list(inboxId, { ...range, limit: wanted }, now);
  const found: MessageRecord[] = [];
  let before = range.before;
  while (found.length < wanted) {
    const rows = await store.messages.list(inboxId, { after: range.after, before, limit: SCAN_PAGE }, now);
    for (const row of rows) {
      if (found.length < wanted && (await matches(store, row, query, now))) found.push(row);
    }
    const last = rows.at(-1);
    if (!last || rows.length < SCAN_PAGE) break;
    before = last.receivedAt;
    await setImmediate();
  }
  return found;
};

/**
 * Answers a list. Its bounds come from `inbox`, so everything up to the cursor is in the answer and
 * nothing beyond it: `lastReceivedAt` grows in the order of the commits, hence whatever is at or below
 * it was already visible when `inbox` was read, and whatever is committed later lies above it, however
 * the two reads and the writer interleave. That is what makes following cursors exact.
 * @param inbox a live inbox, read before this call
 * @throws AppError `invalid_since`; `invalid_request` for a `before` that is no message id
 */
export async function listMessages(
  { store }: Pick<ReadDeps, 'store'>,
  inbox: InboxRecord,
  query: ListQuery,
  now: number,
): Promise<MessagePage> {
  return pageAfter(scan, store, sinceOf(inbox, query), inbox, query, now);
}

/** The same for a list without filters, whose summaries nobody needs to look into. */
export async function listUnread(
  { store, newest }: Pick<ReadDeps, 'store'> & { newest: Newest },
  inbox: InboxRecord,
  query: Omit<ListQuery, keyof Filters>,
  now: number,
): Promise<MessagePage<UnreadMessage>> {
  const scanUnread: Scan<UnreadMessage> = ({ messages }, inboxId, range, { before, limit }) =>
    before === undefined
      ? newest.list(inbox, range.after, limit + 1, now)
      : messages.listUnread(inboxId, { ...range, limit: limit + 1 }, now);
  return pageAfter(scanUnread, store, sinceOf(inbox, query), inbox, query, now);
}

const sinceOf = (inbox: InboxRecord, { since }: ListQuery): number =>
  since === undefined ? 0 : timeOfSince(inbox.id, since);

async function pageAfter<M>(
  scanned: Scan<M>,
  store: ReadDeps['store'],
  since: number,
  inbox: InboxRecord,
  query: ListQuery,
  now: number,
): Promise<MessagePage<M>> {
  const before = timeOfBefore(query.before) ?? Number.POSITIVE_INFINITY;
  // A page further down knows nothing of what lies above it, so its cursor does not stand for that.
  const newest = Math.max(0, Math.min(inbox.lastReceivedAt, before - 1));
  const found =
    newest <= since ? [] : await scanned(store, inbox.id, { after: since, before: newest + 1 }, query, now);
  return {
    messages: found.slice(0, query.limit),
    cursor: cursorAt(inbox.id, newest),
    hasMore: found.length > query.limit,
  };
}

/**
 * The same, held back while nothing matches: subscribe, look, wait for the hint, look again.
 * @param waitMs for how long at most
 * @param signal ends the wait at once with the empty answer: the client went away, or the server stops
 * @throws what {@link listMessages} throws, and `inbox_expired` or `not_found` when the inbox ends meanwhile
 */
export async function waitForMessages(
  deps: ReadDeps,
  inbox: InboxRecord,
  query: ListQuery,
  waitMs: number,
  signal: AbortSignal,
): Promise<MessagePage> {
  const { store, news, clock } = deps;
  const since = sinceOf(inbox, query);
  let page: MessagePage | undefined;
  let seen = 0;
  const subscribe: Subscribe = (listener) => news.onMessage(inbox.id, listener);
  return lookUntil({ clock, subscribe, signal }, clock.now() + waitMs, async (now) => {
    const current = page
      ? liveInbox(await store.inboxes.find(inbox.accountId, inbox.id, now), now, inbox.id)
      : inbox;
    if (!page || current.lastReceivedAt > seen) {
      // What was there before did not match and never will.
      page = await pageAfter(scan, store, Math.max(since, seen), current, query, now);
      seen = current.lastReceivedAt;
    }
    // Below `before` nothing new can appear.
    const isFinal = page.messages.length > 0 || query.before !== undefined;
    return { result: page, isFinal, until: current.expiresAt };
  });
}
