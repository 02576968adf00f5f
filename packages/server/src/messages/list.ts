import { setImmediate } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { SECOND_MS } from '../clock.ts';
import { AppError } from '../errors.ts';
import { timeOfId } from '../ids.ts';
import type { InboxRecord } from '../inboxes/records.ts';
import { stillLiveInbox } from '../inboxes/records.ts';
import type { Condition } from '../mail/matching/conditions.ts';
import type { Store } from '../store.ts';
import { quoted } from '../text/nearest.ts';
import {
  accountCursorAt,
  cursorAt,
  placeOfAccountBefore,
  placeOfAccountSince,
  timeOfRfc3339,
  timeOfSince,
} from './cursor.ts';
import { type ChangeSource, readUntil } from './held/change-signal.ts';
import type { HeldDeps } from './held/held-deps.ts';
import type { AccountMessageRow, MessageRow, SearchScope } from './records.ts';

export interface ListQuery {
  since?: string | undefined;
  /** In an inbox a message id or a time, in an account {@link AccountMessagePage.before} of an earlier page. */
  before?: string | undefined;
  limit: number;
  /** Every message must meet all of them. */
  conditions: readonly Condition[];
}

/** Newest first. */
export interface MessagePage<Row = MessageRow> {
  messages: Row[];
  /** True if older messages match too, or were not read. */
  hasMore: boolean;
  /** `receivedAt` of the oldest message that was read if the time was over first; else null. */
  searchedTo: number | null;
  /** Stands for the newest message that was read, whether it matched or not. */
  cursor: string;
}

export interface AccountMessagePage extends MessagePage<AccountMessageRow> {
  /** Where to continue; null at the end. */
  before: string | null;
}

const SEARCH_MS = SECOND_MS;
/** Page size for lists without conditions, if messages of ended inboxes left the first page incomplete. */
const ROWS_PER_STEP = 500;

interface Search extends Pick<ListQuery, 'conditions' | 'limit'> {
  scope: SearchScope;
  /** Both places are exclusive. */
  after: number;
  before: number;
}

/**
 * Reads until `limit` messages match, all are read or the time is over.
 * @returns them with the place of the oldest message that was read. @throws the reason of `signal`
 */
async function findNewest(
  { clock, store: { messages } }: Pick<HeldDeps, 'clock' | 'store'>,
  { scope, conditions, limit, after, before }: Search,
  signal: AbortSignal,
) {
  const ends = clock.monotonic() + SEARCH_MS;
  const found: AccountMessageRow[] = [];
  const read = (upTo: number) => {
    const range = { after, before: upTo, limit: limit + 1 - found.length };
    if (conditions.length > 0) return messages.search(scope, conditions, range, clock.now(), signal);
    const rows = upTo === before ? range.limit : ROWS_PER_STEP;
    return messages.listNewest(scope.accountId, { ...range, limit: rows }, clock.now());
  };
  const foundUpTo = (place: number, hasMore: boolean, searchedTo: number | null = null) => {
    const last = found.length > limit ? found[limit - 1] : undefined;
    const lastPlace = scope.inboxId === undefined ? last?.accountOrder : last?.receivedAt;
    return { messages: found.slice(0, limit), hasMore, place: lastPlace ?? place, searchedTo };
  };
  let place = before;
  while (after < place - 1) {
    const page = await read(place);
    found.push(...page.messages);
    ({ place } = page);
    if (found.length > limit) return foundUpTo(place, true);
    if (page.isComplete) break;
    signal.throwIfAborted();
    if (clock.monotonic() >= ends) return foundUpTo(place, true, page.time);
    await setImmediate();
  }
  return foundUpTo(place, false);
}

/** One read of a list: its upper bound, which is fixed first, and the page between a place and that bound. */
interface Head<Page> {
  newest: number;
  /** Epoch ms. */
  until: number;
  page(after: number): Promise<Page>;
}

/**
 * Waits up to `waitMs` while nothing matches. Messages that did not match before never will, so each page begins after
 * the one before.
 * @param isFixed true with `before`, below which no new message can appear
 */
async function listUntil<Page extends MessagePage<unknown>>(
  deps: HeldDeps & { source: ChangeSource; signal: AbortSignal },
  waitMs: number,
  isFixed: boolean,
  headOf: (now: number, isFirst: boolean) => Head<Page> | Promise<Head<Page>>,
): Promise<Page> {
  if (waitMs === 0) return (await headOf(deps.clock.now(), true)).page(0);
  let last: Page | undefined;
  let seen = 0;
  const found = await readUntil(deps, waitMs, async (now) => {
    const head = await headOf(now, last === undefined);
    if (!last || head.newest > seen) {
      const page: Page = await head.page(seen);
      // Keeps the place to continue at if the empty first page ended before the oldest message.
      const { messages, cursor } = page;
      last = last?.hasMore && !page.hasMore ? { ...last, messages, cursor } : page;
      seen = head.newest;
    }
    const isFinal = last.messages.length > 0 || isFixed;
    return { result: { page: last, isFinal }, isFinal, until: head.until };
  });
  if (!found.isFinal) deps.signal.throwIfAborted();
  return found.page;
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
  deps: HeldDeps & { newest: Newest | null },
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
  deps: HeldDeps & { newest: Newest | null },
  inbox: InboxRecord,
  range: { after: number; before: number },
  { conditions, limit, before }: ListQuery,
  signal: AbortSignal,
): Promise<Omit<MessagePage, 'cursor'>> {
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
      ? await newest(inbox, range.after, limit + 1, clock.now())
      : await store.messages.listRows(id, { ...range, limit: limit + 1 }, clock.now());
  return { messages: found.slice(0, limit), hasMore: found.length > limit, searchedTo: null };
}

