import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import type { EventBus } from '../events.ts';
import type { AccountMessageRow, SearchConditions, Store } from '../store/contract/index.ts';
import { readUntil, type Subscribe } from './change-signal.ts';
import { accountCursorAt, placeOfAccountBefore, placeOfAccountSince } from './cursor.ts';
import { hasFilters } from './list.ts';

/**
 * Messages that one look goes through at most: as many as the sink keeps, so that one request searches all
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

export interface AccountListDeps {
  store: Pick<Store, 'messages'>;
  events: Pick<EventBus, 'onAccountMessage'>;
  clock: Clock;
}

/** The lists over all inboxes of accounts. */
export interface AccountLists {
  /**
   * A list, held back for `waitMs` at most while nothing matches. It is exact as the list of one inbox is
   * (see list.ts): its bounds are read before its messages, and places become visible in their order.
   * @param signal ends it early with what was found so far: the client disconnected, or the server stops
   * @throws AppError `invalid_since`; `invalid_request` for a `before` that is no cursor of this account
   */
  list(
    accountId: string,
    query: AccountQuery,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<AccountMessagePage>;
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

/** Runs the work of each account one after the other, so that one with many searches delays only itself. */
function createTurns() {
  const last = new Map<string, Promise<unknown>>();
  return <T>(accountId: string, work: () => Promise<T>): Promise<T> => {
    const turn = (last.get(accountId) ?? Promise.resolve()).then(work, work);
    last.set(accountId, turn);
    const forget = () => {
      if (last.get(accountId) === turn) last.delete(accountId);
    };
    turn.then(forget, forget);
    return turn;
  };
}

export function createAccountLists({ store, events, clock }: AccountListDeps): AccountLists {
  const inTurn = createTurns();

  /** The next messages below a place; more than `limit` where that costs nothing. */
  const step = (
    accountId: string,
    query: AccountQuery,
    range: { after: number; before: number; limit: number },
    now: number,
  ) => {
    if (isSearch(query)) return inTurn(accountId, () => store.messages.search(accountId, query, range, now));
    return store.messages.listNewest(accountId, range, now);
  };

  /** The newest messages of a range that match, one more than asked for where there is one more. */
  async function look(
    accountId: string,
    query: AccountQuery,
    { after, before }: { after: number; before: number },
    now: number,
    signal: AbortSignal,
  ): Promise<{ found: AccountMessageRow[]; place: number; isComplete: boolean }> {
    const found: AccountMessageRow[] = [];
    let place = before;
    let isComplete = after >= before - 1;
    for (let rows = 0; !isComplete && rows < MAX_LOOKED_AT && found.length <= query.limit; ) {
      if (signal.aborted) break;
      if (rows > 0) await setImmediate();
      const wanted = query.limit + 1 - found.length;
      const limit = rows === 0 || isSearch(query) ? wanted : ROWS_PER_STEP;
      const page = await step(accountId, query, { after, before: place, limit }, now);
      found.push(...page.messages);
      rows += page.rows;
      ({ place, isComplete } = page);
    }
    return { found, place, isComplete };
  }

  async function pageOf(
    accountId: string,
    query: AccountQuery,
    range: { after: number; before: number },
    now: number,
    signal: AbortSignal,
  ): Promise<AccountMessagePage> {
    const { found, place, isComplete } = await look(accountId, query, range, now, signal);
    const messages = found.slice(0, query.limit);
    const isCut = found.length > query.limit;
    const next = isCut ? messages.at(-1)?.accountOrder : isComplete ? undefined : place;
    return {
      messages,
      cursor: accountCursorAt(accountId, range.before - 1),
      hasMore: next !== undefined,
      before: next === undefined ? null : accountCursorAt(accountId, next),
    };
  }

  return {
    async list(accountId, query, waitMs, signal) {
      const until = clock.now() + waitMs;
      const end =
        query.before === undefined ? Number.POSITIVE_INFINITY : placeOfAccountBefore(accountId, query.before);
      const after = await placeAfter(store.messages, accountId, query.since);
      const subscribe: Subscribe = (listener) => events.onAccountMessage(accountId, listener);
      let page: AccountMessagePage | undefined;
      let seen = 0;
      return readUntil({ clock, subscribe, signal }, until, async (now) => {
        // A page below `before` has not looked at newer messages, so its cursor does not cover them.
        const newest = Math.max(0, Math.min(await store.messages.newestInAccount(accountId), end - 1));
        if (!page || newest > seen) {
          const older = page;
          // Messages that did not match before never will.
          const range = { after: Math.max(after, seen), before: newest + 1 };
          page = await pageOf(accountId, query, range, now, signal);
          // The first look may have ended before the oldest message: the client can continue there.
          if (!page.hasMore && older) page = { ...page, hasMore: older.hasMore, before: older.before };
          seen = newest;
        }
        const isFinal = page.messages.length > 0 || query.before !== undefined;
        return { result: page, isFinal, until: Number.POSITIVE_INFINITY };
      });
    },
  };
}
