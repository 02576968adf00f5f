import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../clock.ts';
import type { Range } from '../database/sql.ts';
import type { EventBus } from '../events.ts';
import type { InboxRecord } from '../inboxes/records.ts';
import type { Filters } from '../mail/matching/filters.ts';
import { RecipientLines } from '../mail/matching/similar-addresses.ts';
import { createSharing, type Store } from '../store.ts';
import type { CheckRange, MessageRecord, MessageRow, OpenRange } from './records.ts';

/** Limits concurrency to `slots`. One account gets at most `slots - 1`; accounts with queued work take turns. */
export function createSlots(slots: number) {
  const running = new Map<string, number>();
  const queues = new Map<string, (() => void)[]>();
  let free = slots;

  const count = (accountId: string, by: 1 | -1): void => {
    const left = (running.get(accountId) ?? 0) + by;
    if (left === 0) running.delete(accountId);
    else running.set(accountId, left);
    free -= by;
  };

  const startNext = (): void => {
    for (const [accountId, queue] of queues) {
      if (free === 0) return;
      if ((running.get(accountId) ?? 0) >= slots - 1) continue;
      const start = queue.shift();
      queues.delete(accountId);
      if (queue.length > 0) queues.set(accountId, queue);
      count(accountId, 1);
      start?.();
    }
  };

  return async <T>(accountId: string, work: () => Promise<T>): Promise<T> => {
    await new Promise<void>((resolve) => {
      const queue = queues.get(accountId);
      if (queue) queue.push(resolve);
      else queues.set(accountId, [resolve]);
      startNext();
    });
    try {
      return await work();
    } finally {
      count(accountId, -1);
      startNext();
    }
  };
}

/** Page size of waits and streams. Reading a page takes one or two milliseconds; it is kept for a slow client. */
export const HELD_PAGE = 50;
/** Maximum cached results. A page of summaries takes about 50 KB. */
const MAX_RESULTS = 100;
const MAX_SHARED_ROWS = 60;
/** Search steps that run concurrently. One account has at most two, so that others can search too. */
const MAX_SEARCHES = 3;
/** Waits and streams that resume in one turn of the event loop. Each takes 50 to 150 µs. */
const WAKES_PER_TURN = 5;

/** Returns pages of messages, oldest first. All requests that follow an inbox share them: each message is read once. */
function createFollowedPages(read: Store['messages']['listAfter']) {
  type Page = readonly MessageRecord[];
  const pages = new LRUCache<string, { version: number; page: Promise<Page> }>({ max: MAX_RESULTS });

  async function extend(page: Page, inbox: InboxRecord, after: number, now: number): Promise<Page> {
    const last = page.at(-1);
    if (!last) return read(inbox.id, { after, limit: HELD_PAGE }, now);
    if (page.length >= HELD_PAGE) return page;
    const added = await pageAfter(inbox, last.receivedAt, now);
    return [...page, ...added].slice(0, HELD_PAGE);
  }

  function pageAfter(inbox: InboxRecord, after: number, now: number): Promise<Page> {
    const { id, version, receivedCount } = inbox;
    // A new message raises both numbers by one. If a message is deleted or marked, only the version is raised.
    const key = `${id} ${version - receivedCount} ${after}`;
    const known = pages.get(key);
    if (known && known.version >= version) return known.page;
    const page = (known?.page ?? Promise.resolve([])).then((before) => extend(before, inbox, after, now));
    pages.set(key, { version, page });
    page.catch(() => pages.delete(key));
    return page;
  }

  return pageAfter;
}

/** Returns the newest messages, newest first, from a cache that polls with different `since` share. */
function createNewestRows(read: Store['messages']['listRows']) {
  const cache = new LRUCache<string, { after: number; rows: MessageRow[] }>({
    maxSize: 8 * 1024 * 1024,
    sizeCalculation: ({ rows }) => rows.reduce((sum, { summary }) => sum + summary.length + 200, 200),
  });
  /** @param range must include the newest message */
  return async ({ id, version }: InboxRecord, range: Range, now: number): Promise<MessageRow[]> => {
    const key = `${id} ${version}`;
    const known = cache.get(key);
    const after = known?.rows.filter(({ receivedAt }) => receivedAt > range.after);
    if (known && after && (known.after <= range.after || after.length >= range.limit)) {
      return after.slice(0, range.limit);
    }
    const rows = await read(id, range, now);
    const isAll = rows.length < range.limit;
    cache.set(key, { after: isAll ? range.after : (rows.at(-1)?.receivedAt ?? 1) - 1, rows });
    return rows;
  };
}

