import type { Clock } from '../../clock.ts';
import { CACHE_TTL_MS } from '../../clock.ts';
import type { InboxRecord } from '../../inboxes/records.ts';
import type { Filters } from '../../mail/matching/filters.ts';
import { listRecipients, type RecipientList } from '../../mail/matching/similar-addresses.ts';
import type { Store } from '../../store.ts';
import type { CheckedPage, CheckRange, FullMessageRecord } from '../records.ts';
import { AbandonedSearch, type SearchTurns } from './search-turns.ts';

/** At this number all are dropped. A page of summaries takes about 50 KB. */
const MAX_RESULTS = 100;
/** Larger pages are not cached. A page has 51 by default. */
const MAX_KEPT_MESSAGES = 60;
/** Characters of text and HTML; larger messages are not cached. */
const MAX_KEPT_CONTENT_LENGTH = 256 * 1024;

interface Read {
  result: Promise<unknown>;
  /** Monotonic milliseconds. */
  until: number;
  /** Signals of the callers, while a search is in progress. */
  waiting: AbortSignal[] | undefined;
}

export interface SharedReads {
  messages: Pick<
    Store['messages'],
    | 'find'
    | 'listRows'
    | 'listAfter'
    | 'listByAccount'
    | 'listNewest'
    | 'newestInAccount'
    | 'placeInAccount'
    | 'existing'
  > & {
    /** `messages.recipients`, parsed. */
    recipients(...asked: Parameters<Store['messages']['recipients']>): Promise<RecipientList>;
    /** In the account's turn. @throws the reason of the signal */
    check(
      inbox: Pick<InboxRecord, 'id' | 'accountId'>,
      conditions: Filters,
      range: CheckRange,
      now: number,
      signal?: AbortSignal,
    ): Promise<CheckedPage>;
    /** In the account's turn. @throws the reason of the signal */
    search(
      ...asked: [...Parameters<Store['messages']['search']>, signal?: AbortSignal]
    ): ReturnType<Store['messages']['search']>;
  };
  /** `refusals.recent`, parsed. */
  refusals: { recent(...asked: Parameters<Store['refusals']['recent']>): Promise<RecipientList> };
}

/** For searches without a signal, which are short and run to their end. */
const NEVER = new AbortController().signal;

/** Makes one read of a key at a time. Callers during a read share the next one, which begins after their call. */
function createQueue(): <T>(key: string, read: () => Promise<T>) => Promise<T> {
  const running = new Map<string, Promise<unknown>>();
  const next = new Map<string, Promise<unknown>>();
  const run = <T>(key: string, read: () => Promise<T>): Promise<T> => {
    const current = running.get(key);
    if (!current) {
      const result = read().finally(() => running.delete(key));
      running.set(key, result);
      return result;
    }
    const begin = () => {
      next.delete(key);
      return run(key, read);
    };
    const queued = next.get(key) ?? current.then(begin, begin);
    next.set(key, queued);
    return queued as Promise<T>;
  };
  return run;
}

/**
 * Caches results until the next write (`store.generation()`): a thousand waits on one inbox cost one query. If
 * other processes write too, only callers at the same time share a read. Callers must not change results.
 */
export function createSharedReads(
  store: Pick<Store, 'messages' | 'refusals' | 'generation'>,
  clock: Pick<Clock, 'monotonic'>,
  turns: SearchTurns,
): SharedReads {
  const results = new Map<string, Read>();
  const queued = createQueue();
  let generation: number | null = null;

  /** @param signal if those of all callers are aborted before the read begins, it is not made */
  const shared = <T>(
    key: string,
    read: (waiting: readonly AbortSignal[]) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> => {
    const waiting = signal ? [signal] : [];
    const current = store.generation();
    if (current === null) return signal ? read(waiting) : queued(key, () => read(waiting));
    if (current !== generation || results.size >= MAX_RESULTS) results.clear();
    generation = current;
    const now = clock.monotonic();
    const known = results.get(key);
    if (known && now < known.until) {
      if (signal) known.waiting?.push(signal);
      return known.result as Promise<T>;
    }
    const result = read(waiting);
    const made: Read = { result, until: now + CACHE_TTL_MS, waiting };
    results.set(key, made);
    const drop = () => {
      if (results.get(key) === made) results.delete(key);
    };
    result.then((value) => {
      made.waiting = undefined;
      if (isTooLarge(value)) drop();
    }, drop);
    return result;
  };

  /** A step of a search in the account's turn. @throws the reason of the signal */
  const searched = async <T>(
    accountId: string,
    key: string,
    step: () => Promise<T>,
    signal = NEVER,
  ): Promise<T> => {
    for (;;) {
      signal.throwIfAborted();
      try {
        return await shared(key, (waiting) => turns.run(accountId, waiting, step), signal);
      } catch (error) {
        // All earlier callers had aborted, so this one starts the search again.
        if (!(error instanceof AbandonedSearch)) throw error;
      }
    }
  };

  return {
    refusals: {
      recent: (after, now) =>
        shared(`recent ${after}`, async () => listRecipients(await store.refusals.recent(after, now))),
    },
    messages: {
      find: (inboxId, id, now) =>
        shared(`message ${inboxId} ${id}`, () => store.messages.find(inboxId, id, now)),
      listRows: (id, range, now) =>
        shared(`rows ${id} ${rangeKey(range)}`, () => store.messages.listRows(id, range, now)),
      listAfter: (id, range, now) =>
        shared(`after ${id} ${rangeKey(range)}`, () => store.messages.listAfter(id, range, now)),
      listByAccount: (id, range, now) =>
        shared(`account ${id} ${rangeKey(range)}`, () => store.messages.listByAccount(id, range, now)),
      listNewest: (id, range, now) =>
        shared(`newest ${id} ${rangeKey(range)}`, () => store.messages.listNewest(id, range, now)),
      newestInAccount: (id) => shared(`place ${id}`, () => store.messages.newestInAccount(id)),
      existing: (id, ids, now) => store.messages.existing(id, ids, now),
      recipients: (id, after, now) =>
        shared(`recipients ${id} ${after}`, async () =>
          listRecipients(await store.messages.recipients(id, after, now)),
        ),
      placeInAccount: (id, time) =>
        shared(`time ${id} ${time}`, () => store.messages.placeInAccount(id, time)),
      check: ({ id, accountId }, conditions, range, now, signal) =>
        searched(
          accountId,
          `check ${id} ${JSON.stringify([conditions, range])}`,
          () => store.messages.check(id, conditions, range, now),
          signal,
        ),
      search: (scope, conditions, range, now, signal) =>
        searched(
          scope.accountId,
          `search ${JSON.stringify([scope, conditions, range])}`,
          () => store.messages.search(scope, conditions, range, now),
          signal,
        ),
    },
  };
}

const rangeKey = ({ after, before, limit }: { after: number; before?: number; limit: number }): string =>
  `${after} ${before} ${limit}`;

function isTooLarge(value: unknown): boolean {
  const { content, messages } = (value ?? {}) as Partial<FullMessageRecord & CheckedPage>;
  if (content) return (content.html?.length ?? 0) + (content.text?.length ?? 0) > MAX_KEPT_CONTENT_LENGTH;
  const page = messages ?? value;
  return Array.isArray(page) && page.length > MAX_KEPT_MESSAGES;
}
