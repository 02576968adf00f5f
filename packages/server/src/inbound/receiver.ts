import { LRUCache } from 'lru-cache';
import { isSubdomainOf } from '../accounts/domains.ts';
import type { Plans } from '../accounts/plans.ts';
import { CACHE_TTL_MS, type Clock } from '../clock.ts';
import { isOutside } from '../connection-limiter.ts';
import { AppError } from '../errors.ts';
import type { EventBus } from '../events.ts';
import type { MetFault } from '../faults/sql.ts';
import { type AddressedInbox, SINK_MESSAGES } from '../inboxes/records.ts';
import { domainOf, inboxAddress, parseAddress } from '../mail/address.ts';
import type { MailEnvelope } from '../mail/mail.ts';
import { areDomainsAlike } from '../mail/matching/similar-addresses.ts';
import { formatDate } from '../mail/mime/date.ts';
import { encodeTrail, type Trail } from '../mail/trail.ts';
import { Batcher } from '../messages/batcher.ts';
import type { NewMailRecipient, Placed } from '../messages/records.ts';
import type { Readings } from '../reading/readings.ts';
import {
  capturedMail,
  type FaultPoint,
  type NewRefusal,
  NO_RECIPIENT,
  type Refusal,
} from '../refusals/sql.ts';
import type { Store } from '../store.ts';
import { messageTooLarge, TRACE_HEADROOM_BYTES } from './incoming-mail.ts';
import type { CaptureTarget } from './smtp-credentials.ts';

const KNOWN_INBOXES = 1_000;
/** Number of reply times in memory. They are not stored: a reply is sent after its message was stored. */
const REPLY_TIMES = 20_000;

export interface Recipient extends Omit<NewMailRecipient, 'rcptTo'> {
  /** Lower case, without a tag (`+…`). */
  address: string;
  /** The path of the RCPT command, unchanged. */
  rcptTo: string;
  maxMessageBytes: number;
  /** Set if the inbox has fault rules: an applied rule is recorded under this address. */
  faultsOf?: string;
}

interface Trace {
  id: string;
  protocol: 'SMTP' | 'HTTP';
  authenticated?: boolean;
}

export interface ReceivedMail {
  envelope: MailEnvelope;
  recipients: Recipient[];
  /**
   * The message without stuffed dots. If TRACE_HEADROOM_BYTES are free in front, the Received line is written there.
   * Do not use the bytes afterwards: a resizable buffer is transferred to another thread.
   */
  received: Uint8Array;
  /** Data for the Received line; null adds none, for example to an imported message. */
  trace: Trace | null;
  trail: Trail;
  outgoing?: string;
}

interface ReceiverDeps {
  store: Store;
  readings: Pick<Readings, 'begin' | 'ensure'>;
  events: EventBus;
  clock: Clock;
  plans: Plans;
  hostname: string;
  /** Domains that all accounts share, lower case. */
  domains: readonly string[];
  sink: boolean;
  onRefusalsLost(error: unknown): void;
}

