import { LRUCache } from 'lru-cache';
import { isOutside } from '../connection-limiter.ts';
import type { EventBus } from '../events.ts';
import type { MetFault } from '../faults/sql.ts';
import type { MailEnvelope } from '../mail/mail.ts';
import { encodeTrail } from '../mail/trail.ts';
import { Batcher } from '../messages/batcher.ts';
import type { Placed } from '../messages/records.ts';
import type { Readings } from '../reading/readings.ts';
import {
  capturedMail,
  type FaultPoint,
  type NewRefusal,
  NO_RECIPIENT,
  type Refusal,
} from '../refusals/sql.ts';
import {
  assertFits,
  assertStored,
  byInbox,
  type ReceivedMail,
  type Recipient,
  receivedLine,
  type StagedMail,
  withReceivedLine,
} from './delivery.ts';
import { type RecipientDeps, Recipients } from './recipients.ts';
import type { CaptureTarget } from './smtp-credentials.ts';

export interface ReceiverDeps extends RecipientDeps {
  readings: Pick<Readings, 'reserve' | 'begin' | 'ensure'>;
  events: EventBus;
  hostname: string;
  onRefusalsLost(error: unknown): void;
}

/** Messages whose time of the 250 reply is kept. Only in memory, because the reply follows the commit. */
const REPLY_TIMES = 20_000;

type Begun = ReturnType<Readings['begin']>;

/** The one way in for mail: SMTP, injection, imports and the interfaces of providers. */
export class Receiver {
  readonly #deps: ReceiverDeps;
  readonly #recipients: Recipients;
  readonly #refusals: Batcher<NewRefusal, never>;
  readonly #replyTimes = new LRUCache<string, number>({ max: REPLY_TIMES });
  readonly #deliveries = new Set<Promise<unknown>>();

  constructor(deps: ReceiverDeps) {
    this.#deps = deps;
    this.#recipients = new Recipients(deps);
    const write = async (refusals: NewRefusal[]): Promise<never[]> => {
      await deps.store.refusals.add(refusals);
      return [];
    };
    this.#refusals = new Batcher(write, { onLost: deps.onRefusalsLost });
  }

  /**
   * @param declaredBytes SIZE of MAIL, or 0
   * @param accountId restricts recipients to the inboxes of this account
   * @throws AppError `unknown_recipient` (also expired and deleted), `inbox_full`, `message_too_large`, `unavailable`
   */
  accept(
    path: string,
    declaredBytes: number,
    target: CaptureTarget | null = null,
    accountId?: string,
  ): Promise<Recipient> {
    return this.#recipients.accept(path, declaredBytes, target, accountId);
  }

