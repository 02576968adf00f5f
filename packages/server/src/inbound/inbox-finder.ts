import { LRUCache } from 'lru-cache';
import { isSubdomainOf } from '../accounts/domains.ts';
import { CACHE_TTL_MS, type Clock } from '../clock.ts';
import type { AddressedInbox } from '../inboxes/records.ts';
import type { Store } from '../store.ts';

const KNOWN_INBOXES = 1_000;

/** The address is in lower case, without a tag. */
export interface Destination {
  address: string;
  domain: string;
}

export interface InboxFinder {
  /**
   * Reads the live inbox for an address from the store: the inbox with this address, else the catch-all inbox of the
   * domain, else the sink. Under an account's domain only that account's inboxes count. An address has no inbox while
   * its former inbox, or the catch-all inbox that took its mail, is in quarantine.
   */
  find(destination: Destination): Promise<AddressedInbox | undefined>;
  /** The cached result of {@link find}. Its `messageCount` may be too large; the caller may update it. */
  cached(address: string): AddressedInbox | undefined;
}

export interface InboxFinderDeps {
  store: Pick<Store, 'inboxes' | 'domains' | 'generation'>;
  clock: Pick<Clock, 'now' | 'monotonic'>;
  /** Domains that all accounts share, lower case. */
  shared: ReadonlySet<string>;
  sink: boolean;
}

export function createInboxFinder({ store, clock, shared, sink }: InboxFinderDeps): InboxFinder {
  const known = new LRUCache<string, { inbox: AddressedInbox; until: number; generation: number }>({
    max: KNOWN_INBOXES,
  });

  const findOnShared = async ({ address }: Destination): Promise<AddressedInbox | undefined> => {
    const now = clock.now();
    const generation = store.generation('inboxes');
    const inbox = await store.inboxes.findByAddress(address, now);
    if (inbox && generation !== null) {
      known.set(address, { inbox, until: clock.monotonic() + CACHE_TTL_MS, generation });
    }
    return inbox;
  };

  /** Not cached, because the operator may assign the domain to another account at any time. */
  const findOnOwned = async (
    { address }: Destination,
    owner: string,
  ): Promise<AddressedInbox | undefined> => {
    const inbox = await store.inboxes.findByAddress(address, clock.now());
    return inbox?.accountId === owner ? inbox : undefined;
  };

  /** @param mayTake whether a catch-all inbox may take this mail */
  const findTaker = async (
    { address, domain }: Destination,
    mayTake: (catchAll: AddressedInbox) => boolean,
  ): Promise<AddressedInbox | undefined> => {
    const takers = await store.inboxes.findTakers(address, clock.now());
    const ofDomain = shared.has(domain) ? undefined : takers.ofDomain;
    const isOpenTo = ({ inboxId }: AddressedInbox): boolean =>
      takers.ofAddress === undefined || takers.ofAddress.inboxId === inboxId;
    if (ofDomain) {
      const { live } = ofDomain;
      return live && mayTake(live) && isOpenTo(live) ? live : undefined;
    }
    return sink && takers.sink && isOpenTo(takers.sink) ? takers.sink : undefined;
  };

  return {
    cached: (address) => {
      const found = known.get(address);
      const isFresh = found?.generation === store.generation('inboxes') && clock.monotonic() < found.until;
      return isFresh && found.inbox.expiresAt > clock.now() ? found.inbox : undefined;
    },

    async find(destination) {
      if (shared.has(destination.domain)) {
        const inbox = await findOnShared(destination);
        return inbox ?? (sink ? findTaker(destination, () => false) : undefined);
      }
      const owned = await store.domains.find(destination.domain);
      if (owned) {
        const isOwners = ({ accountId }: AddressedInbox): boolean => accountId === owned.accountId;
        return (await findOnOwned(destination, owned.accountId)) ?? findTaker(destination, isOwners);
      }
      const isSubdomain = isSubdomainOf(shared, destination.domain);
      return isSubdomain || sink ? findTaker(destination, () => isSubdomain) : undefined;
    },
  };
}
