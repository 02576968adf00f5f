import { setImmediate } from 'node:timers/promises';
import { SECOND_MS } from '../clock.ts';
import type { Condition } from '../mail/matching/conditions.ts';
import type { HeldDeps } from './held/held-deps.ts';
import type { AccountMessageRow, MessageRow, SearchScope } from './records.ts';

/** How long one request searches. */
const SEARCH_MS = SECOND_MS;
/** Messages read at a time where there is no condition and many belong to inboxes that have ended. */
const ROWS_PER_STEP = 500;

export interface Search {
  scope: SearchScope;
  conditions: readonly Condition[];
  limit: number;
  /** Only messages with a place between these. */
  after: number;
  before: number;
}

/** The newest messages of a list. */
export interface Found<Row = MessageRow> {
  /** Newest first, at most `limit`. */
  messages: Row[];
  /** True when older messages match too, or were not looked at. */
  hasMore: boolean;
  /** The place of the oldest message that was looked at. */
  place: number;
  /** `receivedAt` of that message where the time was over before the search was; else null. */
  searchedTo: number | null;
}

/**
 * Finds the newest messages that meet all conditions: until there are `limit`, all have been looked at, or the time is
 * over.
 * @param signal ends it early; its reason is thrown then
 */
export async function findNewest(
  { clock, store: { messages } }: Pick<HeldDeps, 'clock' | 'store'>,
  { scope, conditions, limit, after, before }: Search,
  signal: AbortSignal,
): Promise<Found<AccountMessageRow>> {
  const ends = clock.monotonic() + SEARCH_MS;
  const isSearch = conditions.length > 0;
  const found: AccountMessageRow[] = [];
  for (let place = before; ; await setImmediate()) {
    if (after >= place - 1) return { messages: found, hasMore: false, place, searchedTo: null };
    const isFirst = place === before;
    const rows = isFirst || isSearch ? limit + 1 - found.length : ROWS_PER_STEP;
    const range = { after, before: place, limit: rows };
    const page = isSearch
      ? await messages.search(scope, conditions, range, clock.now(), signal)
      : await messages.listNewest(scope.accountId, range, clock.now());
    found.push(...page.messages);
    ({ place } = page);
    if (found.length > limit) {
      const last = found[limit - 1];
      const lastPlace = scope.inboxId === undefined ? last?.accountOrder : last?.receivedAt;
      return { messages: found.slice(0, limit), hasMore: true, place: lastPlace ?? place, searchedTo: null };
    }
    if (page.isComplete) return { messages: found, hasMore: false, place, searchedTo: null };
    signal.throwIfAborted();
    if (clock.monotonic() >= ends) return { messages: found, hasMore: true, place, searchedTo: page.time };
  }
}

/**
 * A page of a list that waits, after one that was empty: the first one may have ended before the oldest message, and
 * the client can continue there.
 */
export const continued = <Page extends { messages: unknown[]; cursor: string; hasMore: boolean }>(
  page: Page,
  earlier: Page | undefined,
): Page =>
  earlier?.hasMore && !page.hasMore ? { ...earlier, messages: page.messages, cursor: page.cursor } : page;
