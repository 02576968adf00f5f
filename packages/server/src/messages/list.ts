import { setImmediate } from 'node:timers/promises';
import { SECOND_MS } from '../clock.ts';
import type { Range } from '../database/sql.ts';
import { invalidField } from '../http/request/invalid-fields.ts';
import { toTime, toTimeOrNull } from '../http/response/time.ts';
import { timeOfId } from '../ids.ts';
import { type InboxRecord, stillLiveInbox } from '../inboxes/records.ts';
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
import { type ChangeSource, type HeldDeps, readUntil } from './held.ts';
import type { AccountMessageRow, MessageRow, NewestPage, SearchScope } from './records.ts';

export interface ListQuery {
  since?: string | undefined;
  /** For an inbox: a message id or a time. For an account: the value of `before` of an earlier page. */
  before?: string | undefined;
  limit: number;
  conditions: readonly Condition[];
  waitMs: number;
}

export interface MessagePage<Row extends MessageRow = MessageRow> {
  messages: Row[];
  /** True if an older message also matches, or if not all older messages were searched. */
  hasMore: boolean;
  /** `receivedAt` of the oldest message that was searched, if the search ran out of time; otherwise null. */
  searchedTo: number | null;
  /** Position after the newest message that was read, whether it matched or not. */
  cursor: string;
}

const SEARCH_MS = SECOND_MS;
/** Rows of each read after the first. Such reads are needed if many rows belong to ended inboxes. */
const ROWS_PER_STEP = 500;

type Found<Row extends MessageRow> = Omit<MessagePage<Row>, 'cursor'> & { place: number };
type ListedPage<Row extends MessageRow> = MessagePage<Row> & Found<Row>;

type Places = Omit<Range, 'limit'>;

/** Messages that can be listed. A place is a `receivedAt` in an inbox, an `accountOrder` in an account. */
interface Listing<Row extends MessageRow> extends Places {
  source: ChangeSource;
  /** Returns the place of the newest message. It is valid until `until` (epoch ms) or the next message. */
  newest(now: number): Promise<{ place: number; until: number }>;
  find(range: Places): Promise<Found<Row>>;
  placeOf(row: Row): number;
  cursorAt(place: number): string;
}

/** Searches until `limit` messages match, all are read or the time is over. @throws the reason of `signal` */
async function findNewest(
  { clock, store: { messages } }: HeldDeps,
  scope: SearchScope,
  { conditions, limit }: ListQuery,
  { after, before }: Places,
  signal: AbortSignal,
): Promise<Found<AccountMessageRow>> {
  const ends = clock.monotonic() + SEARCH_MS;
  const read = (range: Range): Promise<NewestPage> => {
    if (conditions.length > 0) return messages.search(scope, conditions, range, clock.now(), signal);
    const rows = range.before === before ? range.limit : ROWS_PER_STEP;
    return messages.listNewest(scope.accountId, { ...range, limit: rows }, clock.now());
  };
  const found: AccountMessageRow[] = [];
  let place = before;
  let hasMore = false;
  let searchedTo: number | null = null;
  while (after < place - 1 && !hasMore) {
    const page = await read({ after, before: place, limit: limit + 1 - found.length });
    found.push(...page.messages);
    ({ place } = page);
    hasMore = found.length > limit;
    if (hasMore || page.isComplete) break;
    signal.throwIfAborted();
    if (clock.monotonic() < ends) await setImmediate();
    else {
      hasMore = true;
      searchedTo = page.time;
    }
  }
  const last = found.length > limit ? found[limit - 1] : undefined;
  if (last) place = scope.inboxId === undefined ? last.accountOrder : last.receivedAt;
  return { messages: found.slice(0, limit), hasMore, place, searchedTo };
}

/** Returns the page after a place. Its cursor skips no message: commits are in the order of places. */
async function pageAfter<Row extends MessageRow>(
  { before, find, placeOf, cursorAt }: Listing<Row>,
  after: number,
  newest: number,
): Promise<ListedPage<Row>> {
  // With `before`, the range does not end at `newest`: an old, cached value would exclude later messages.
  const range = { after, before: Number.isFinite(before) ? before : newest + 1 };
  const nothing = { messages: [], hasMore: false, place: after, searchedTo: null };
  const found = after >= range.before - 1 ? nothing : await find(range);
  const [first] = found.messages;
  // A page has no messages from `before` on, so its cursor must not skip them.
  const covered = Math.max(after, Math.min(newest, before - 1), first ? placeOf(first) : 0);
  return { ...found, cursor: cursorAt(covered) };
}

/** While a request waits, each read begins where the previous one ended, so no message is read twice. */
async function list<Row extends MessageRow>(
  deps: HeldDeps,
  listing: Listing<Row>,
  waitMs: number,
  signal: AbortSignal,
): Promise<ListedPage<Row>> {
  const { after, before, source } = listing;
  if (waitMs === 0) {
    const { place } = await listing.newest(deps.clock.now());
    return pageAfter(listing, after, place);
  }
  let last: ListedPage<Row> | undefined;
  let seen = 0;
  const held = await readUntil({ ...deps, source, signal }, waitMs, async (now) => {
    const newest = await listing.newest(now);
    if (!last || newest.place > seen) {
      const page = await pageAfter(listing, Math.max(after, seen), newest.place);
      // If the search of the first page ran out of time, keep its `searchedTo`: the client continues there.
      const { messages, cursor } = page;
      last = last?.hasMore && !page.hasMore ? { ...last, messages, cursor } : page;
      seen = newest.place;
    }
    // A request with `before` is for older messages, so it does not wait for new ones.
    const isFinal = last.messages.length > 0 || Number.isFinite(before);
    return { result: { page: last, isFinal }, isFinal, until: newest.until };
  });
  if (!held.isFinal) signal.throwIfAborted();
  return held.page;
}

