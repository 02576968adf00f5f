import type { Clock } from '../../clock.ts';
import type { EventBus } from '../../events.ts';
import type { InboxRecord } from '../../inboxes/records.ts';
import type { Filters } from '../../mail/matching/filters.ts';
import { createSharing, type Store } from '../../store.ts';
import type { CheckRange } from '../records.ts';
import { createTurns } from '../turns.ts';
import { createWakes, type WaitDeps } from './change-signal.ts';

/** Number of cached results at which the cache is cleared. A page of summaries takes about 50 KB. */
const MAX_RESULTS = 100;
/** Largest page that callers share. A default page reads 51 rows. */
const MAX_SHARED_ROWS = 60;
/** Steps of searches that run concurrently. One account has at most two, so that others do not wait for it. */
const MAX_SEARCHES = 3;

/** For searches without a signal, which are short and run to their end. */
const NEVER = new AbortController().signal;

export type SharedReads = ReturnType<typeof createSharedReads>;

interface Range {
  after: number;
  before?: number;
  limit: number;
}

export function createSharedReads(
  store: Pick<Store, 'messages' | 'refusals' | 'generation'>,
  clock: Pick<Clock, 'monotonic'>,
) {
  const { messages, refusals } = store;
  const shared = createSharing(store, clock, MAX_RESULTS);
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
      recent: (after: number, now: number) => shared(`recent ${after}`, () => refusals.recent(after, now)),
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
      recipients: (id: string, after: number, now: number) =>
        shared(`recipients ${id} ${after}`, () => messages.recipients(id, after, now)),
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

/** Dependencies shared by all held requests: lists that wait, explained waits and streams. */
export interface HeldDeps extends WaitDeps {
  store: SharedReads & { inboxes: Pick<Store['inboxes'], 'find'> };
  events: Pick<EventBus, 'onMessage' | 'onAccountMessage'>;
}

/** One instance per HTTP listener. @param findInbox `inboxes.find` with the cache that all requests share */
export function createHeldDeps(
  deps: {
    store: Pick<Store, 'messages' | 'refusals' | 'generation'>;
    events: HeldDeps['events'];
    clock: Clock;
  },
  findInbox: Store['inboxes']['find'],
): HeldDeps {
  const { events, clock } = deps;
  const store = { ...createSharedReads(deps.store, clock), inboxes: { find: findInbox } };
  return { events, clock, store, wakes: createWakes() };
}
