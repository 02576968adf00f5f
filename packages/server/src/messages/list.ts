import { setImmediate } from 'node:timers/promises';
import { AppError } from '../errors.ts';
import { timeOfId } from '../ids.ts';
import { type Filters, failedConditions, needsContent } from '../mail/matching/filters.ts';
import { quoted } from '../nearest.ts';
import type { InboxRecord, MessageRecord, MessageRow } from '../store/contract/index.ts';
import { cursorAt, timeOfSince } from './cursor.ts';
import { readUntil, type WaitDeps } from './held/change-signal.ts';
import type { HeldDeps } from './held/held-deps.ts';
import type { SharedReads } from './held/shared-reads.ts';
import { stillLiveInbox } from './live-inbox.ts';
import type { Newest } from './newest-cache.ts';

/** Messages whose summaries are matched between two turns of the event loop: about a millisecond. */
const SCAN_PAGE = 200;

/** What a list was asked for. */
export interface ListQuery extends Filters {
  since?: string | undefined;
  /** A message id. */
  before?: string | undefined;
  limit: number;
}

/** A message of a page: with its summary as stored text, or parsed where that was needed. */
export type ListedMessage = MessageRow | MessageRecord;

/** A page of messages, newest first. */
export interface MessagePage {
  messages: ListedMessage[];
  cursor: string;
  /** True when older messages match too. */
  hasMore: boolean;
}

export interface ListDeps extends WaitDeps {
  store: { messages: Pick<SharedReads['messages'], 'list' | 'listRows' | 'check'> };
  /** Where given, the newest messages are read from it. */
  newest?: Newest;
}

/** Places of an inbox: only messages with `after < receivedAt < before`, epoch milliseconds. */
interface Range {
  after: number;
  before: number;
}

/** True when there is a condition, so that the messages of a list must be looked at. */
export const hasFilters = ({ from, to, rcptTo, subject, text, hasAttachments }: Filters): boolean =>
  [from, to, rcptTo, subject, text, hasAttachments].some((condition) => condition !== undefined);

function timeOfBefore(before: string | undefined): number | undefined {
  if (before === undefined) return undefined;
  const time = timeOfId('msg', before);
  if (time !== undefined) return time;
  const message = `"before" must be the id of a message (msg_…), not ${quoted(before)}.`;
  throw new AppError('invalid_request', message, { errors: [{ path: 'before', message }] });
}

const sinceOf = (inbox: InboxRecord, { since }: ListQuery): number =>
  since === undefined ? 0 : timeOfSince(inbox.id, since);

/**
 * Returns a page of messages. Its bounds come from `inbox`, so the page contains everything up to its cursor
 * and nothing newer: `lastReceivedAt` grows in commit order, so every message up to it was visible when
 * `inbox` was read, and every later commit is above it, whatever happens between the two reads. This makes
 * cursors exact.
 * @param inbox a live inbox, read before this call
 * @param signal ends a search early; its reason is thrown then
 * @throws AppError `invalid_since`; `invalid_request` for a `before` that is no message id
 */
export async function listMessages(
  deps: ListDeps,
  inbox: InboxRecord,
  query: ListQuery,
  signal: AbortSignal,
): Promise<MessagePage> {
  return pageAfter(deps, sinceOf(inbox, query), inbox, query, signal);
}

async function pageAfter(
  deps: ListDeps,
  since: number,
  inbox: InboxRecord,
  query: ListQuery,
  signal: AbortSignal,
): Promise<MessagePage> {
  const before = timeOfBefore(query.before);
  // A page below `before` is not bounded by `inbox`, which may be cached and older than the page that `before`
  // comes from: messages in between would be missing. Everything below a visible message is visible.
  const newest = before === undefined ? inbox.lastReceivedAt : Math.max(0, before - 1);
  const range = { after: since, before: newest + 1 };
  const found = newest <= since ? [] : await findNewest(deps, inbox, range, query, signal);
  // Such a page has not looked at newer messages, so its cursor does not cover them.
  const covered = Math.max(since, Math.min(inbox.lastReceivedAt, newest), found[0]?.receivedAt ?? 0);
  return {
    messages: found.slice(0, query.limit),
    cursor: cursorAt(inbox.id, covered),
    hasMore: found.length > query.limit,
  };
}

/** The newest messages of a range that match, and one more than the limit if there is one. */
async function findNewest(
  deps: ListDeps,
  inbox: InboxRecord,
  range: Range,
  query: ListQuery,
  signal: AbortSignal,
): Promise<ListedMessage[]> {
  const { store, newest, clock } = deps;
  const limit = query.limit + 1;
  if (needsContent(query)) return searchContent(deps, inbox, range, query, signal);
  if (hasFilters(query)) return scanSummaries(deps, inbox, range, query);
  if (newest && query.before === undefined) return newest.list(inbox, range.after, limit, clock.now());
  return store.messages.listRows(inbox.id, { ...range, limit }, clock.now());
}

async function scanSummaries(
  { store, clock }: ListDeps,
  { id }: InboxRecord,
  { after, before: from }: Range,
  query: ListQuery,
): Promise<ListedMessage[]> {
  const found: MessageRecord[] = [];
  let before = from;
  for (;;) {
    const page = await store.messages.list(id, { after, before, limit: SCAN_PAGE }, clock.now());
    found.push(...page.filter((message) => failedConditions(message, query).length === 0));
    const last = page.at(-1);
    if (!last || page.length < SCAN_PAGE || found.length > query.limit) return found;
    before = last.receivedAt;
    await setImmediate();
  }
}

async function searchContent(
  { store, clock }: ListDeps,
  inbox: InboxRecord,
  { after, before: from }: Range,
  query: ListQuery,
  signal: AbortSignal,
): Promise<ListedMessage[]> {
  const found: MessageRecord[] = [];
  let before = from;
  for (;;) {
    const limit = query.limit + 1 - found.length;
    const range = { after, before, limit, order: 'newest-first', onlyMatches: true } as const;
    const page = await store.messages.check(inbox, query, range, clock.now(), signal);
    found.push(...page.messages.map(({ message }) => message));
    if (page.isComplete || found.length > query.limit) return found;
    before = page.place;
  }
}

/**
 * The same as {@link listMessages}, but while nothing matches, waits for new messages.
 * @param waitMs the longest wait, milliseconds
 * @param signal ends the wait at once; its reason is thrown unless something was found
 * @throws what {@link listMessages} throws, and `inbox_expired` or `not_found` when the inbox ends meanwhile
 */
export async function waitForMessages(
  deps: HeldDeps,
  inbox: InboxRecord,
  query: ListQuery,
  waitMs: number,
  signal: AbortSignal,
): Promise<MessagePage> {
  const since = sinceOf(inbox, query);
  const { id, accountId } = inbox;
  let page: MessagePage | undefined;
  let seen = 0;
  const source = { accountId, subscribe: (listener: () => void) => deps.events.onMessage(id, listener) };
  const found = await readUntil({ ...deps, source, signal }, waitMs, async (now) => {
    const current = page ? stillLiveInbox(await deps.store.inboxes.find(accountId, id, now), now, id) : inbox;
    if (!page || current.lastReceivedAt > seen) {
      // Messages that did not match before never will.
      page = await pageAfter(deps, Math.max(since, seen), current, query, signal);
      seen = current.lastReceivedAt;
    }
    // No new message can appear below `before`.
    const isFinal = page.messages.length > 0 || query.before !== undefined;
    return { result: { page, isFinal }, isFinal, until: current.expiresAt };
  });
  if (!found.isFinal) signal.throwIfAborted();
  return found.page;
}