/**
 * Waits up to `waitMs` while nothing matches.
 * @throws AppError `invalid_since`; `invalid_request` for a wrong `before`; `inbox_expired` or `not_found` while it
 *   waits; the reason of `signal`
 */
export async function listMessages(
  deps: HeldDeps & { newest: Newest },
  inbox: InboxRecord,
  query: ListQuery,
  waitMs: number,
  signal: AbortSignal,
): Promise<MessagePage> {
  const since = query.since === undefined ? 0 : timeOfSince(inbox.id, query.since);
  const { id, accountId } = inbox;
  const source = { accountId, subscribe: (listener: () => void) => deps.events.onMessage(id, listener) };
  // Held lists share their reads, so they do not need the cache.
  const reading = { ...deps, newest: waitMs > 0 ? null : deps.newest };
  const isFixed = query.before !== undefined;
  return listUntil({ ...deps, source, signal }, waitMs, isFixed, async (now, isFirst) => {
    const current = isFirst
      ? inbox
      : stillLiveInbox(await deps.store.inboxes.find(accountId, id, now), now, id);
    const page = (after: number) => pageAfter(reading, Math.max(since, after), current, query, signal);
    return { newest: current.lastReceivedAt, until: current.expiresAt, page };
  });
}

/** The place in the account's order after which `since` begins. @throws AppError `invalid_since` */
export async function placeAfter(
  messages: Pick<Store['messages'], 'placeInAccount'>,
  accountId: string,
  since: string | undefined,
): Promise<number> {
  if (since === undefined) return 0;
  const place = placeOfAccountSince(accountId, since);
  return 'order' in place ? place.order : messages.placeInAccount(accountId, place.time);
}

/**
 * Waits up to `waitMs` while nothing matches.
 * @param signal ends it early; its reason is thrown unless something was found
 * @throws AppError `invalid_since`; `invalid_request` for a `before` that is no cursor of this account
 */
export async function listAccountMessages(
  deps: HeldDeps,
  accountId: string,
  query: ListQuery,
  waitMs: number,
  signal: AbortSignal,
): Promise<AccountMessagePage> {
  const { store, events } = deps;
  const { before: given, conditions, limit } = query;
  const end = given === undefined ? Number.POSITIVE_INFINITY : placeOfAccountBefore(accountId, given);
  const since = await placeAfter(store.messages, accountId, query.since);
  const source = {
    accountId,
    subscribe: (listener: () => void) => events.onAccountMessage(accountId, listener),
  };
  return listUntil({ ...deps, source, signal }, waitMs, given !== undefined, async () => {
    // A page below `before` contains no newer messages, so its cursor must not cover them.
    const newest = Math.max(0, Math.min(await store.messages.newestInAccount(accountId), end - 1));
    const page = async (seen: number): Promise<AccountMessagePage> => {
      const range = { after: Math.max(since, seen), before: newest + 1 };
      const search = { ...range, scope: { accountId }, conditions, limit };
      const { place, ...found } = await findNewest(deps, search, signal);
      const cursor = accountCursorAt(accountId, Math.max(range.after, newest));
      return { ...found, cursor, before: found.hasMore ? accountCursorAt(accountId, place) : null };
    };
    return { newest, until: Number.POSITIVE_INFINITY, page };
  });
}

/** Enough for a page for each of some hundred inboxes that are polled at the same time. */
const KEPT_BYTES = 8 * 1024 * 1024;
/** Ids, numbers and object headers. */
const MESSAGE_OVERHEAD_BYTES = 200;

/** A gapless range of the newest messages of an inbox. */
interface Stretch {
  version: number;
  /** Every message with a later `receivedAt` is included. */
  floor: number;
  messages: MessageRow[];
}

export type Newest = ReturnType<typeof createNewest>;

/**
 * Caches the newest messages of polled inboxes, for clients with different `since` values. The result returns messages
 * with `after < receivedAt <= inbox.lastReceivedAt` of a live inbox, newest first.
 */
export function createNewest(messages: () => Pick<Store['messages'], 'listRows'>) {
  const stretches = new LRUCache<string, Stretch>({
    maxSize: KEPT_BYTES,
    sizeCalculation: (stretch) =>
      stretch.messages.reduce((sum, { summary }) => sum + summary.length + MESSAGE_OVERHEAD_BYTES, 1),
  });
  return async (inbox: InboxRecord, after: number, limit: number, now: number): Promise<MessageRow[]> => {
    const known = stretches.get(inbox.id);
    // The version grows with every change, so an equal version means equal messages.
    if (known?.version === inbox.version) {
      const asked = known.messages.findIndex(({ receivedAt }) => receivedAt <= after);
      const length = asked < 0 ? known.messages.length : asked;
      if (after >= known.floor || length >= limit) return known.messages.slice(0, Math.min(length, limit));
    }
    const range = { after, before: inbox.lastReceivedAt + 1, limit };
    const found = await messages().listRows(inbox.id, range, now);
    const last = found.at(-1);
    const floor = last && found.length >= limit ? last.receivedAt - 1 : after;
    const isLonger = known?.version !== inbox.version || floor < known.floor;
    if (isLonger) stretches.set(inbox.id, { version: inbox.version, floor, messages: found });
    return found;
  };
}