/** All mail enters through this class: from SMTP, injection, imports and the imitated provider APIs. */
export class Receiver {
  readonly #deps: ReceiverDeps;
  readonly #shared: ReadonlySet<string>;
  readonly #known = new LRUCache<string, { taker: Taker; until: number; generation: number }>({
    max: KNOWN_INBOXES,
  });
  readonly #refusals: Batcher<NewRefusal, never>;
  readonly #replyTimes = new LRUCache<string, number>({ max: REPLY_TIMES });
  readonly #deliveries = new Set<Promise<unknown>>();

  constructor(deps: ReceiverDeps) {
    this.#deps = deps;
    this.#shared = new Set(deps.domains);
    const write = async (refusals: NewRefusal[]): Promise<never[]> => {
      await deps.store.refusals.add(refusals);
      return [];
    };
    this.#refusals = new Batcher(write, { onLost: deps.onRefusalsLost });
  }

  /**
   * Finds the live inbox that takes mail for an address. Never rejects an address on cached data alone.
   * @param declaredBytes 0 if unknown @param target the inbox of an authenticated sender, which takes all mail
   * @param accountId restricts recipients to the inboxes of this account
   * @throws AppError `unknown_recipient`, `inbox_full`, `message_too_large`, `unavailable`
   */
  async accept(
    path: string,
    declaredBytes: number,
    target: CaptureTarget | null = null,
    accountId?: string,
  ): Promise<Recipient> {
    const address = target?.address ?? this.#addressOf(path);
    if (address === undefined) throw noSuchInbox();
    const cached = target ? undefined : this.#cached(address);
    const inbox = cached && !isFull(cached) ? cached : await this.#find(address, target);
    if (!inbox || (accountId ?? inbox.accountId) !== inbox.accountId) throw noSuchInbox();
    if (isFull(inbox)) throw inboxFull();
    const { inboxId, maxMessages, maxMessageBytes, evictsOldest } = inbox;
    if (declaredBytes > maxMessageBytes) throw messageTooLarge(maxMessageBytes);
    return {
      ...{ inboxId, accountId: inbox.accountId, address, rcptTo: path },
      ...{ maxMessages, maxMessageBytes, evictsOldest },
      ...(inbox.hasFaults && { faultsOf: inbox.kind === 'sink' ? inbox.address : address }),
    };
  }

  /**
   * Stores a message for all live recipients, or for none if an inbox is full.
   * @returns the message ids, one for each inbox, when they are durable
   * @throws AppError `message_too_large`, `inbox_full`, `unavailable`, `unknown_recipient` if no recipient is live
   */
  async deliver({ recipients, received, envelope, trace, trail, outgoing }: ReceivedMail): Promise<string[]> {
    for (const { maxMessageBytes } of recipients)
      if (received.byteLength > maxMessageBytes) throw messageTooLarge(maxMessageBytes);
    const { hostname, clock, store } = this.#deps;
    const line = trace ? receivedLine(hostname, trace, envelope, clock.now()) : '';
    const mail = {
      raw: withReceivedLine(line, received),
      envelope,
      trail: encodeTrail(trail),
      checks: trace?.protocol === 'SMTP' && isOutside(envelope.remoteAddress),
    };
    const [{ accountId, inboxId } = { accountId: '', inboxId: '' }] = recipients;
    return this.#keep(mail, [accountId, inboxId], async (begun) => {
      const all = [{ ...mail, outgoing, recipients: byInbox(recipients) }];
      const [placed = []] = await store.messages.addBatch(all, clock.now());
      const stored = placed.filter((place) => 'messageId' in place);
      const [first] = stored;
      if (!first)
        throw placed.some((place) => 'refused' in place && place.refused === 'full')
          ? inboxFull()
          : noSuchInbox();
      begun.committed(
        first.source,
        stored.some(({ deliveries }) => deliveries),
      );
      for (const place of stored) this.#publish(place, recipients);
      return stored.map(({ messageId }) => messageId);
    });
  }

  /** Stores and parses a message of the import `stage`, before its inbox is created. @returns the id of the stored mail */
  stage(
    { envelope, received, trail }: Pick<ReceivedMail, 'envelope' | 'received' | 'trail'>,
    accountId: string,
    stage: string,
  ): Promise<number> {
    const mail = { raw: received, envelope, trail: encodeTrail(trail), checks: false };
    const { store, readings } = this.#deps;
    return this.#keep(mail, [accountId, stage], async (begun) => {
      const source = await store.messages.stage(mail, accountId, stage);
      begun.committed(source);
      await readings.ensure([source]);
      return source;
    });
  }

  /** Applies the inbox's next fault rule once, if that rule is for the point `at`. @throws AppError `unavailable` */
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
   * Queues a refusal, so that no reply waits for the disk. If it has a recipient, it is stored only if the domain belongs
   * to an account, or is a shared domain, a subdomain of one, or similar to one.
   * @param refusal `address`: the path of the RCPT command, or {@link NO_RECIPIENT}
   */
  refused(refusal: Refusal): void {
    if (refusal.address === NO_RECIPIENT) this.#refusals.offer(refusal);
    const address = this.#addressOf(refusal.address);
    if (address === undefined) return;
    const domain = domainOf(address);
    const isServed = this.#shared.has(domain) || isSubdomainOf(this.#shared, domain);
    const isLikeShared = isServed || this.#deps.domains.some((one) => areDomainsAlike(domain, one));
    this.#refusals.offer({
      ...refusal,
      address: refusal.capturedBy ? capturedMail(address) : address,
      ...(!isLikeShared && { ifOwned: domain }),
    });
  }

  refusalsWritten(): Promise<void> {
    return this.#refusals.flushed();
  }

  replied(messageIds: readonly string[]): void {
    for (const id of messageIds) this.#replyTimes.set(id, this.#deps.clock.now());
  }

  /** When the 250 reply was sent, epoch milliseconds; null if unknown. */
  repliedAt(messageId: string): number | null {
    return this.#replyTimes.get(messageId) ?? null;
  }

  async settled(): Promise<void> {
    while (this.#deliveries.size > 0) await Promise.allSettled(this.#deliveries);
    await this.refusalsWritten();
  }

  #keep<T>(
    mail: Parameters<Readings['begin']>[0],
    flow: Parameters<Readings['begin']>[1],
    store: (begun: ReturnType<Readings['begin']>) => Promise<T>,
  ): Promise<T> {
    const { readings } = this.#deps;
    const keep = async (): Promise<T> => {
      const begun = readings.begin(mail, flow);
      try {
        return await store(begun);
      } catch (error) {
        begun.cancel();
        throw error;
      }
    };
    const running = keep().finally(() => this.#deliveries.delete(running));
    this.#deliveries.add(running);
    return running;
  }

  #publish(
    { accountId, inboxId, hasOutcome }: Extract<Placed, { messageId: string }>,
    recipients: readonly Recipient[],
  ): void {
    const { events } = this.#deps;
    if (hasOutcome) events.publishDeliveries();
    const recipient = recipients.find((one) => one.inboxId === inboxId);
    const cached = recipient && this.#cached(recipient.address);
    if (cached) cached.messageCount += 1;
    events.publish({ accountId, inboxId });
  }

  /** Normalises a path: lower case, no tag (`+…`). `postmaster` needs no domain (RFC 5321 4.1.1.3). */
  #addressOf(path: string): string | undefined {
    const isBare = path.toLowerCase() === 'postmaster';
    const parsed = parseAddress(isBare ? `${path}@${this.#deps.domains[0]}` : path, { smtputf8: true });
    return parsed && inboxAddress(parsed);
  }

  /** A recent result of {@link #find}. Its `messageCount` may be outdated. */
  #cached(address: string): Taker | undefined {
    const { store, clock } = this.#deps;
    const found = this.#known.get(address);
    const isFresh = found?.generation === store.generation('inboxes') && clock.monotonic() < found.until;
    return isFresh && found.taker.expiresAt > clock.now() ? found.taker : undefined;
  }

  async #find(address: string, target: CaptureTarget | null): Promise<Taker | undefined> {
    const { store, clock, plans } = this.#deps;
    const generation = store.generation('inboxes');
    const inbox = await (target ? this.#inboxOf(target) : this.#chooseInbox(address));
    if (!inbox) return undefined;
    const { maxMessagesPerInbox, maxMessageBytes } = plans.named(inbox.plan);
    const evictsOldest = inbox.kind === 'sink';
    const maxMessages = evictsOldest ? SINK_MESSAGES : maxMessagesPerInbox;
    const taker = { ...inbox, maxMessages, maxMessageBytes, evictsOldest };
    // Not cached for an account's domain, because the operator may give it to another account.
    if (generation !== null && inbox.address === address && this.#shared.has(domainOf(address)))
      this.#known.set(address, { taker, until: clock.monotonic() + CACHE_TTL_MS, generation });
    return taker;
  }

  /**
   * Reads the live inbox for an address: the one with this address, else the domain's catch-all inbox, else
   * the sink. An account's domain has only inboxes of that account. Addresses in quarantine have none.
   */
  async #chooseInbox(address: string): Promise<AddressedInbox | undefined> {
    const { store, clock, sink } = this.#deps;
    const domain = domainOf(address);
    const isShared = this.#shared.has(domain);
    const isSubdomain = isSubdomainOf(this.#shared, domain);
    const owner = isShared ? undefined : (await store.domains.find(domain))?.accountId;
    if (!isShared && !isSubdomain && !sink && owner === undefined) return undefined;
    const { ofAddress, ofDomain, ...other } = await store.inboxes.findTakers(address, clock.now());
    const isUsable = (inbox: AddressedInbox | undefined, byAllAccounts: boolean) =>
      owner === undefined ? byAllAccounts : inbox?.accountId === owner;
    if (ofAddress?.live && isUsable(ofAddress.live, isShared)) return ofAddress.live;
    let taker = sink ? other.sink : undefined;
    if (ofDomain && !isShared) taker = isUsable(ofDomain.live, isSubdomain) ? ofDomain.live : undefined;
    return ofAddress && ofAddress.inboxId !== taker?.inboxId ? undefined : taker;
  }

  async #inboxOf({ id, address }: CaptureTarget): Promise<AddressedInbox | undefined> {
    const { store, clock } = this.#deps;
    const { ofAddress } = await store.inboxes.findTakers(address, clock.now());
    return ofAddress?.live?.inboxId === id ? ofAddress.live : undefined;
  }
}

