import { LRUCache } from 'lru-cache';
import { isSubdomainOf } from '../accounts/domains.ts';
import type { Plans } from '../accounts/plans.ts';
import { CACHE_TTL_MS, type Clock } from '../clock.ts';
import type { MetFault } from '../faults/sql.ts';
import { type AddressedInbox, SINK_MESSAGES } from '../inboxes/records.ts';
import { inboxAddress, parseAddress } from '../mail/address.ts';
import type { MailEnvelope } from '../mail/mail.ts';
import { areDomainsAlike } from '../mail/matching/similar-addresses.ts';
import { Batcher } from '../messages/batcher.ts';
import { capturedMail, type FaultPoint, NO_RECIPIENT, type Refusal } from '../refusals/sql.ts';
import type { Store } from '../store.ts';
import {
  assertFits,
  Delivery,
  type DeliveryDeps,
  inboxFull,
  noSuchInbox,
  type ReceivedMail,
  type Recipient,
} from './delivery.ts';
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
    const { inboxId } = inbox;
    const address = target ? inbox.address : (destination?.address ?? inbox.address);
    const holds =
      inbox.kind === 'sink'
        ? { maxMessages: SINK_MESSAGES, evictsOldest: true as const }
        : { maxMessages: maxMessagesPerInbox };
    const recipient = {
      inboxId,
      accountId: inbox.accountId,
      address,
      rcptTo: path,
      ...holds,
      maxMessageBytes,
    };
    return inbox.hasFaults
      ? { ...recipient, faultsOf: inbox.kind === 'sink' ? inbox.address : address }
      : recipient;
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

/**
 * Of a handshake by STARTTLS or on the TLS port. `helo` is the name that the client sent before STARTTLS; ''
 * without one.
 */
export type HandshakeFailure = Pick<Refusal, 'at' | 'remoteAddress' | 'helo'> & { reason: string };

export interface ReceiverDeps extends RecipientDeps, Omit<DeliveryDeps, 'store' | 'onStored'> {
  store: Store;
  /** Called when refusals could not be stored. */
  onRefusalsLost(error: unknown): void;
}

/** Messages whose time of the 250 reply is kept. Only in memory, because the reply follows the commit. */
const REPLY_TIMES = 20_000;

export function createReceiver(deps: ReceiverDeps) {
  const { store, clock } = deps;
  const replyTimes = new LRUCache<string, number>({ max: REPLY_TIMES });
  const recipients = new Recipients(deps);
  const delivery = new Delivery({ ...deps, onStored: (address) => recipients.stored(address) });
  const { refusalsWritten, ...reports } = createReports(deps, recipients);
  return {
    ...reports,
    refusalsWritten,

    /**
     * @param path the address of RCPT
     * @param declaredBytes SIZE of MAIL, or 0
     * @param target of an authenticated session
     * @param accountId restricts recipients to the inboxes of this account
     * @throws AppError `unknown_recipient` (also expired and deleted), `inbox_full`, `message_too_large`, `unavailable`
     */
    accept: (
      path: string,
      declaredBytes: number,
      target: CaptureTarget | null = null,
      accountId?: string,
    ): Promise<Recipient> => recipients.accept(path, declaredBytes, target, accountId),

    deliver: (mail: ReceivedMail) => delivery.deliver(mail),
    stage: (...mail: Parameters<Delivery['stage']>) => delivery.stage(...mail),

    /**
     * Consumes one application of the next fault rule, if that rule is for this point.
     * @throws AppError `unavailable`
     */
    meetFault(
      { inboxId, address, faultsOf = address }: Recipient,
      at: FaultPoint,
      { mailFrom, helo, remoteAddress }: MailEnvelope,
    ): Promise<MetFault | undefined> {
      const sender = { address: faultsOf, mailFrom, helo, remoteAddress };
      return store.faults.spend(inboxId, at, sender, clock.now());
    },

    /** Records when the 250 was sent, for the timeline. */
    replied(messageIds: readonly string[]): void {
      for (const id of messageIds) replyTimes.set(id, clock.now());
    },

    /** When the 250 was sent, epoch milliseconds; null if unknown. */
    repliedAt: (messageId: string): number | null => replyTimes.get(messageId) ?? null,
    /** Resolves when all deliveries and writes that have begun are complete. */
    async settled(): Promise<void> {
      await delivery.settled();
      await refusalsWritten();
    },
  };
}

