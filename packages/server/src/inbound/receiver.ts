import { isSubdomainOf } from '../accounts/domains.ts';
import type { MetFault } from '../faults/sql.ts';
import type { MailEnvelope } from '../mail/mail.ts';
import { areDomainsAlike } from '../mail/matching/similar-addresses.ts';
import { createRefusalLog } from '../refusals/refusal-log.ts';
import { capturedMail, type FaultPoint, NO_RECIPIENT, type Refusal } from '../refusals/sql.ts';
import type { Store } from '../store.ts';
import { LruCache } from '../workers/ttl-cache.ts';
import { type Delivering, Delivery, type DeliveryDeps, type Staging } from './delivery.ts';
import { type Recipient, type RecipientDeps, Recipients } from './recipients.ts';
import type { CaptureTarget } from './smtp-credentials.ts';

/** The rules of receiving, as the SMTP conversation asks for them. None of the reports delays a reply. */
export interface Receiver extends Delivering {
  /**
   * May mail go to this address?
   * @param address the path of the RCPT command, as given
   * @param declaredBytes the SIZE parameter of the MAIL command, or 0
   * @param target the inbox that the session has authenticated for, which takes mail to any address
   * @throws AppError `unknown_recipient` (one answer for never, expired and deleted), `inbox_full`,
   *   `message_too_large`, `unavailable`
   */
  accept(address: string, declaredBytes: number, target?: CaptureTarget | null): Promise<Recipient>;
  /**
   * Takes one application of a fault rule of a recipient's inbox, if the next one is for this point. It is stored
   * among the refusals.
   * @throws AppError `unavailable`
   */
  meetFault(recipient: Recipient, at: FaultPoint, envelope: MailEnvelope): Promise<MetFault | undefined>;
  /** The 250 for a message was sent, for its timeline. */
  replied(messageIds: readonly string[]): void;
  /**
   * Stores a refusal for the owner's explanations, if its address is on a served domain, or one label below one
   * that all accounts share, or on a domain that is a typing error of one of these.
   */
  refused(refusal: Refusal): void;
  /** Stores that mail for an address of this server went to another inbox, for which its sender had authenticated. */
  captured(mail: Omit<Refusal, 'reply'> & Required<Pick<Refusal, 'capturedBy'>>): void;
  /** Stores that a MAIL command was refused for its size, before any recipient was named. */
  senderRefused(refusal: Omit<Refusal, 'address'>): void;
  /** Stores that a TLS handshake failed. */
  handshakeFailed(failure: HandshakeFailure): void;
}

/** A TLS handshake that failed, by STARTTLS or on the TLS port. */
export interface HandshakeFailure {
  /** Epoch milliseconds. */
  at: number;
  remoteAddress: string;
  /** The name that the client sent before STARTTLS; '' without one. */
  helo: string;
  /** A sentence without a full stop. */
  reason: string;
}

export interface ReceiverDeps extends RecipientDeps, Omit<DeliveryDeps, 'store' | 'onStored'> {
  store: Store;
  /** Called with the error when refusals could not be stored. */
  onRefusalsLost(error: unknown): void;
}

/** What the rest of the process asks of the receiver. */
export interface Settling {
  /** Resolves when all that was begun has been written. */
  settled(): Promise<void>;
  /** Resolves when the refusals that were given before the call can be read. */
  refusalsWritten(): Promise<void>;
  /** When the 250 for a message was sent, epoch milliseconds; null where that is not known. */
  repliedAt(messageId: string): number | null;
}

/**
 * Messages of which the time of the 250 is known. It is in memory, because the reply follows the commit, and few
 * timelines are read, soon after the message came.
 */
const REPLY_TIMES = 20_000;

export function createReceiver(deps: ReceiverDeps): Receiver & Staging & Settling {
  const { store } = deps;
  const shared = new Set(deps.domains);
  const refusals = createRefusalLog(store.refusals, deps.onRefusalsLost);
  const replyTimes = new LruCache<number>(REPLY_TIMES);
  const recipients = new Recipients(deps);
  const delivery = new Delivery({ ...deps, onStored: (address) => recipients.stored(address) });
  /** Stores what concerns an address, as it is named in a RCPT command, if it may be one of this server. */
  const add = (path: string, refusalOf: (address: string) => Refusal): void => {
    const destination = recipients.destinationOf(path);
    if (!destination) return;
    const { address, domain } = destination;
    const isServed = shared.has(domain) || isSubdomainOf(shared, domain);
    if (isServed || deps.domains.some((one) => areDomainsAlike(domain, one)))
      refusals.add(refusalOf(address));
    else refusals.addIf(async () => Boolean(await store.domains.find(domain)), refusalOf(address));
  };
  return {
    accept: (path, declaredBytes, target = null) => recipients.accept(path, declaredBytes, target),
    deliver: (mail) => delivery.deliver(mail),
    stage: (mail, stage) => delivery.stage(mail, stage),

    meetFault({ inboxId, address, faultsOf = address }, at, { mailFrom, helo, remoteAddress }) {
      const sender = { address: faultsOf, mailFrom, helo, remoteAddress };
      return store.faults.spend(inboxId, at, sender, deps.clock.now());
    },

    replied(messageIds) {
      for (const id of messageIds) replyTimes.set(id, deps.clock.now());
    },

    repliedAt: (messageId) => replyTimes.get(messageId) ?? null,

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

    refusalsWritten: () => refusals.flushed(),

    async settled() {
      await delivery.settled();
      await refusals.flushed();
    },
  };
}
