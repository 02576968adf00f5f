import type { Clock } from '../../clock.ts';
import type { EventBus } from '../../events.ts';
import type { Store } from '../../store.ts';
import type { WaitDeps } from './change-signal.ts';
import { createSharedReads, type SharedReads } from './shared-reads.ts';
import { WakeQueue } from './wake-queue.ts';

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