function createReports({ store, domains, onRefusalsLost }: ReceiverDeps, recipients: Recipients) {
  const shared = new Set(domains);
  const refusals = createRefusalLog(store.refusals, onRefusalsLost);
  /** Stores a refusal if its address may belong to this server. @param path of the RCPT command */
  const add = (path: string, refusalOf: (address: string) => Refusal): void => {
    const destination = recipients.destinationOf(path);
    if (!destination) return;
    const { address, domain } = destination;
    const isServed = shared.has(domain) || isSubdomainOf(shared, domain);
    if (isServed || domains.some((one) => areDomainsAlike(domain, one))) refusals.add(refusalOf(address));
    else refusals.addIf(async () => Boolean(await store.domains.find(domain)), refusalOf(address));
  };
  return {
    /** Stores a refusal if its domain is served, a subdomain of a shared domain, or a likely typing error of one. */
    refused(refusal: Refusal): void {
      add(refusal.address, (address) => ({ ...refusal, address }));
    },

    /** Stores that mail for an address of this server went to the inbox of an authenticated session instead. */
    captured(mail: Omit<Refusal, 'reply'> & Required<Pick<Refusal, 'capturedBy'>>): void {
      add(mail.address, (address) => ({ ...mail, address: capturedMail(address), reply: '' }));
    },

    /** Stores a refusal of a MAIL command, such as for its size. */
    senderRefused(refusal: Omit<Refusal, 'address'>): void {
      refusals.add({ ...refusal, address: NO_RECIPIENT });
    },

    handshakeFailed({ at, remoteAddress, helo, reason }: HandshakeFailure): void {
      refusals.add({ at, address: NO_RECIPIENT, reply: reason, mailFrom: '', helo, remoteAddress });
    },

    /** Resolves when refusals reported before the call can be read. */
    refusalsWritten: () => refusals.flushed(),
  };
}

/** The interface for SMTP sessions. Methods that return nothing write asynchronously and delay no reply. */
export type Receiver = Omit<
  ReturnType<typeof createReceiver>,
  'stage' | 'repliedAt' | 'refusalsWritten' | 'settled'
>;

/** Concurrent look-ups of {@link RefusalLog.addIf}: a flood of refusals must not become a flood of queries. */
const MAX_LOOKUPS = 1_000;

/**
 * Persists refusals asynchronously; the SMTP reply never waits for the disk.
 * @param onLost called with the error of a failed write or look-up, whose refusals are lost
 */
export function createRefusalLog(store: Pick<Store['refusals'], 'add'>, onLost: (error: unknown) => void) {
  const write = async (refusals: Refusal[]): Promise<never[]> => {
    await store.add(refusals);
    return [];
  };
  const batcher = new Batcher(write, { onLost });
  const lookups = new Set<Promise<void>>();

  const lookUp = async (isWanted: () => Promise<boolean>, refusal: Refusal): Promise<void> => {
    try {
      if (await isWanted()) batcher.offer(refusal);
    } catch (error) {
      onLost(error);
    }
  };

  return {
    add: (refusal: Refusal): void => batcher.offer(refusal),
    addIf(isWanted: () => Promise<boolean>, refusal: Refusal): void {
      if (lookups.size === MAX_LOOKUPS) return;
      const ended = lookUp(isWanted, refusal).finally(() => lookups.delete(ended));
      lookups.add(ended);
    },
    /** Resolves when everything that was added before the call has been passed to the store. */
    async flushed(): Promise<void> {
      await Promise.all(lookups);
      await batcher.flushed();
    },
  };
}
