import type { Clock } from '../../clock.ts';
import type { EventBus } from '../../events.ts';
import type { Filters } from '../../mail/matching/filters.ts';
import type { CheckedPage, CheckRange, InboxRecord, Store } from '../../store/contract/index.ts';
import type { WaitDeps } from './change-signal.ts';
import { SearchTurns } from './search-turns.ts';
import { createSharedReads, type SharedReads } from './shared-reads.ts';
import { WakeQueue } from './wake-queue.ts';

/** What the requests that a server holds share: lists that wait, explained waits and streams. */
export interface HeldDeps extends WaitDeps {
  /** Reads that many of them want at the same time are made once. */
  store: SharedReads;
  events: Pick<EventBus, 'onMessage' | 'onAccountMessage'>;
  turns: SearchTurns;
  /**
   * Checks messages of an inbox, off the main thread and in the account's turn; see `MessageStore.check`.
   * @throws the reason of the signal
   */
  search(
    inbox: InboxRecord,
    conditions: Filters,
    range: CheckRange,
    now: number,
    signal: AbortSignal,
  ): Promise<CheckedPage>;
}

/** Once for each HTTP listener. */
export function createHeldDeps(deps: {
  store: Pick<Store, 'inboxes' | 'messages' | 'refusals' | 'generation'>;
  events: HeldDeps['events'];
  clock: Clock;
}): HeldDeps {
  const { events, clock } = deps;
  const store = createSharedReads(deps.store, clock);
  const turns = new SearchTurns();
  return {
    ...{ store, events, clock, turns, wakes: new WakeQueue() },
    search: ({ id, accountId }, conditions, range, now, signal) =>
      turns.run(accountId, signal, () => store.messages.check(id, conditions, range, now)),
  };
}
