import type { Condition } from '../mail/matching/conditions.ts';
import type { Store } from '../store.ts';
import { accountCursorAt, placeOfAccountBefore, placeOfAccountSince } from './cursor.ts';
import { readUntil } from './held/change-signal.ts';
import type { HeldDeps } from './held/held-deps.ts';
import type { AccountMessageRow } from './records.ts';
import { continued, type Found, findNewest } from './search.ts';

export interface AccountQuery {
  since?: string | undefined;
  /** {@link AccountMessagePage.before} of an earlier page. */
  before?: string | undefined;
  limit: number;
  /** Every message must meet all of them. */
  conditions: readonly Condition[];
}

export interface AccountMessagePage extends Omit<Found<AccountMessageRow>, 'place'> {
  /** Stands for the newest message that was read, whether it matched or not. */
  cursor: string;
  /** Where to continue; null if there is no more. */
  before: string | null;
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
 * Waits up to `waitMs` while nothing matches. Cursors are exact as in list.ts: bounds are read before messages.
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
  const end =
    query.before === undefined ? Number.POSITIVE_INFINITY : placeOfAccountBefore(accountId, query.before);
  const after = await placeAfter(store.messages, accountId, query.since);
  const source = {
    accountId,
    subscribe: (listener: () => void) => events.onAccountMessage(accountId, listener),
  };
  let page: AccountMessagePage | undefined;
  let seen = 0;
  const last = await readUntil({ ...deps, source, signal }, waitMs, async () => {
    // A page below `before` contains no newer messages, so its cursor must not cover them.
    const newest = Math.max(0, Math.min(await store.messages.newestInAccount(accountId), end - 1));
    if (!page || newest > seen) {
      const range = { after: Math.max(after, seen), before: newest + 1 };
      const search = { ...range, scope: { accountId }, conditions: query.conditions, limit: query.limit };
      const { place, ...found } = await findNewest(deps, search, signal);
      const cursor = accountCursorAt(accountId, Math.max(range.after, newest));
      const before = found.hasMore ? accountCursorAt(accountId, place) : null;
      // Messages that did not match before never will.
      page = continued({ ...found, cursor, before }, page);
      seen = newest;
    }
    const isFinal = page.messages.length > 0 || query.before !== undefined;
    return { result: { page, isFinal }, isFinal, until: Number.POSITIVE_INFINITY };
  });
  if (!last.isFinal) signal.throwIfAborted();
  return last.page;
}
