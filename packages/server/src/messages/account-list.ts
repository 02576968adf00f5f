import { setImmediate } from 'node:timers/promises';
import type { AccountMessageRow, SearchConditions, Store } from '../store/contract/index.ts';
import { accountCursorAt, placeOfAccountBefore, placeOfAccountSince } from './cursor.ts';
import { readUntil } from './held/change-signal.ts';
import type { HeldDeps } from './held/held-deps.ts';
import { hasFilters } from './list.ts';

/**
 * Messages that one request goes through at most: as many as the sink keeps, so that one request searches all
 * of it. The response says where to continue.
 */
export const MAX_LOOKED_AT = 10_000;
/** Messages read at a time where many belong to inboxes that have ended: about five milliseconds. */
const ROWS_PER_STEP = 500;

/** What a list over all inboxes of an account was asked for. */
export interface AccountQuery extends SearchConditions {
  since?: string | undefined;
  /** {@link AccountMessagePage.before} of an earlier page. */
  before?: string | undefined;
  limit: number;
}

/** A page of messages, newest first. */
export interface AccountMessagePage {
  messages: AccountMessageRow[];
  /** Stands for the newest message of the account that was looked at, or would have been if it matched. */
  cursor: string;
  /** True when older messages match too, or were not looked at. */
  hasMore: boolean;
  /** Where to continue; null when there is nothing more. */
  before: string | null;
}

/** True when messages must be searched. */
export const isSearch = (conditions: SearchConditions): boolean =>
  (conditions.words ?? []).length > 0 || hasFilters(conditions);

/**
 * The place in an account's order behind which a list or a stream with that `since` begins.
 * @throws AppError `invalid_since`
 */
export async function placeAfter(
  messages: Pick<Store['messages'], 'placeInAccount'>,
  accountId: string,
  since: string | undefined,
): Promise<number> {
  if (since === undefined) return 0;
  const place = placeOfAccountSince(accountId, since);
  return 'order' in place ? place.order : messages.placeInAccount(accountId, place.time);
}

/** Places of an account's order: only messages with `after < accountOrder < before`. */
interface Range {
  after: number;
  before: number;
}

/** One list over all inboxes of an account. */
interface List {
  messages: HeldDeps['store']['messages'];
  accountId: string;
  query: AccountQuery;
  signal: AbortSignal;
}

/** A page of the messages of a range that match. */
async function pageOf(list: List, range: Range, now: number): Promise<AccountMessagePage> {
  const { accountId, query } = list;
  const { found, place, isComplete } = await findNewest(list, range, now);
  const messages = found.slice(0, query.limit);
  const isCut = found.length > query.limit;
  const next = isCut ? messages.at(-1)?.accountOrder : isComplete ? undefined : place;
  return {
    messages,
    cursor: accountCursorAt(accountId, Math.max(range.after, range.before - 1)),
    hasMore: next !== undefined,
    before: next === undefined ? null : accountCursorAt(accountId, next),
  };
}

/** The newest messages of a range that match, one more than asked for where there is one more. */
async function findNewest(list: List, { after, before }: Range, now: number) {
  const { messages, accountId, query, signal } = list;
  const isSearched = isSearch(query);
  const found: AccountMessageRow[] = [];
  let place = before;
  let isComplete = after >= before - 1;
  for (let rows = 0; !isComplete && rows < MAX_LOOKED_AT && found.length <= query.limit; ) {
    signal.throwIfAborted();
    if (rows > 0) await setImmediate();
    const wanted = query.limit + 1 - found.length;
    const range = { after, before: place, limit: rows === 0 || isSearched ? wanted : ROWS_PER_STEP };
    const page = isSearched
      ? await messages.search(accountId, query, range, now, signal)
      : await messages.listNewest(accountId, range, now);
    found.push(...page.messages);
    rows += page.rows;
    ({ place, isComplete } = page);
  }
  return { found, place, isComplete };
}

/**
 * A list over all inboxes of an account, held for `waitMs` at most while nothing matches. It is exact as the
 * list of one inbox is (see list.ts): its bounds are read before its messages, and places become visible in
 * their order.
 * @param signal ends it early; its reason is thrown unless something was found
 * @throws AppError `invalid_since`; `invalid_request` for a `before` that is no cursor of this account
 */
export async function listAccountMessages(
  deps: HeldDeps,
  accountId: string,
  query: AccountQuery,
  waitMs: number,
  signal: AbortSignal,
): Promise<AccountMessagePage> {
  const { store, events } = deps;
  const list = { messages: store.messages, accountId, query, signal };
  const end =
    query.before === undefined ? Number.POSITIVE_INFINITY : placeOfAccountBefore(accountId, query.before);
  const after = await placeAfter(store.messages, accountId, query.since);
  const source = {
    accountId,
    subscribe: (listener: () => void) => events.onAccountMessage(accountId, listener),
  };
  let page: AccountMessagePage | undefined;
  let seen = 0;
  const last = await readUntil({ ...deps, source, signal }, waitMs, async (now) => {
    // A page below `before` has not looked at newer messages, so its cursor does not cover them.
    const newest = Math.max(0, Math.min(await store.messages.newestInAccount(accountId), end - 1));
    if (!page || newest > seen) {
      const older = page;
      // Messages that did not match before never will.
      page = await pageOf(list, { after: Math.max(after, seen), before: newest + 1 }, now);
      // The first read may have ended before the oldest message: the client can continue there.
      if (!page.hasMore && older) page = { ...page, hasMore: older.hasMore, before: older.before };
      seen = newest;
    }
    const isFinal = page.messages.length > 0 || query.before !== undefined;
    return { result: { page, isFinal }, isFinal, until: Number.POSITIVE_INFINITY };
  });
  if (!last.isFinal) signal.throwIfAborted();
  return last.page;
}
