import { isSubdomainOf } from '../accounts/domains.ts';
import type { Plans } from '../accounts/plans.ts';
import type { Clock } from '../clock.ts';
import { AppError } from '../errors.ts';
import type { EventBus } from '../events.ts';
import { inboxAddress, parseAddress } from '../mail/address.ts';
import type {
  AddressedInbox,
  MailEnvelope,
  NewMailRecipient,
  Placed,
  Refusal,
  Store,
} from '../store/contract/index.ts';
import { NO_RECIPIENT } from '../store/contract/messages.ts';
import { SINK_MESSAGES } from '../store/contract/retention.ts';
import type { Authenticating } from './authentication/authenticator.ts';
import { createInboxFinder, type Place } from './inbox-finder.ts';
import type { Parsing } from './parsing/parser-pool.ts';
import { receivedLine, TRACE_HEADROOM_BYTES, type Trace } from './received-line.ts';
import { createRefusalLog } from './refusal-log.ts';
import type { CaptureTarget } from './smtp-credentials.ts';

/** An address of a RCPT that may receive; what `take` needs to know of it. */
export interface Recipient {
  inboxId: string;
  accountId: string;
  /** Lower case, without a tag. */
  address: string;
  /** As the RCPT command gave it. */
  rcptTo: string;
  maxMessages: number;
  /** At `maxMessages` the oldest message is dropped, and none refused. */
  evictsOldest?: true;
  maxMessageBytes: number;
}

/** The rules of receiving, as the SMTP conversation asks for them. */
export interface Receiver {
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
   * Takes a mail in. Resolves when it is on stable storage and readable by everyone, and only then
   * may the sender hear 250.
   * @param received the bytes between DATA and its end, dots unstuffed, nothing else changed; with
   *   TRACE_HEADROOM_BYTES in front of them in a buffer of their own the Received line is written there,
   *   and a resizable buffer is given away to the store. Read until this settles
   * @param session the SMTP session's id, for the Received line and the log
   * @param signal aborted when the connection is closed; nothing is stored then if reading has not begun
   * @throws AppError `message_too_large` or `inbox_full` for one of the recipients, `unknown_recipient`
   *   when none of them is there any more, `unavailable`
   */
  take(
    envelope: MailEnvelope,
    recipients: Recipient[],
    received: Uint8Array,
    session: string,
    signal?: AbortSignal,
  ): Promise<void>;
  /**
   * Remembers a refusal for the owner's explanations, if its address is on a served domain or one label
   * below one that all accounts share; never throws and never delays the reply.
   */
  refused(refusal: Refusal): void;
  /** Stores that a TLS handshake failed, for explanations; as {@link Receiver.refused} otherwise. */
  handshakeFailed(failure: HandshakeFailure): void;
}

/** A TLS handshake that failed, by STARTTLS or on the TLS port. */
export interface HandshakeFailure {
  /** Epoch milliseconds. */
  at: number;
  remoteAddress: string;
  /** A sentence without a full stop. */
  reason: string;
}

export interface ReceiverDeps {
  store: Store;
  parsing: Pick<Parsing, 'parse'>;
  /** Null where no sender is checked. */
  authenticating: Pick<Authenticating, 'check'> | null;
  events: EventBus;
  clock: Clock;
  plans: Plans;
  /** The name in our Received lines. */
  hostname: string;
  /** Domains that all accounts share, lower case; those of single accounts are in the store. */
  domains: readonly string[];
  /** Whether the sink takes what no other inbox takes. */
  sink: boolean;
  /** Told when refusals could not be kept. */
  onRefusalsLost(error: unknown): void;
}

/** A mail whose recipients were accepted, as it came in. */
export interface ReceivedMail {
  envelope: MailEnvelope;
  recipients: Recipient[];
  /** See {@link Receiver.take}. */
  received: Uint8Array;
  trace: Trace;
  /** Aborted when the sender left: the mail is dropped if reading it has not begun. */
  signal?: AbortSignal | undefined;
}

/** The way in for mail of every protocol. */
export interface Delivering {
  /**
   * {@link Receiver.take} for any protocol. The sender is checked (SPF, DKIM, DMARC) only over SMTP.
   * @returns what became of each inbox; at least one has the mail
   */
  deliver(mail: ReceivedMail): Promise<Placed[]>;
}

/** What the rest of the process asks of the receiver. */
export interface Settling {
  /** Resolves when all that was begun has been written. */
  settled(): Promise<void>;
  /** Resolves when the refusals that were given before the call can be read. */
  refusalsWritten(): Promise<void>;
}