function timeOfBefore(before: string | undefined): number {
  if (before === undefined) return Number.POSITIVE_INFINITY;
  const time = timeOfId('msg', before) ?? timeOfRfc3339(before);
  if (time !== undefined) return Math.max(1, time);
  const message = `"before" must be the id of a message (msg_…) or the "searchedTo" of an earlier response, not ${quoted(before)}.`;
  throw invalidField('before', message);
}

/** @throws AppError `invalid_since`, `invalid_request`, `inbox_expired`, `not_found`; the reason of `signal` */
export async function listMessages(
  deps: HeldDeps,
  inbox: InboxRecord,
  query: ListQuery,
  signal: AbortSignal,
): Promise<MessagePage> {
  const { id, accountId } = inbox;
  const { limit, conditions, waitMs } = query;
  const { inboxes, messages } = deps.store;
  const before = timeOfBefore(query.before);
  let current = inbox;
  const listing: Listing<MessageRow> = {
    source: { accountId, subscribe: (listener) => deps.events.onMessage(id, listener) },
    after: query.since === undefined ? 0 : timeOfSince(id, query.since),
    before,
    async newest(now) {
      // `inbox` was read before a held request subscribed, so a message that arrived in between would be missed.
      if (waitMs > 0) current = stillLiveInbox(await inboxes.find(accountId, id, now), now, id);
      return { place: current.lastReceivedAt, until: current.expiresAt };
    },
    async find(places) {
      if (conditions.length > 0) return findNewest(deps, { accountId, inboxId: id }, query, places, signal);
      const range = { ...places, limit: limit + 1 };
      const rows = await (Number.isFinite(before)
        ? messages.listRows(id, range, deps.clock.now())
        : messages.listNewestRows(current, range, deps.clock.now()));
      const hasMore = rows.length > limit;
      return { messages: rows.slice(0, limit), hasMore, place: places.after, searchedTo: null };
    },
    placeOf: ({ receivedAt }) => receivedAt,
    cursorAt: (place) => cursorAt(id, place),
  };
  const { place: _, ...shown } = await list(deps, listing, waitMs, signal);
  return shown;
}

/** @returns an `accountOrder`: messages newer than `since` come after it @throws AppError `invalid_since` */
export async function placeAfter(
  messages: Pick<Store['messages'], 'placeInAccount'>,
  accountId: string,
  since: string | undefined,
): Promise<number> {
  if (since === undefined) return 0;
  const place = placeOfAccountSince(accountId, since);
  return 'order' in place ? place.order : messages.placeInAccount(accountId, place.time);
}

/** @returns a page; `before` is the cursor of the next older page, or null @throws as {@link listMessages} */
export async function listAccountMessages(
  deps: HeldDeps,
  accountId: string,
  query: ListQuery,
  signal: AbortSignal,
): Promise<MessagePage<AccountMessageRow> & { before: string | null }> {
  const { store, events } = deps;
  const { since, before } = query;
  const listing: Listing<AccountMessageRow> = {
    source: { accountId, subscribe: (listener) => events.onAccountMessage(accountId, listener) },
    after: await placeAfter(store.messages, accountId, since),
    before: before === undefined ? Number.POSITIVE_INFINITY : placeOfAccountBefore(accountId, before),
    newest: async () => ({
      place: await store.messages.newestInAccount(accountId),
      until: Number.POSITIVE_INFINITY,
    }),
    find: (places) => findNewest(deps, { accountId }, query, places, signal),
    placeOf: ({ accountOrder }) => accountOrder,
    cursorAt: (place) => accountCursorAt(accountId, place),
  };
  const { place, ...page } = await list(deps, listing, query.waitMs, signal);
  return { ...page, before: page.hasMore ? listing.cursorAt(place) : null };
}

/** This text cannot occur inside a string of the JSON, because strings contain no unescaped quotes. */
const NO_ATTACHMENTS = '"attachmentCount":0';

/** Builds the same JSON as `toSummary` of json.ts without parsing the stored summary. */
function rowJson(row: MessageRow): string {
  const { id, inboxId, receivedAt, size, summary, readAt, tags, otherRcptTo } = row;
  const time = toTime(receivedAt);
  const marks = `"readAt":${JSON.stringify(toTimeOrNull(readAt))},"tags":${tags}${otherRcptTo === null ? '' : `,"rcptTo":${otherRcptTo}`}`;
  const hasAttachments = !summary.includes(NO_ATTACHMENTS);
  return `{"id":"${id}","inboxId":"${inboxId}",${summary.slice(1, -1)},"receivedAt":"${time}","size":${size},"hasAttachments":${hasAttachments},${marks}}`;
}

const rowTexts = new WeakMap<MessageRow, string>();

function rowText(row: MessageRow): string {
  const text = rowTexts.get(row) ?? rowJson(row);
  rowTexts.set(row, text);
  return text;
}

export function pageJson({
  messages,
  searchedTo,
  ...fields
}: MessagePage & { before?: string | null }): Buffer {
  const shown = searchedTo === null ? fields : { ...fields, searchedTo: toTime(searchedTo) };
  return Buffer.from(`{"messages":[${messages.map(rowText).join(',')}],${JSON.stringify(shown).slice(1)}`);
}
