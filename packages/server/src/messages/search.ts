import { setImmediate } from 'node:timers/promises';
import { SECOND_MS } from '../clock.ts';
import type { Condition } from '../mail/matching/conditions.ts';
import type { HeldDeps } from './held/held-deps.ts';
import type { AccountMessageRow, MessageRow, SearchScope } from './records.ts';

const SEARCH_MS = SECOND_MS;
/** For lists without conditions, when messages of ended inboxes left the first page incomplete. */
const ROWS_PER_STEP = 500;

export interface Search {
  scope: SearchScope;
  conditions: readonly Condition[];
  limit: number;
  /** Both places are exclusive. */
  after: number;
  before: number;
}

export interface Found<Row = MessageRow> {
  /** Newest first, at most `limit`. */
  messages: Row[];
  /** True if older messages match too, or were not read. */
  hasMore: boolean;
  /** Of the oldest message that was read. */
  place: number;
  /** `receivedAt` of that message if the time was over first; else null. */
  searchedTo: number | null;
}

/** Reads until `limit` messages match, all are read or the time is over. @throws the reason of `signal` */
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

/** Keeps the place to continue at if the empty first page of a wait ended before the oldest message. */
export const continued = <Page extends { messages: unknown[]; cursor: string; hasMore: boolean }>(
  page: Page,
  earlier: Page | undefined,
): Page =>
  earlier?.hasMore && !page.hasMore ? { ...earlier, messages: page.messages, cursor: page.cursor } : page;
