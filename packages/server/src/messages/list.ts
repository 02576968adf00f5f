import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import { AppError, notFound } from '../errors.ts';
import type { EventBus } from '../events.ts';
import { timeOfId } from '../ids.ts';
import { type Filters, failedConditions, failedContent, needsContent } from '../mail/filters.ts';
import { quoted } from '../nearest.ts';
import type { InboxRecord, MessageRecord, MessageRow, Store } from '../store/contract/index.ts';
import { readUntil, type Subscribe } from './change-signal.ts';
import { cursorAt, timeOfSince } from './cursor.ts';
import type { Newest } from './newest-cache.ts';

/** Messages matched between two turns of the event loop: about a millisecond. */
const SCAN_PAGE = 200;
/** The same where the content of each must be read and parsed: about three milliseconds. */
const SCAN_PAGE_WITH_CONTENT = 30;

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
  events: Pick<EventBus, 'onMessage'>;
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

/** True when there is a condition, so that the messages of a list must be parsed. */
export const hasFilters = ({ from, to, rcptTo, subject, text, hasAttachments }: Filters): boolean =>
  [from, to, rcptTo, subject, text, hasAttachments].some((condition) => condition !== undefined);

/** Returns the newest messages of a range, and one more than the limit if there is one. */
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
  const limit = needsContent(query) ? SCAN_PAGE_WITH_CONTENT : SCAN_PAGE;
  let before = range.before;
  while (found.length < wanted) {
    const rows = await store.messages.list(inboxId, { after: range.after, before, limit }, now);
    for (const row of rows) {
      if (found.length < wanted && (await matches(store, row, query, now))) found.push(row);
    }
    const last = rows.at(-1);
    if (!last || rows.length < limit) break;
    before = last.receivedAt;
    await setImmediate();
  }
  return found;
};

/**
 * Returns a page of messages. Its bounds come from `inbox`, so the page contains everything up to its cursor
 * and nothing newer: `lastReceivedAt` grows in commit order, so every message up to it was visible when
 * `inbox` was read, and every later commit is above it, whatever happens between the two reads. This makes
 * cursors exact.
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

/** The same without filters, with summaries that are not parsed. */
export async function listRows(
  { store, newest }: Pick<ReadDeps, 'store'> & { newest: Newest },
  inbox: InboxRecord,
  query: Omit<ListQuery, keyof Filters>,
  now: number,
): Promise<MessagePage<MessageRow>> {
  const scanRows: Scan<MessageRow> = ({ messages }, inboxId, range, { before, limit }) =>
    before === undefined
      ? newest.list(inbox, range.after, limit + 1, now)
      : messages.listRows(inboxId, { ...range, limit: limit + 1 }, now);
  return pageAfter(scanRows, store, sinceOf(inbox, query), inbox, query, now);
}

const sinceOf = (inbox: InboxRecord, { since }: ListQuery): number =>
  since === undefined ? 0 : timeOfSince(inbox.id, since);

async function pageAfter<M extends { receivedAt: number }>(
  scanned: Scan<M>,
  store: ReadDeps['store'],
  since: number,
  inbox: InboxRecord,
  query: ListQuery,
  now: number,
): Promise<MessagePage<M>> {
  const before = timeOfBefore(query.before);
  // A page below `before` is not bounded by `inbox`, which may be cached and older than the page that `before`
  // comes from: messages in between would be missing. Everything below a visible message is visible.
  const newest = before === undefined ? inbox.lastReceivedAt : Math.max(0, before - 1);
  const found =
    newest <= since ? [] : await scanned(store, inbox.id, { after: since, before: newest + 1 }, query, now);
  // Such a page has not looked at newer messages, so its cursor does not cover them.
  const covered = Math.max(Math.min(inbox.lastReceivedAt, newest), found[0]?.receivedAt ?? 0);
  return {
    messages: found.slice(0, query.limit),
    cursor: cursorAt(inbox.id, covered),
    hasMore: found.length > query.limit,
  };
}

/**
 * The same as {@link listMessages}, but while nothing matches, waits for new messages.
 * @param waitMs the longest wait, milliseconds
 * @param signal ends the wait at once with an empty page: the client disconnected, or the server stops
 * @throws what {@link listMessages} throws, and `inbox_expired` or `not_found` when the inbox ends meanwhile
 */
export async function waitForMessages(
  deps: ReadDeps,
  inbox: InboxRecord,
  query: ListQuery,
  waitMs: number,
  signal: AbortSignal,
): Promise<MessagePage> {
  const { store, events, clock } = deps;
  const since = sinceOf(inbox, query);
  let page: MessagePage | undefined;
  let seen = 0;
  const subscribe: Subscribe = (listener) => events.onMessage(inbox.id, listener);
  return readUntil({ clock, subscribe, signal }, clock.now() + waitMs, async (now) => {
    const current = page
      ? liveInbox(await store.inboxes.find(inbox.accountId, inbox.id, now), now, inbox.id)
      : inbox;
    if (!page || current.lastReceivedAt > seen) {
      // Messages that did not match before never will.
      page = await pageAfter(scan, store, Math.max(since, seen), current, query, now);
      seen = current.lastReceivedAt;
    }
    // No new message can appear below `before`.
    const isFinal = page.messages.length > 0 || query.before !== undefined;
    return { result: page, isFinal, until: current.expiresAt };
  });
}
