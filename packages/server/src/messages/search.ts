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

/** Keeps the place to continue at if the empty first page of a wait ended before the oldest message. */
export const continued = <Page extends { messages: unknown[]; cursor: string; hasMore: boolean }>(
  page: Page,
  earlier: Page | undefined,
): Page =>
  earlier?.hasMore && !page.hasMore ? { ...earlier, messages: page.messages, cursor: page.cursor } : page;