export type HeldDeps = ReturnType<typeof createHeldDeps>;

/** The store for waits, streams and lists, which share results. @param findInbox a cached `inboxes.find` */
export function createHeldDeps(
  deps: {
    store: Pick<Store, 'messages' | 'refusals' | 'generation'>;
    events: Pick<EventBus, 'onMessage' | 'onAccountMessage'>;
    clock: Clock;
  },
  findInbox: Store['inboxes']['find'],
) {
  const { messages, refusals } = deps.store;
  const shared = createSharing(deps.store, deps.clock, MAX_RESULTS);
  const inTurn = createSlots(MAX_SEARCHES);
  const paged =
    <Of extends OpenRange, Page>(name: string, read: (id: string, range: Of, now: number) => Promise<Page>) =>
    (id: string, range: Of, now: number): Promise<Page> => {
      const { after, before, limit } = range;
      if (limit > MAX_SHARED_ROWS) return read(id, range, now);
      return shared(`${name} ${id} ${after} ${before} ${limit}`, () => read(id, range, now));
    };
  const searched = <T>(accountId: string, step: () => Promise<T>, signal?: AbortSignal): Promise<T> =>
    inTurn(accountId, () => {
      signal?.throwIfAborted();
      return step();
    });
  const store = {
    inboxes: { find: findInbox },
    refusals: {
      recent: (after: number, now: number) =>
        shared(`recent ${after}`, async () => new RecipientLines(await refusals.recent(after, now))),
    },
    messages: {
      ...messages,
      listNewestRows: createNewestRows(paged('rows', messages.listRows)),
      listAfter: createFollowedPages(messages.listAfter),
      listByAccount: paged('account', messages.listByAccount),
      listNewest: paged('newest', messages.listNewest),
      newestInAccount: (id: string) => shared(`place ${id}`, () => messages.newestInAccount(id)),
      recipients: (id: string, after: number, now: number) =>
        shared(
          `recipients ${id} ${after}`,
          async () => new RecipientLines(await messages.recipients(id, after, now)),
        ),
      check: (
        { id, accountId }: Pick<InboxRecord, 'id' | 'accountId'>,
        conditions: Filters,
        range: CheckRange,
        now: number,
        signal?: AbortSignal,
      ) => searched(accountId, () => messages.check(id, conditions, range, now), signal),
      search: (
        ...[scope, conditions, range, now, signal]: [...Parameters<Store['messages']['search']>, AbortSignal?]
      ) => searched(scope.accountId, () => messages.search(scope, conditions, range, now), signal),
    },
  };
  return { events: deps.events, clock: deps.clock, store, wakes: createSlots(WAKES_PER_TURN) };
}

export interface ChangeSource {
  accountId: string;
  subscribe(listener: () => void): () => void;
}

interface ReadResult<T> {
  result: T;
  isFinal: boolean;
  /** When to read the store again even without a change, epoch milliseconds. */
  until: number;
}

/** Reads now and after each change, until the result is final, `waitMs` are over or `signal` aborts. */
export async function readUntil<T>(
  deps: Pick<HeldDeps, 'clock' | 'wakes'> & { source: ChangeSource; signal: AbortSignal },
  waitMs: number,
  read: (now: number, isLast: boolean) => Promise<ReadResult<T>>,
): Promise<T> {
  const { clock, wakes, source, signal } = deps;
  const deadline = clock.monotonic() + waitMs;
  const inTurn = () => wakes(source.accountId, () => nextTurn());
  let change = new AbortController();
  let isQueued = false;
  // With a reason: the default one is an error with a stack, which takes ten times as long to create.
  const resume = () => change.abort('changed');
  // Subscribes before the first read, so that no change is missed.
  const unsubscribe = source.subscribe(async () => {
    if (isQueued) return;
    isQueued = true;
    await inTurn();
    isQueued = false;
    resume();
  });
  signal.addEventListener('abort', resume);
  try {
    for (;;) {
      // Create the controller before the read, so that a change during the read ends the sleep.
      change = new AbortController();
      const isLast = clock.monotonic() >= deadline;
      const { result, isFinal, until } = await read(clock.now(), isLast);
      if (isFinal || isLast || signal.aborted) return result;
      const ms = Math.min(deadline - clock.monotonic(), until - clock.now());
      if (ms > 0) await clock.sleep(ms, change.signal);
      // Many requests may time out at once, so they also resume in turns.
      if (!change.signal.aborted) await inTurn();
    }
  } finally {
    unsubscribe();
    signal.removeEventListener('abort', resume);
  }
}
