import { LRUCache } from 'lru-cache';
import type { AddressedInbox, Store } from '../store/store.ts';

/** Addresses to which more than one mail comes just now. */
const REMEMBERED = 1_000;
/** What another process changes (the operator's command line) is in force after this half second. */
const REMEMBERED_MS = 500;

interface Known {
  inbox: AddressedInbox;
  generation: number;
  until: number;
}

/**
 * Inboxes that have just got mail, so that a stream of mail to one does not ask the store again and again.
 * What is told of one is what the store would tell now, but for `messageCount`, which may be too large.
 */
export interface KnownInboxes {
  /** The inbox at an address, if it is known and lives. @param now epoch milliseconds */
  get(address: string, now: number): AddressedInbox | undefined;
  /** @param generation that of the store's inboxes, taken before it was asked */
  add(inbox: AddressedInbox, generation: number | null, now: number): void;
  /** A message was stored in the inbox at that address. */
  count(address: string): void;
}

export function createKnownInboxes(store: Pick<Store, 'generation'>): KnownInboxes {
  const known = new LRUCache<string, Known>({ max: REMEMBERED });
  return {
    get(address, now) {
      const found = known.get(address);
      return found && now < found.until && found.generation === store.generation('inboxes')
        ? found.inbox
        : undefined;
    },
    add(inbox, generation, now) {
      if (generation === null) return;
      known.set(inbox.address, { inbox, generation, until: Math.min(now + REMEMBERED_MS, inbox.expiresAt) });
    },
    count(address) {
      const found = known.peek(address);
      if (found) found.inbox.messageCount += 1;
    },
  };
}
