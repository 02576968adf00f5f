import { isSubdomainOf } from '../accounts/domains.ts';
import type { Clock } from '../clock.ts';
import type { AddressedInbox } from '../inboxes/records.ts';
import type { Store } from '../store.ts';
import { CACHE_TTL_MS, TtlCache } from '../workers/ttl-cache.ts';

/** Cached addresses: those that receive more than one message at the same time. */
const KNOWN_INBOXES = 1_000;

/** Where a mail is to go: an address in lower case without a tag, and its domain. */
export interface Destination {
  address: string;
  domain: string;
}

/** Finds the inbox that takes mail for an address. */
export interface InboxFinder {
  /**
   * The live inbox for an address, read from the store: the inbox whose own address it is, else the
   * catch-all inbox of the domain, else the sink. Under an account's domain only that account's inboxes
   * count. During the quarantine after its end, the address of an inbox has no inbox, so that senders get the
   * 550 that they were promised; nor has any address of a catch-all inbox that ended.
   */
  find(destination: Destination): Promise<AddressedInbox | undefined>;
  /**
   * What {@link find} found a moment ago and would find again, except that `messageCount` may be too large.
   * The object is the cached one, so that its `messageCount` can be kept up to date.
   */
  cached(address: string): AddressedInbox | undefined;
}

export interface InboxFinderDeps {
  store: Pick<Store, 'inboxes' | 'domains' | 'generation'>;
  clock: Pick<Clock, 'now' | 'monotonic'>;
  /** Domains that all accounts share, lower case. */
  shared: ReadonlySet<string>;
  /** Whether the sink takes what no other inbox takes. */
  sink: boolean;
}

export function createInboxFinder({ store, clock, shared, sink }: InboxFinderDeps): InboxFinder {
  const known = new TtlCache<AddressedInbox>(KNOWN_INBOXES);

  const findOnShared = async ({ address }: Destination): Promise<AddressedInbox | undefined> => {
    const now = clock.now();
    const generation = store.generation('inboxes');
    const inbox = await store.inboxes.findByAddress(address, now);
    if (inbox && generation !== null) {
      known.set(address, inbox, clock.monotonic() + CACHE_TTL_MS, generation);
    }
    return inbox;
  };

  /** Nothing is cached here: the operator may give the domain to another account at any time. */
  const findOnOwned = async (
    { address }: Destination,
    owner: string,
  ): Promise<AddressedInbox | undefined> => {
    const inbox = await store.inboxes.findByAddress(address, clock.now());
    return inbox?.accountId === owner ? inbox : undefined;
  };

  /**
   * What takes mail for an address that no live inbox has as its own.
   * @param mayTake whether a catch-all inbox of the domain may take its mail
   */
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
      const inbox = known.get(address, clock.monotonic(), store.generation('inboxes'));
      return inbox && inbox.expiresAt > clock.now() ? inbox : undefined;
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
