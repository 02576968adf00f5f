import { CACHE_TTL_MS, type Clock } from '../../clock.ts';
import type { EventBus } from '../../events.ts';
import type { InboxRecord } from '../../inboxes/records.ts';
import type { Filters } from '../../mail/matching/filters.ts';
import { listRecipients } from '../../mail/matching/similar-addresses.ts';
import type { Store } from '../../store.ts';
import type { CheckRange } from '../records.ts';
import { createTurns } from '../turns.ts';
import { type WaitDeps, WakeQueue } from './change-signal.ts';

/** Cached results: at this number all are dropped. A page of summaries takes about 50 KB. */
const MAX_RESULTS = 100;
/** Most rows of a read that several callers share. A default page has 51. */
const MAX_SHARED_ROWS = 60;
/** Steps of searches at the same time. One account has at most two, so that others do not wait for it. */
const MAX_SEARCHES = 3;

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
 * @param maxResults all are dropped at this number
 */
export function createSharing(
  generationOf: Store['generation'],
  clock: Pick<Clock, 'monotonic'>,
  maxResults = MAX_RESULTS,
) {
  const results = new Map<string, Promise<unknown>>();
  const queued = createQueue();
  let generation: number | null = null;
  let until = 0;
  return <T>(key: string, read: () => Promise<T>): Promise<T> => {
    const [current, now] = [generationOf(), clock.monotonic()];
    if (current === null) return queued(key, read);
    if (current !== generation || now >= until || results.size >= maxResults) {
      results.clear();
      generation = current;
      until = now + CACHE_TTL_MS;
    }
    const known = results.get(key);
    if (known) return known as Promise<T>;
    const result = read();
    results.set(key, result);
    result.catch(() => results.delete(key));
    return result;
  };
}

export type SharedReads = ReturnType<typeof createSharedReads>;

interface Range {
  after: number;
  before?: number;
  limit: number;
}

/** Of one HTTP listener. */
export function createSharedReads(
  store: Pick<Store, 'messages' | 'refusals' | 'generation'>,
  clock: Pick<Clock, 'monotonic'>,
) {
  const { messages, refusals } = store;
  const shared = createSharing(() => store.generation(), clock);
  const inTurn = createTurns(MAX_SEARCHES);
  const paged = <T>(name: string, read: () => Promise<T>, id: string, range: Range): Promise<T> => {
    const { after, before, limit } = range;
    return limit > MAX_SHARED_ROWS ? read() : shared(`${name} ${id} ${after} ${before} ${limit}`, read);
  };
  /** A step of a search in the account's turn. @throws the reason of the signal */
  const searched = <T>(accountId: string, step: () => Promise<T>, signal = NEVER): Promise<T> =>
    inTurn(accountId, () => {
      signal.throwIfAborted();
      return step();
    });
  type Messages = Store['messages'];

  return {
    refusals: {
      /** The refused recipients as a parsed list, so that callers share the parsing as well as the query. */
      recent: (after: number, now: number) =>
        shared(`recent ${after}`, async () => listRecipients(await refusals.recent(after, now))),
    },
    messages: {
      find: (...of: Parameters<Messages['find']>) => messages.find(...of),
      existing: (...of: Parameters<Messages['existing']>) => messages.existing(...of),
      placeInAccount: (...of: Parameters<Messages['placeInAccount']>) => messages.placeInAccount(...of),
      listRows: (...of: Parameters<Messages['listRows']>) =>
        paged('rows', () => messages.listRows(...of), of[0], of[1]),
      listAfter: (...of: Parameters<Messages['listAfter']>) =>
        paged('after', () => messages.listAfter(...of), of[0], of[1]),
      listByAccount: (...of: Parameters<Messages['listByAccount']>) =>
        paged('account', () => messages.listByAccount(...of), of[0], of[1]),
      listNewest: (...of: Parameters<Messages['listNewest']>) =>
        paged('newest', () => messages.listNewest(...of), of[0], of[1]),
      newestInAccount: (id: string) => shared(`place ${id}`, () => messages.newestInAccount(id)),
      /** The recipients of the inbox's mail as a parsed list, so that callers share the parsing as well as the query. */
      recipients: (id: string, after: number, now: number) =>
        shared(`recipients ${id} ${after}`, async () =>
          listRecipients(await messages.recipients(id, after, now)),
        ),
      check: (
        { id, accountId }: Pick<InboxRecord, 'id' | 'accountId'>,
        conditions: Filters,
        range: CheckRange,
        now: number,
        signal?: AbortSignal,
      ) => searched(accountId, () => messages.check(id, conditions, range, now), signal),
      search: (
        ...[scope, conditions, range, now, signal]: [...Parameters<Messages['search']>, AbortSignal?]
      ) => searched(scope.accountId, () => messages.search(scope, conditions, range, now), signal),
    },
  };
}

/** Shared by all held requests: lists that wait, explained waits and streams. */
export interface HeldDeps extends WaitDeps {
  store: SharedReads & { inboxes: Pick<Store['inboxes'], 'find'> };
  events: Pick<EventBus, 'onMessage' | 'onAccountMessage'>;
}

/** For one HTTP listener. @param findInbox `inboxes.find` from the cache that all requests share */
export function createHeldDeps(
  deps: {
    store: Pick<Store, 'messages' | 'refusals' | 'generation'>;
    events: HeldDeps['events'];
    clock: Clock;
  },
  findInbox: Store['inboxes']['find'],
): HeldDeps {
  const { events, clock } = deps;
  const reads = createSharedReads(deps.store, clock);
  const store = { ...reads, inboxes: { find: findInbox } };
  return { events, clock, store, wakes: new WakeQueue() };
}
