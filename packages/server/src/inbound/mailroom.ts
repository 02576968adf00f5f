import {
  type KeptKind,
  type Mailroom,
  type ProviderName,
  Refused,
  type Sending,
} from '@mayfly/providers/border';
import { type Clock, DAY_MS } from '../clock.ts';
import { AppError } from '../errors.ts';
import type { EventBus } from '../events.ts';
import { statusOf } from '../http/response/problems.ts';
import { MAX_TIME, newId, newUuid } from '../ids.ts';
import { PERMANENT_UNTIL } from '../inboxes/records.ts';
import type { MailEnvelope } from '../mail/mail.ts';
import type { Item, ItemOwner } from '../providers/sql.ts';
import type { Store } from '../store.ts';
import type { Receiver, Recipient } from './receiver.ts';
import type { CaptureTarget } from './smtp-credentials.ts';

/** Limit of a stored item, such as a template in all its languages (Amazon SES: 500 KB). */
const MAX_ITEM_BYTES = 1024 * 1024;
/** Limit of an item's name: providers allow 256 characters for idempotency keys and less for templates. */
const MAX_ITEM_NAME = 256;
/** Limit of recipients of one mail; Amazon SES allows 50, Mailgun and SendGrid 1,000. */
const MAX_RECIPIENTS = 1_000;
/** Limit of the bytes of the tags and metadata of one mail; SendGrid allows 10,000. */
const MAX_GIVEN_BYTES = 64 * 1024;

interface Served {
  store: Pick<Store, 'providerItems' | 'outgoing'>;
  events: Pick<EventBus, 'publishDeliveries'>;
  receiver: Pick<Receiver, 'accept' | 'deliver' | 'refused' | 'meetFault'>;
  clock: Clock;
  domain: string;
  provider: ProviderName;
  title: string;
  accountId: string;
  /** Set if the caller has a read token: the inbox of the token, which receives all mail of this caller. */
  target: CaptureTarget | null;
  mayKeep: boolean;
  remoteAddress: string;
  requestId: string;
  /** Aborts when the client disconnects or the server stops. */
  signal: AbortSignal;
}

/** Thrown when a fault rule closes the connection without a response. */
export class Disconnected extends Error {}

/** HTTP statuses that differ from Mayfly's API. The read token of an expired inbox is not valid: 401. */
const STATUS: Partial<Record<AppError['code'], number>> = { inbox_full: 507, inbox_expired: 401 };

/** Converts an AppError to an error of the imitated provider API. @throws any other error unchanged */
export function toRefused(error: unknown): Refused {
  if (error instanceof Refused) return error;
  if (!(error instanceof AppError)) throw error;
  const { code, message } = error;
  return new Refused(STATUS[code] ?? (code === 'outcome_unknown' ? 503 : statusOf(code)), message);
}

/** The operations behind the imitated provider APIs. A mail reaches only inboxes of the account. */
export function mailroomOf(served: Served): Mailroom {
  const { store, events, clock, domain, provider, accountId, target } = served;
  const rethrow = (error: unknown): never => {
    throw error;
  };
  return {
    now: () => clock.now(),
    uuid: newUuid,
    domain,
    send: (sending) => sendTogether(served, [sending], rethrow),
    sendTogether: (sendings, refused) => sendTogether(served, sendings, refused),
    reschedule: (providerId, sendAt) => {
      const owner = { accountId, inboxId: target?.id ?? null };
      const changed = store.outgoing.reschedule(owner, refOf(provider, providerId), sendAt, clock.now());
      return changed.finally(() => events.publishDeliveries());
    },
    ...itemsOf(served),
  };
}

const refOf = (provider: string, providerId: string): string => JSON.stringify([provider, providerId]);

