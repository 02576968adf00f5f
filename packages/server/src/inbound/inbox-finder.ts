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

export interface InboxFinderDeps {
  store: Pick<Store, 'inboxes' | 'domains' | 'generation'>;
  clock: Pick<Clock, 'now' | 'monotonic'>;
  /** Domains that all accounts share, lower case. */
  shared: ReadonlySet<string>;
  sink: boolean;
}

export type InboxFinder = ReturnType<typeof createInboxFinder>;

export function createInboxFinder({ store, clock, shared, sink }: InboxFinderDeps) {
  const known = new LRUCache<string, { inbox: AddressedInbox; until: number; generation: number }>({
    max: KNOWN_INBOXES,
  });

  /** Not cached for an owner, because the operator may assign the domain to another account at any time. */
  const findOwn = async (address: string, owner: string | undefined): Promise<AddressedInbox | undefined> => {
    const generation = store.generation('inboxes');
    const inbox = await store.inboxes.findByAddress(address, clock.now());
    if (owner !== undefined) return inbox?.accountId === owner ? inbox : undefined;
    if (inbox && generation !== null)
      known.set(address, { inbox, until: clock.monotonic() + CACHE_TTL_MS, generation });
    return inbox;
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
    /** The cached result of `find`. Its `messageCount` may be too large; the caller may update it. */
    cached(address: string): AddressedInbox | undefined {
      const found = known.get(address);
      const isFresh = found?.generation === store.generation('inboxes') && clock.monotonic() < found.until;
      return isFresh && found.inbox.expiresAt > clock.now() ? found.inbox : undefined;
    },

    /**
     * Reads the live inbox for an address from the store: the inbox with this address, else the catch-all inbox of the
     * domain, else the sink. Under an account's domain only that account's inboxes count. An address has no inbox while
     * its former inbox, or the catch-all inbox that took its mail, is in quarantine.
     */
    async find(destination: Destination): Promise<AddressedInbox | undefined> {
      const { address, domain } = destination;
      const isShared = shared.has(domain);
      const owner = isShared ? undefined : (await store.domains.find(domain))?.accountId;
      if (isShared || owner !== undefined) {
        const inbox = await findOwn(address, owner);
        if (inbox) return inbox;
      }
      const isSubdomain = isSubdomainOf(shared, domain);
      if (owner === undefined && !isSubdomain && !sink) return undefined;
      return findTaker(destination, ({ accountId }) =>
        owner === undefined ? isSubdomain : accountId === owner,
      );
    },
  };
}
