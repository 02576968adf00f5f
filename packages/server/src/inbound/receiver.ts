import { LRUCache } from 'lru-cache';
import { isSubdomainOf } from '../accounts/domains.ts';
import type { MetFault } from '../faults/sql.ts';
import type { MailEnvelope } from '../mail/mail.ts';
import { areDomainsAlike } from '../mail/matching/similar-addresses.ts';
import { createRefusalLog } from '../refusals/refusal-log.ts';
import { capturedMail, type FaultPoint, NO_RECIPIENT, type Refusal } from '../refusals/sql.ts';
import type { Store } from '../store.ts';
import { Delivery, type DeliveryDeps } from './delivery.ts';
import { type Recipient, type RecipientDeps, Recipients } from './recipients.ts';
import type { CaptureTarget } from './smtp-credentials.ts';

/** Called by the SMTP session. Methods that return nothing write asynchronously and delay no reply. */
export interface Receiver extends Pick<Delivery, 'deliver'> {
  /**
   * @param address the path of RCPT @param declaredBytes SIZE of MAIL, or 0 @param target of an authenticated session
   * @throws AppError `unknown_recipient` (also expired and deleted), `inbox_full`, `message_too_large`, `unavailable`
   */
  accept(address: string, declaredBytes: number, target?: CaptureTarget | null): Promise<Recipient>;
  /** Consumes one application of the next fault rule, if it is for this point. @throws AppError `unavailable` */
  meetFault(recipient: Recipient, at: FaultPoint, envelope: MailEnvelope): Promise<MetFault | undefined>;
  /** Records when the 250 was sent, for the timeline. */
  replied(messageIds: readonly string[]): void;
  /** Stores a refusal, if the domain is served, a subdomain of a shared one, or a typing error of these. */
  refused(refusal: Refusal): void;
  /** Stores that mail for an address of this server went to the inbox of an authenticated session instead. */
  captured(mail: Omit<Refusal, 'reply'> & Required<Pick<Refusal, 'capturedBy'>>): void;
  /** A MAIL command was rejected for its size. */
  senderRefused(refusal: Omit<Refusal, 'address'>): void;
  handshakeFailed(failure: HandshakeFailure): void;
}

/** By STARTTLS or on the TLS port. */
export interface HandshakeFailure {
  /** Epoch milliseconds. */
  at: number;
  remoteAddress: string;
  /** The name that the client sent before STARTTLS; '' without one. */
  helo: string;
  reason: string;
}

export interface ReceiverDeps extends RecipientDeps, Omit<DeliveryDeps, 'store' | 'onStored'> {
  store: Store;
  /** Called when refusals could not be stored. */
  onRefusalsLost(error: unknown): void;
}

/** Messages whose time of the 250 is known: only in memory, because the reply follows the commit. */
const REPLY_TIMES = 20_000;

export function createReceiver(deps: ReceiverDeps) {
  const { store } = deps;
  const shared = new Set(deps.domains);
  const refusals = createRefusalLog(store.refusals, deps.onRefusalsLost);
  const replyTimes = new LRUCache<string, number>({ max: REPLY_TIMES });
  const recipients = new Recipients(deps);
  const delivery = new Delivery({ ...deps, onStored: (address) => recipients.stored(address) });
  /** Stores a refusal if its address may belong to this server. @param path of the RCPT command */
  const add = (path: string, refusalOf: (address: string) => Refusal): void => {
    const destination = recipients.destinationOf(path);
    if (!destination) return;
    const { address, domain } = destination;
    const isServed = shared.has(domain) || isSubdomainOf(shared, domain);
    if (isServed || deps.domains.some((one) => areDomainsAlike(domain, one)))
      refusals.add(refusalOf(address));
    else refusals.addIf(async () => Boolean(await store.domains.find(domain)), refusalOf(address));
  };
  const receiver: Receiver = {
    accept: (path, declaredBytes, target = null) => recipients.accept(path, declaredBytes, target),
    deliver: (mail) => delivery.deliver(mail),

    meetFault({ inboxId, address, faultsOf = address }, at, { mailFrom, helo, remoteAddress }) {
      const sender = { address: faultsOf, mailFrom, helo, remoteAddress };
      return store.faults.spend(inboxId, at, sender, deps.clock.now());
    },

    replied(messageIds) {
      for (const id of messageIds) replyTimes.set(id, deps.clock.now());
    },

    refused(refusal) {
      add(refusal.address, (address) => ({ ...refusal, address }));
    },

    captured(mail) {
      add(mail.address, (address) => ({ ...mail, address: capturedMail(address), reply: '' }));
    },

    senderRefused(refusal) {
      refusals.add({ ...refusal, address: NO_RECIPIENT });
    },

    handshakeFailed({ at, remoteAddress, helo, reason }) {
      refusals.add({ at, address: NO_RECIPIENT, reply: reason, mailFrom: '', helo, remoteAddress });
    },
  };
  return {
    ...receiver,
    stage: (...mail: Parameters<Delivery['stage']>) => delivery.stage(...mail),
    /** When the 250 was sent, epoch milliseconds; null if unknown. */
    repliedAt: (messageId: string): number | null => replyTimes.get(messageId) ?? null,
    /** Resolves when refusals from before the call can be read. */
    refusalsWritten: () => refusals.flushed(),
    /** Resolves when all deliveries and writes that have begun are complete. */
    async settled(): Promise<void> {
      await delivery.settled();
      await refusals.flushed();
    },
  };
}
