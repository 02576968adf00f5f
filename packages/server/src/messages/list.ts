import { AppError } from '../errors.ts';
import { timeOfId } from '../ids.ts';
import { stillLiveInbox } from '../inboxes/live-inbox.ts';
import type { InboxRecord } from '../inboxes/records.ts';
import type { Condition } from '../mail/matching/conditions.ts';
import { quoted } from '../text/nearest.ts';
import { cursorAt, timeOfRfc3339, timeOfSince } from './cursor.ts';
import { readUntil } from './held/change-signal.ts';
import type { HeldDeps } from './held/held-deps.ts';
import type { Newest } from './newest-cache.ts';
import { continued, type Found, findNewest } from './search.ts';

export interface ListQuery {
  since?: string | undefined;
  /** A message id or a time. */
  before?: string | undefined;
  limit: number;
  /** Every message must meet all of them. */
  conditions: readonly Condition[];
}

/** Newest first. */
export interface MessagePage extends Pick<Found, 'messages' | 'hasMore' | 'searchedTo'> {
  cursor: string;
}

export interface ListDeps extends HeldDeps {
  /** A cache of the newest messages. */
  newest?: Newest;
}

function timeOfBefore(before: string | undefined): number | undefined {
  if (before === undefined) return undefined;
  const time = timeOfId('msg', before) ?? timeOfRfc3339(before);
  if (time !== undefined) return time;
  const message = `"before" must be the id of a message (msg_…) or the "searchedTo" of an earlier response, not ${quoted(before)}.`;
  throw new AppError('invalid_request', message, { errors: [{ path: 'before', message }] });
}

/**
 * The bounds come from `inbox`, which was read before: `lastReceivedAt` grows in commit order, so every message up to
 * it is visible, and every later commit is above it. This makes cursors exact.
 */
async function pageAfter(
  deps: ListDeps,
  since: number,
  inbox: InboxRecord,
  query: ListQuery,
  signal: AbortSignal,
): Promise<MessagePage> {
  const before = timeOfBefore(query.before);
  // Not bounded by `inbox`, which may be cached and older than the page that `before` comes from: messages in between
  // would be missing. Everything below a visible message is visible.
  const newest = before === undefined ? inbox.lastReceivedAt : Math.max(0, before - 1);
  const range = { after: since, before: newest + 1 };
  const { messages, ...found } = await findIn(deps, inbox, range, query, signal);
  // A page below `before` contains no newer messages, so its cursor must not cover them.
  const covered = Math.max(since, Math.min(inbox.lastReceivedAt, newest), messages[0]?.receivedAt ?? 0);
  return { messages, ...found, cursor: cursorAt(inbox.id, covered) };
}

/** @param range `after < receivedAt < before`, epoch milliseconds */
async function findIn(
  deps: ListDeps,
  inbox: InboxRecord,
  range: { after: number; before: number },
  { conditions, limit, before }: ListQuery,
  signal: AbortSignal,
): Promise<Pick<Found, 'messages' | 'hasMore' | 'searchedTo'>> {
  const { store, newest, clock } = deps;
  const { id, accountId } = inbox;
  if (range.after >= range.before - 1) return { messages: [], hasMore: false, searchedTo: null };
  if (conditions.length > 0) {
    const scope = { accountId, inboxId: id };
    const { place, ...found } = await findNewest(deps, { ...range, scope, conditions, limit }, signal);
    return found;
  }
  const found =
    newest && before === undefined
      ? await newest.list(inbox, range.after, limit + 1, clock.now())
      : await store.messages.listRows(id, { ...range, limit: limit + 1 }, clock.now());
  return { messages: found.slice(0, limit), hasMore: found.length > limit, searchedTo: null };
}

/**
 * Waits up to `waitMs` while nothing matches.
 * @throws AppError `invalid_since`; `invalid_request` for a wrong `before`; `inbox_expired` or `not_found` while it
 *   waits; the reason of `signal`
 */
export async function listMessages(
  deps: ListDeps,
  inbox: InboxRecord,
  query: ListQuery,
  waitMs: number,
  signal: AbortSignal,
): Promise<MessagePage> {
  const since = query.since === undefined ? 0 : timeOfSince(inbox.id, query.since);
  if (waitMs === 0) return pageAfter(deps, since, inbox, query, signal);
  const { id, accountId } = inbox;
  let page: MessagePage | undefined;
  let seen = 0;
  const source = { accountId, subscribe: (listener: () => void) => deps.events.onMessage(id, listener) };
  const found = await readUntil({ ...deps, source, signal }, waitMs, async (now) => {
    const current = page ? stillLiveInbox(await deps.store.inboxes.find(accountId, id, now), now, id) : inbox;
    if (!page || current.lastReceivedAt > seen) {
      // Messages that did not match before never will.
      page = continued(await pageAfter(deps, Math.max(since, seen), current, query, signal), page);
      seen = current.lastReceivedAt;
    }
    // No new message can appear below `before`.
    const isFinal = page.messages.length > 0 || query.before !== undefined;
    return { result: { page, isFinal }, isFinal, until: current.expiresAt };
  });
  if (!found.isFinal) signal.throwIfAborted();
  return found.page;
}