type Taker = AddressedInbox & Pick<Recipient, 'maxMessages' | 'maxMessageBytes' | 'evictsOldest'>;

const isFull = ({ evictsOldest, messageCount, maxMessages }: Taker): boolean =>
  !evictsOldest && messageCount >= maxMessages;

export type SmtpReceiver = Pick<Receiver, 'accept' | 'deliver' | 'meetFault' | 'refused' | 'replied'>;

/** Addresses that differ only in their tags have one inbox, which stores the message once for all of them. */
function byInbox(recipients: Recipient[]): NewMailRecipient[] {
  const inboxes = new Map<string, NewMailRecipient>();
  for (const { inboxId, accountId, rcptTo, maxMessages, evictsOldest } of recipients) {
    const known = inboxes.get(inboxId);
    if (known) known.rcptTo.push(rcptTo);
    else inboxes.set(inboxId, { inboxId, accountId, rcptTo: [rcptTo], maxMessages, evictsOldest });
  }
  return [...inboxes.values()];
}

/** Prepends the line, without a copy if {@link TRACE_HEADROOM_BYTES} are free in front of the message. */
function withReceivedLine(line: string, received: Uint8Array): Uint8Array {
  const head = Buffer.from(line, 'latin1');
  const { buffer, byteOffset, byteLength } = received;
  const hasRoom =
    byteOffset === TRACE_HEADROOM_BYTES &&
    buffer.byteLength === byteOffset + byteLength &&
    head.length <= byteOffset;
  if (!hasRoom) return Buffer.concat([head, received]);
  const raw = new Uint8Array(buffer, byteOffset - head.length, head.length + byteLength);
  raw.set(head);
  return raw;
}

