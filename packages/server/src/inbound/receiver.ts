import { LRUCache } from 'lru-cache';
import { isSubdomainOf } from '../accounts/domains.ts';
import type { MetFault } from '../faults/sql.ts';
import type { MailEnvelope } from '../mail/mail.ts';
import { areDomainsAlike } from '../mail/matching/similar-addresses.ts';
import { capturedMail, type FaultPoint, NO_RECIPIENT, type Refusal } from '../refusals/sql.ts';
import type { Store } from '../store.ts';
import { Batcher } from '../workers/batcher.ts';
import { Delivery, type DeliveryDeps, type ReceivedMail } from './delivery.ts';
import { type Recipient, type RecipientDeps, Recipients } from './recipients.ts';
import type { CaptureTarget } from './smtp-credentials.ts';

/** By STARTTLS or on the TLS port. `helo` is the name that the client sent before STARTTLS; '' without one. */
export type HandshakeFailure = Pick<Refusal, 'at' | 'remoteAddress' | 'helo'> & { reason: string };

export interface ReceiverDeps extends RecipientDeps, Omit<DeliveryDeps, 'store' | 'onStored'> {
  store: Store;
  /** Called when refusals could not be stored. */
  onRefusalsLost(error: unknown): void;
}

/** Messages whose time of the 250 is known: only in memory, because the reply follows the commit. */
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
     * @param path the address of RCPT @param declaredBytes SIZE of MAIL, or 0 @param target of an authenticated session
     * @throws AppError `unknown_recipient` (also expired and deleted), `inbox_full`, `message_too_large`, `unavailable`
     */
    accept: (path: string, declaredBytes: number, target: CaptureTarget | null = null): Promise<Recipient> =>
      recipients.accept(path, declaredBytes, target),

    deliver: (mail: ReceivedMail) => delivery.deliver(mail),
    stage: (...mail: Parameters<Delivery['stage']>) => delivery.stage(...mail),

    /** Consumes one application of the next fault rule, if it is for this point. @throws AppError `unavailable` */
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
    /** Stores a refusal, if the domain is served, a subdomain of a shared one, or a typing error of these. */
    refused(refusal: Refusal): void {
      add(refusal.address, (address) => ({ ...refusal, address }));
    },

    /** Stores that mail for an address of this server went to the inbox of an authenticated session instead. */
    captured(mail: Omit<Refusal, 'reply'> & Required<Pick<Refusal, 'capturedBy'>>): void {
      add(mail.address, (address) => ({ ...mail, address: capturedMail(address), reply: '' }));
    },

    /** A MAIL command was rejected for its size. */
    senderRefused(refusal: Omit<Refusal, 'address'>): void {
      refusals.add({ ...refusal, address: NO_RECIPIENT });
    },

    handshakeFailed({ at, remoteAddress, helo, reason }: HandshakeFailure): void {
      refusals.add({ at, address: NO_RECIPIENT, reply: reason, mailFrom: '', helo, remoteAddress });
    },

    /** Resolves when refusals from before the call can be read. */
    refusalsWritten: () => refusals.flushed(),
  };
}

/** What the SMTP session calls. Methods that return nothing write asynchronously and delay no reply. */
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
