import { LRUCache } from 'lru-cache';
import { isSubdomainOf } from '../accounts/domains.ts';
import type { Plans } from '../accounts/plans.ts';
import { CACHE_TTL_MS, type Clock } from '../clock.ts';
import { type AddressedInbox, SINK_MESSAGES } from '../inboxes/records.ts';
import { inboxAddress, parseAddress } from '../mail/address.ts';
import { areDomainsAlike } from '../mail/matching/similar-addresses.ts';
import type { Store } from '../store.ts';
import { assertFits, inboxFull, noSuchInbox, type Recipient } from './delivery.ts';
import type { CaptureTarget } from './smtp-credentials.ts';

const KNOWN_INBOXES = 1_000;

/** The address is in lower case, without a tag. */
export interface Destination {
  address: string;
  domain: string;
}

export interface RecipientDeps {
  store: Store;
  clock: Clock;
  plans: Plans;
  /** Domains that all accounts share, lower case. */
  domains: readonly string[];
  sink: boolean;
}

export class Recipients {
  readonly #deps: RecipientDeps;
  readonly #shared: ReadonlySet<string>;
  readonly #known = new LRUCache<string, { inbox: AddressedInbox; until: number; generation: number }>({
    max: KNOWN_INBOXES,
  });

  constructor(deps: RecipientDeps) {
    this.#deps = deps;
    this.#shared = new Set(deps.domains);
  }

  /** Whether a domain is shared, below a shared one, or a likely typing error of one. */
  isLikeShared(domain: string): boolean {
    const isServed = this.#shared.has(domain) || isSubdomainOf(this.#shared, domain);
    return isServed || this.#deps.domains.some((one) => areDomainsAlike(domain, one));
  }

  /** Undefined for a path without a valid address. `postmaster` needs no domain (RFC 5321 section 4.1.1.3). */
  destinationOf(path: string): Destination | undefined {
    const isBare = path.toLowerCase() === 'postmaster';
    const parsed = parseAddress(isBare ? `${path}@${this.#deps.domains[0]}` : path, { smtputf8: true });
    return parsed && { address: inboxAddress(parsed), domain: parsed.domain };
  }

  async accept(
    path: string,
    declaredBytes: number,
    target: CaptureTarget | null,
    accountId?: string,
  ): Promise<Recipient> {
    const destination = this.destinationOf(path);
    const inbox = target
      ? this.#withRoom(await this.#findTarget(target))
      : await this.#inboxAt(destination, accountId);
    const { maxMessagesPerInbox, maxMessageBytes } = this.#deps.plans.named(inbox.plan);
    assertFits(declaredBytes, maxMessageBytes);
    const address = target ? inbox.address : (destination?.address ?? inbox.address);
    const isSink = inbox.kind === 'sink';
    return {
      inboxId: inbox.inboxId,
      accountId: inbox.accountId,
      address,
      rcptTo: path,
      maxMessages: isSink ? SINK_MESSAGES : maxMessagesPerInbox,
      maxMessageBytes,
      ...(isSink && { evictsOldest: true }),
      ...(inbox.hasFaults && { faultsOf: isSink ? inbox.address : address }),
    };
  }

  stored(address: string): void {
    const cached = this.#cached(address);
    if (cached) cached.messageCount += 1;
  }

  /**
   * Reads the live inbox for an address from the store: the inbox with this address, else the catch-all inbox of the
   * domain, else the sink. Under an account's domain only that account's inboxes count. An address has no inbox while
   * its former inbox, or the catch-all inbox that took its mail, is in quarantine.
   */
  async find(destination: Destination): Promise<AddressedInbox | undefined> {
    const { address, domain } = destination;
    const { store, sink } = this.#deps;
    const isShared = this.#shared.has(domain);
    const owner = isShared ? undefined : (await store.domains.find(domain))?.accountId;
    if (isShared || owner !== undefined) {
      const inbox = await this.#findOwn(address, owner);
      if (inbox) return inbox;
    }
    const isSubdomain = isSubdomainOf(this.#shared, domain);
    if (owner === undefined && !isSubdomain && !sink) return undefined;
    return this.#findTaker(destination, ({ accountId }) =>
      owner === undefined ? isSubdomain : accountId === owner,
    );
  }

  /** Not cached for an owner, because the operator may assign the domain to another account at any time. */
  async #findOwn(address: string, owner: string | undefined): Promise<AddressedInbox | undefined> {
    const { store, clock } = this.#deps;
    const generation = store.generation('inboxes');
    const inbox = await store.inboxes.findByAddress(address, clock.now());
    if (owner !== undefined) return inbox?.accountId === owner ? inbox : undefined;
    if (inbox && generation !== null)
      this.#known.set(address, { inbox, until: clock.monotonic() + CACHE_TTL_MS, generation });
    return inbox;
  }

  /** @param mayTake whether a catch-all inbox or the sink may receive this mail */
  async #findTaker(
    { address, domain }: Destination,
    mayTake: (catchAll: AddressedInbox) => boolean,
  ): Promise<AddressedInbox | undefined> {
    const { store, clock, sink } = this.#deps;
    const takers = await store.inboxes.findTakers(address, clock.now());
    const isOpenTo = ({ inboxId }: AddressedInbox): boolean =>
      takers.ofAddress === undefined || takers.ofAddress.inboxId === inboxId;
    if (takers.ofDomain && !this.#shared.has(domain)) {
      const { live } = takers.ofDomain;
      return live && mayTake(live) && isOpenTo(live) ? live : undefined;
    }
    return sink && takers.sink && isOpenTo(takers.sink) ? takers.sink : undefined;
  }

  /** An inbox that {@link find} returned. Its `messageCount` may be too large. */
  #cached(address: string): AddressedInbox | undefined {
    const { store, clock } = this.#deps;
    const found = this.#known.get(address);
    const isFresh = found?.generation === store.generation('inboxes') && clock.monotonic() < found.until;
    return isFresh && found.inbox.expiresAt > clock.now() ? found.inbox : undefined;
  }

  /** Never rejects on cached data: reads the store first. */
  async #inboxAt(
    destination: Destination | undefined,
    accountId: string | undefined,
  ): Promise<AddressedInbox> {
    if (!destination) throw noSuchInbox();
    const isOwn = (inbox: AddressedInbox): boolean =>
      accountId === undefined || inbox.accountId === accountId;
    const cached = this.#cached(destination.address);
    if (cached && isOwn(cached) && !this.#isFull(cached)) return cached;
    const inbox = await this.find(destination);
    return this.#withRoom(inbox && isOwn(inbox) ? inbox : undefined);
  }

  /** The inbox of an authenticated session; undefined if it is no longer live. */
  async #findTarget({ accountId, inboxId }: CaptureTarget): Promise<AddressedInbox | undefined> {
    const { store, clock } = this.#deps;
    const now = clock.now();
    const [inbox, account, faults = []] = await Promise.all([
      store.inboxes.find(accountId, inboxId, now),
      store.accounts.find(accountId),
      store.faults.read(accountId, inboxId, now),
    ]);
    if (!inbox || inbox.expiresAt <= now || !account) return undefined;
    const { kind, address, messageCount, expiresAt } = inbox;
    const hasFaults = faults.some(({ left }) => left > 0);
    return { inboxId, kind, accountId, plan: account.plan, address, messageCount, expiresAt, hasFaults };
  }

  #withRoom(inbox: AddressedInbox | undefined): AddressedInbox {
    if (!inbox) throw noSuchInbox();
    if (this.#isFull(inbox)) throw inboxFull();
    return inbox;
  }

  #isFull({ kind, plan, messageCount }: AddressedInbox): boolean {
    return kind !== 'sink' && messageCount >= this.#deps.plans.named(plan).maxMessagesPerInbox;
  }
}