  /**
   * Stores a message; resolves when it is durable. At least one of the results contains a message id.
   * @throws AppError `message_too_large` or `inbox_full` for one recipient, `unknown_recipient` if none is
   * left, `unavailable`
   */
  async deliver({ recipients, received, envelope, trace, trail, outgoing }: ReceivedMail): Promise<Placed[]> {
    for (const { maxMessageBytes } of recipients) assertFits(received.byteLength, maxMessageBytes);
    const { hostname, clock, store } = this.#deps;
    const line = trace ? receivedLine({ hostname, trace, envelope, now: clock.now() }) : '';
    const mail = {
      raw: withReceivedLine(line, received),
      envelope,
      trail: encodeTrail(trail),
      checks: trace?.protocol === 'SMTP' && isOutside(envelope.remoteAddress),
    };
    const [{ accountId, inboxId } = { accountId: '', inboxId: '' }] = recipients;
    return this.#keep(mail, [accountId, inboxId], async (source, begun) => {
      const all = [{ ...mail, source, outgoing, recipients: byInbox(recipients) }];
      const [placed = []] = await store.messages.addBatch(all, clock.now());
      assertStored(placed);
      const stored = placed.filter((place) => 'messageId' in place);
      begun.committed(
        stored.some(({ isRead }) => isRead),
        stored.some(({ deliveries }) => deliveries),
      );
      this.#publish(placed, recipients);
      return placed;
    });
  }

  /** Stores and parses a message that no inbox shows yet; see `messages.stage`. @returns the id of its source */
  stage({ accountId, envelope, received, trail }: StagedMail, stage: string): Promise<number> {
    const mail = { raw: withReceivedLine('', received), envelope, trail: encodeTrail(trail), checks: false };
    const { store, readings } = this.#deps;
    return this.#keep(mail, [accountId, stage], async (source, begun) => {
      await store.messages.stage({ ...mail, source }, accountId, stage);
      begun.committed(false);
      await readings.ensure([source]);
      return source;
    });
  }

  /** Consumes one application of the next fault rule, if it is for this point. @throws AppError `unavailable` */
  meetFault(
    { inboxId, address, faultsOf = address }: Recipient,
    at: FaultPoint,
    { mailFrom, helo, remoteAddress }: MailEnvelope,
  ): Promise<MetFault | undefined> {
    const { store, clock } = this.#deps;
    const sender = { address: faultsOf, mailFrom, helo, remoteAddress };
    return store.faults.spend(inboxId, at, sender, clock.now());
  }

  /**
   * Stores a refusal, or captured mail, later: no reply waits for the disk. Of domains that are not like a shared one,
   * only those of accounts are stored.
   * @param refusal its `address` is the path of RCPT, or NO_RECIPIENT
   */
  refused(refusal: Refusal): void {
    const destination = this.#recipients.destinationOf(refusal.address);
    if (refusal.address === NO_RECIPIENT) this.#refusals.offer(refusal);
    if (!destination) return;
    const { address, domain } = destination;
    this.#refusals.offer({
      ...refusal,
      address: refusal.capturedBy ? capturedMail(address) : address,
      ...(!this.#recipients.isLikeShared(domain) && { ifOwned: domain }),
    });
  }

  refusalsWritten(): Promise<void> {
    return this.#refusals.flushed();
  }

  replied(messageIds: readonly string[]): void {
    for (const id of messageIds) this.#replyTimes.set(id, this.#deps.clock.now());
  }

  /** When the 250 was sent, epoch milliseconds; null if unknown. */
  repliedAt(messageId: string): number | null {
    return this.#replyTimes.get(messageId) ?? null;
  }

  /** Resolves when all deliveries and writes that have begun are complete. */
  async settled(): Promise<void> {
    while (this.#deliveries.size > 0) await Promise.allSettled(this.#deliveries);
    await this.refusalsWritten();
  }

  #keep<T>(
    mail: Parameters<Readings['begin']>[1],
    flow: Parameters<Readings['begin']>[2],
    store: (source: number, begun: Begun) => Promise<T>,
  ): Promise<T> {
    const { readings } = this.#deps;
    const keep = async (): Promise<T> => {
      const source = await readings.reserve();
      const begun = readings.begin(source, mail, flow);
      try {
        return await store(source, begun);
      } catch (error) {
        begun.cancel();
        throw error;
      }
    };
    const running = keep().finally(() => this.#deliveries.delete(running));
    this.#deliveries.add(running);
    return running;
  }

  #publish(placed: readonly Placed[], recipients: readonly Recipient[]): void {
    const { events } = this.#deps;
    for (const place of placed) {
      if (!('messageId' in place)) continue;
      if (place.hasOutcome || (place.deliveries && place.isRead)) events.publishDeliveries();
      const { accountId, inboxId } = place;
      const recipient = recipients.find((one) => one.inboxId === inboxId);
      if (recipient) this.#recipients.stored(recipient.address);
      events.publish({ accountId, inboxId });
    }
  }
}

export type SmtpReceiver = Pick<Receiver, 'accept' | 'deliver' | 'meetFault' | 'refused' | 'replied'>;