const noSuchInbox = (): AppError => new AppError('unknown_recipient', 'No such inbox here');

const inboxFull = (): AppError =>
  new AppError(
    'inbox_full',
    'The inbox holds as many messages as the plan of its account allows. Delete some, or all with DELETE /v1/inboxes/{id}/messages.',
  );

/** A HELO name may contain any characters, but must not end the line or open a comment in a header. */
const UNSAFE_IN_TRACE = /[^A-Za-z0-9.:_[\]-]/g;

/** The trace header (RFC 5321 section 4.4, RFC 3848), with CRLF. Names no recipient, to keep Bcc recipients hidden. */
function receivedLine(hostname: string, trace: Trace, envelope: MailEnvelope, now: number): string {
  const helo = envelope.helo.replace(UNSAFE_IN_TRACE, '?') || 'unknown';
  const peer = envelope.remoteAddress.includes(':')
    ? `IPv6:${envelope.remoteAddress}`
    : envelope.remoteAddress;
  const smtp = `ESMTP${envelope.tls ? 'S' : ''}${trace.authenticated ? 'A' : ''}`;
  const protocol = trace.protocol === 'SMTP' ? smtp : trace.protocol;
  return `Received: from ${helo} ([${peer}])\r\n\tby ${hostname} with ${protocol} id ${trace.id};\r\n\t${formatDate(now)}\r\n`;
}