function itemsOf(served: Served): Pick<Mailroom, 'kept' | 'keptOf' | 'keep' | 'keepFirst'> {
  const { store, clock, provider, accountId, target, mayKeep } = served;
  const items = store.providerItems;
  // Items that are stored with a read token belong to the inbox of the token, not to the account.
  const owner: ItemOwner = { id: target?.id ?? accountId, accountId };
  const untilOf = (kind: KeptKind): number => (kind === 'template' ? PERMANENT_UNTIL : clock.now() + DAY_MS);
  const itemToKeep = (kind: KeptKind, name: string, value: unknown): Item => {
    if (kind === 'template' && !mayKeep)
      throw new Refused(403, 'This API key has the scope "read". Use one with the scope "full".');
    if (name.length > MAX_ITEM_NAME)
      throw new Refused(400, `A name has at most ${MAX_ITEM_NAME} characters, not ${name.length}.`);
    if (JSON.stringify(value).length > MAX_ITEM_BYTES)
      throw new Refused(413, `A ${kind} has at most ${MAX_ITEM_BYTES} bytes.`);
    return { owner, provider, kind, name };
  };
  return {
    async kept(kind, name) {
      if (name.length > MAX_ITEM_NAME) return undefined;
      return (await items.find({ owner, provider, kind, name }, clock.now()))?.value;
    },
    keptOf: (kind) => items.list({ owner, provider, kind }, clock.now()),
    async keep(kind, name, value) {
      const item = itemToKeep(kind, name, value);
      if (value === null) await items.remove(item);
      else if (!(await items.keep(item, value, untilOf(kind))))
        throw new Refused(507, 'The account has as many templates as it may. Delete some.');
    },
    async keepFirst(kind, name, value) {
      const item = itemToKeep(kind, name, value);
      return (await items.keepFirst(item, value, untilOf(kind), clock.now()))?.value;
    },
  };
}

/** A mail with its recipients that have an inbox. There is at least one such recipient. */
interface Admitted {
  sending: Sending;
  envelope: MailEnvelope;
  recipients: Recipient[];
  /** When the call began, epoch milliseconds. */
  begunAt: number;
}

async function sendTogether(
  served: Served,
  sendings: readonly Sending[],
  refused: (error: unknown, index: number) => void,
): Promise<void> {
  const refuse = (error: unknown, index: number): void =>
    refused(error instanceof AppError ? toRefused(error) : error, index);
  const found = await Promise.allSettled(sendings.map((sending) => admit(served, sending)));
  const admitted: [index: number, mail: Admitted][] = [];
  for (const [index, one] of found.entries()) {
    try {
      if (one.status === 'rejected') throw one.reason;
      // Not concurrently, because a fault rule with `times: 2` must apply to the first two mails.
      await meetFaults(served, one.value);
      admitted.push([index, one.value]);
    } catch (error) {
      refuse(error, index);
    }
  }
  const stored = await Promise.allSettled(admitted.map(([, mail]) => keep(served, mail)));
  for (const [place, one] of stored.entries())
    if (one.status === 'rejected') refuse(one.reason, admitted[place]?.[0] ?? place);
}

/** Drops and records recipients without an inbox. @throws Refused if none is left, AppError `inbox_full` */
async function admit(served: Served, sending: Sending): Promise<Admitted> {
  const { mailFrom, providerId, given } = sending;
  const { clock, provider, remoteAddress } = served;
  if (JSON.stringify(given).length > MAX_GIVEN_BYTES)
    throw new Refused(400, `Tags and metadata have at most ${MAX_GIVEN_BYTES} bytes together.`);
  const { length } = sending.recipients;
  if (length > MAX_RECIPIENTS)
    throw new Refused(400, `A mail has at most ${MAX_RECIPIENTS} recipients, not ${length}.`);
  const begunAt = clock.now();
  const envelope = {
    ...{ mailFrom, helo: '', remoteAddress, tls: false },
    ...{ via: provider, providerMessageId: providerId, given },
  };
  const recipients: Recipient[] = [];
  for (const path of new Set(sending.recipients)) {
    const recipient = await accept(served, sending, path);
    if (recipient) recipients.push(recipient);
  }
  if (recipients.length === 0) throw new Refused(404, noRecipient(sending.recipients));
  return { sending, envelope, recipients, begunAt };
}

