import { isSubdomainOf } from '../accounts/domains.ts';
import { REMEMBERED_MS, Remembered } from '../cache.ts';
import type { Clock } from '../clock.ts';
import type { AddressedInbox, Store } from '../store/contract/index.ts';

/** Addresses to which more than one mail comes just now. */
const KNOWN_INBOXES = 1_000;

/** Where a mail is to go: an address in lower case without a tag, and its domain. */
export interface Place {
  address: string;
  domain: string;
}

/** Finds the inbox that takes mail for an address. */
export interface InboxFinder {
  /**
   * The live inbox for an address, read from the store: the inbox whose own address it is, else the
   * catch-all inbox of the domain. Under an account's domain only that account's inboxes count.
   */
  find(place: Place): Promise<AddressedInbox | undefined>;
  /**
   * What {@link find} found a moment ago and would find again, except that `messageCount` may be too large.
   * The object is the cached one, so that its `messageCount` can be kept up to date.
   */
  remembered(address: string): AddressedInbox | undefined;
}

/** @param shared domains that all accounts share, lower case */
export function createInboxFinder(
  { store, clock }: { store: Pick<Store, 'inboxes' | 'domains' | 'generation'>; clock: Pick<Clock, 'now'> },
  shared: ReadonlySet<string>,
): InboxFinder {
  const known = new Remembered<AddressedInbox>(KNOWN_INBOXES);

  const findOnShared = async ({ address }: Place): Promise<AddressedInbox | undefined> => {
    const now = clock.now();
    const generation = store.generation('inboxes');
    const inbox = await store.inboxes.findByAddress(address, now);
    if (inbox && generation !== null) {
      known.set(address, inbox, Math.min(now + REMEMBERED_MS, inbox.expiresAt), generation);
    }
    return inbox;
  };

  /** Nothing is cached here: the operator may give the domain to another account at any time. */
  const findOnOwned = async (place: Place, owner: string): Promise<AddressedInbox | undefined> => {
    const inbox = await store.inboxes.findByAddress(place.address, clock.now());
    return inbox?.accountId === owner ? inbox : findCatchAll(place, owner);
  };

  const findCatchAll = async (
    { address }: Place,
    owner: string | null,
  ): Promise<AddressedInbox | undefined> => {
    const { ofAddress, ofDomain } = await store.inboxes.findTakers(address, clock.now());
    const inbox = ofDomain?.live;
    if (!inbox || (owner !== null && inbox.accountId !== owner)) return undefined;
    // An address whose own inbox ended is refused during its quarantine, as senders were promised.
    return ofAddress && ofAddress.inboxId !== inbox.inboxId ? undefined : inbox;
  };

  return {
    remembered: (address) => known.get(address, clock.now(), store.generation('inboxes')),

    async find(place) {
      if (shared.has(place.domain)) return findOnShared(place);
      const owned = await store.domains.find(place.domain);
      if (owned) return findOnOwned(place, owned.accountId);
      return isSubdomainOf(shared, place.domain) ? findCatchAll(place, null) : undefined;
    },
  };
}