export function createReceiver(deps: ReceiverDeps): Receiver & Delivering & Settling {
  const { store, parsing, authenticating, events, clock, plans, hostname } = deps;
  const shared = new Set(deps.domains);
  const commits = new Set<Promise<unknown>>();
  const refusals = createRefusalLog(store.refusals, deps.onRefusalsLost);

  const inboxes = createInboxFinder({ store, clock, shared, sink: deps.sink });

  const isFull = ({ kind, plan, messageCount }: AddressedInbox): boolean =>
    kind !== 'sink' && messageCount >= plans.named(plan).maxMessagesPerInbox;

  /** The inbox of an authenticated session, if it is still live; found by its id, whatever its domain is. */
  const findTarget = async ({ accountId, inboxId }: CaptureTarget): Promise<AddressedInbox | undefined> => {
    const now = clock.now();
    const [inbox, account] = await Promise.all([
      store.inboxes.find(accountId, inboxId, now),
      store.accounts.find(accountId),
    ]);
    if (!inbox || inbox.expiresAt <= now || !account) return undefined;
    const { kind, address, messageCount, expiresAt } = inbox;
    return { inboxId, kind, accountId, plan: account.plan, address, messageCount, expiresAt };
  };

  const withRoom = (inbox: AddressedInbox | undefined): AddressedInbox => {
    if (!inbox) throw noSuchInbox();
    if (isFull(inbox)) throw inboxFull();
    return inbox;
  };

  /** Never rejects on cached data: reads the store first. */
  const inboxAt = async (place: Place | undefined): Promise<AddressedInbox> => {
    if (!place) throw noSuchInbox();
    const last = inboxes.remembered(place.address);
    if (last && !isFull(last)) return last;
    return withRoom(await inboxes.find(place));
  };

  /** Undefined for a path that is not an address. `postmaster` may stand alone (RFC 5321 section 4.1.1.3). */
  const placeOf = (path: string): Place | undefined => {
    const isBare = path.toLowerCase() === 'postmaster';
    const parsed = parseAddress(isBare ? `${path}@${deps.domains[0]}` : path, { smtputf8: true });
    return parsed && { address: inboxAddress(parsed), domain: parsed.domain };
  };

  const deliver = async ({
    envelope,
    recipients,
    received,
    trace,
    signal,
  }: ReceivedMail): Promise<Placed[]> => {
    for (const { maxMessageBytes } of recipients) assertFits(received.byteLength, maxMessageBytes);
    const raw = withReceivedLine(receivedLine({ hostname, trace, envelope, now: clock.now() }), received);
    const isChecked = trace.protocol === 'SMTP' && authenticating !== null;
    const [parsed, authentication] = await Promise.all([
      parsing.parse(raw, {
        flow: [recipients[0]?.accountId ?? '', envelope.remoteAddress, trace.id],
        signal,
      }),
      isChecked ? authenticating.check(envelope, received) : null,
    ]);
    const mail = { ...parsed, raw, envelope, authentication, recipients: byInbox(recipients) };
    const commit = store.messages.addBatch([mail], clock.now()).finally(() => commits.delete(commit));
    commits.add(commit);
    const [placed = []] = await commit;
    assertSomeoneHasIt(placed);
    for (const place of placed) {
      if ('deliveries' in place) events.publishDeliveries();
      if (!('messageId' in place)) continue;
      const last = inboxes.remembered(
        recipients.find(({ inboxId }) => inboxId === place.inboxId)?.address ?? '',
      );
      if (last) last.messageCount += 1;
      events.publish({ accountId: place.accountId, inboxId: place.inboxId });
    }
    return placed;
  };

  return {
    deliver,

    async accept(path, declaredBytes, target = null) {
      const place = placeOf(path);
      const inbox = target ? withRoom(await findTarget(target)) : await inboxAt(place);
      const { maxMessagesPerInbox, maxMessageBytes } = plans.named(inbox.plan);
      assertFits(declaredBytes, maxMessageBytes);
      const { inboxId, accountId } = inbox;
      const address = target ? inbox.address : (place?.address ?? inbox.address);
      const holds =
        inbox.kind === 'sink'
          ? { maxMessages: SINK_MESSAGES, evictsOldest: true as const }
          : { maxMessages: maxMessagesPerInbox };
      return { inboxId, accountId, address, rcptTo: path, ...holds, maxMessageBytes };
    },

    async take(envelope, recipients, received, session, signal) {
      await deliver({ envelope, recipients, received, trace: { id: session, protocol: 'SMTP' }, signal });
    },

    refused(refusal) {
      const place = placeOf(refusal.address);
      if (!place) return;
      const { address, domain } = place;
      if (shared.has(domain) || isSubdomainOf(shared, domain)) refusals.add({ ...refusal, address });
      else refusals.addIf(async () => Boolean(await store.domains.find(domain)), { ...refusal, address });
    },

    handshakeFailed({ at, remoteAddress, reason }) {
      refusals.add({ at, address: NO_RECIPIENT, reply: reason, mailFrom: '', helo: '', remoteAddress });
    },

    refusalsWritten: () => refusals.flushed(),

    async settled() {
      while (commits.size > 0) await Promise.allSettled(commits);
      await refusals.flushed();
    },
  };
}

const noSuchInbox = () => new AppError('unknown_recipient', 'No such inbox here');
export const inboxFull = (): AppError =>
  new AppError(
    'inbox_full',
    'The inbox holds as many messages as the plan of its account allows. Delete some, or all with DELETE /v1/inboxes/{id}/messages.',
  );

/** @param limit bytes */
export const messageTooLarge = (limit: number): AppError =>
  new AppError(
    'message_too_large',
    `The message is larger than ${limit} bytes, the limit of the plan of the inbox's account. Send a smaller one.`,
  );

function assertFits(bytes: number, limit: number): void {
  if (bytes <= limit) return;
  throw messageTooLarge(limit);
}

/** Tags of one address lead to one inbox, which shows the mail once and all of its RCPT addresses. */
function byInbox(recipients: Recipient[]): NewMailRecipient[] {
  const inboxes = new Map<string, NewMailRecipient>();
  for (const { inboxId, accountId, rcptTo, maxMessages, evictsOldest } of recipients) {
    const known = inboxes.get(inboxId);
    if (known) known.rcptTo.push(rcptTo);
    else {
      const rest = { maxMessages, ...(evictsOldest && { evictsOldest }) };
      inboxes.set(inboxId, { inboxId, accountId, rcptTo: [rcptTo], ...rest });
    }
  }
  return [...inboxes.values()];
}

/** Our line, then the mail, in the mail's own memory where there is the agreed room in front of it. */
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

/** An inbox may end or fill up between RCPT and the commit. A full one has refused the mail for all. */
function assertSomeoneHasIt(placed: Placed[]): void {
  if (placed.some((place) => 'messageId' in place)) return;
  throw placed.some((place) => 'refused' in place && place.refused === 'full') ? inboxFull() : noSuchInbox();
}