async function accept(
  { receiver, clock, target, accountId, provider, remoteAddress }: Served,
  { raw, mailFrom }: Sending,
  path: string,
): Promise<Recipient | undefined> {
  try {
    return await receiver.accept(path, raw.length, target, accountId);
  } catch (error) {
    const refusal = { at: clock.now(), address: path, reply: replyOf(error), via: provider };
    receiver.refused({ ...refusal, mailFrom, helo: '', remoteAddress });
    if (error instanceof AppError && error.code === 'unknown_recipient') return undefined;
    throw error;
  }
}

async function meetFaults({ receiver, clock, signal }: Served, mail: Admitted): Promise<void> {
  const withFaults = mail.recipients.filter(({ faultsOf }) => faultsOf !== undefined);
  for (const recipient of new Map(withFaults.map((one) => [one.inboxId, one])).values()) {
    const met = await receiver.meetFault(recipient, 'api', mail.envelope);
    if (!met) continue;
    await clock.sleep(met.delayMs, signal);
    if (met.disconnect) throw new Disconnected();
    if (met.reply) throw new Refused(met.reply.code, met.reply.text);
  }
}

async function keep(served: Served, mail: Admitted): Promise<void> {
  const { sending, envelope, recipients, begunAt } = mail;
  const { receiver, clock, requestId, title } = served;
  const { raw: received, sendAt = 0 } = sending;
  if (sendAt > begunAt) return schedule(served, mail, sendAt);
  await receiver.deliver({
    ...{ envelope, recipients, received },
    trace: { id: requestId, protocol: 'HTTP' },
    trail: [
      { event: 'provider-call', at: begunAt, detail: title },
      { event: 'end-of-data', at: clock.now() },
    ],
  });
}

/** Schedules a mail for each inbox. When it is due, one transaction stores it and marks it as sent. */
async function schedule(
  { store, events, clock, accountId, provider, remoteAddress, requestId }: Served,
  { sending, recipients }: Admitted,
  sendAt: number,
): Promise<void> {
  if (sendAt > MAX_TIME) throw new Refused(400, 'The time to send is too far in the future.');
  const { raw, mailFrom, providerId, given } = sending;
  const now = clock.now();
  const details = { via: provider, mailFrom, providerId, given, remoteAddress, requestId, begunAt: now };
  const inboxes = [...Map.groupBy(recipients, ({ inboxId }) => inboxId)];
  const added = await store.outgoing.add(
    inboxes.map(([inboxId, own]) => ({
      ...{ id: newId('out', now), accountId, inboxId, kind: 'scheduled' },
      ...{ ref: refOf(provider, providerId), raw, dueAt: sendAt },
      details: { ...details, to: own.map(({ rcptTo }) => rcptTo) },
    })),
    now,
  );
  if (added === 0) throw new Refused(507, 'The inbox holds as many scheduled mails as it may, or has ended.');
  events.publishDeliveries();
}

const noRecipient = (recipients: readonly string[]): string =>
  `No inbox of this account takes mail for ${recipients.slice(0, 3).join(', ')}${recipients.length > 3 ? ' or the others' : ''}. Send to the address of a live inbox.`;

const SMTP_STATUS: Partial<Record<AppError['code'], string>> = {
  unknown_recipient: '550 5.1.1',
  message_too_large: '552 5.3.4',
  inbox_full: '452 4.2.2',
};

/** The reply that SMTP would give to this error. Explanations of failed waits read it (`waits/causes.ts`). */
const replyOf = (error: unknown): string =>
  error instanceof AppError
    ? `${SMTP_STATUS[error.code] ?? '451 4.3.0'} ${error.message}`
    : '451 4.3.0 Try again later';
