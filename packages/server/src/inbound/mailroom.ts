import type { Readable } from 'node:stream';
import {
  type KeptKind,
  type Mailroom,
  type ProviderName,
  Refused,
  type Sending,
} from '@mayfly/providers/border';
import { type Clock, DAY_MS } from '../clock.ts';
import { sourceKey } from '../connection-limiter.ts';
import { AppError } from '../errors.ts';
import type { EventBus } from '../events.ts';
import { statusOf } from '../http/response/problems.ts';
import { MAX_TIME, newId, newUuid } from '../ids.ts';
import { PERMANENT_UNTIL } from '../inboxes/records.ts';
import type { MailEnvelope } from '../mail/mail.ts';
import type { Item, ItemOwner } from '../providers/sql.ts';
import type { Store } from '../store.ts';
import { type ByteBudget, type IncomingMail, readMessage } from './incoming-mail.ts';
import { messageTooLarge, type Receiver, type Recipient } from './receiver.ts';
import type { CaptureTarget } from './smtp-credentials.ts';

/** Limit of a stored item, such as a template in all its languages (Amazon SES: 500 KB). */
const MAX_ITEM_BYTES = 1024 * 1024;
/** Limit of an item's name: providers allow 256 characters for idempotency keys and less for templates. */
const MAX_ITEM_NAME = 256;
/** Recipients of one mail; Amazon SES allows 50, Mailgun and SendGrid 1,000. */
const MAX_RECIPIENTS = 1_000;

/** Bytes of the tags and metadata of one mail; SendGrid allows 10,000. */
const MAX_GIVEN_BYTES = 64 * 1024;

export interface ProviderCaller {
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

interface MailroomDeps {
  store: Pick<Store, 'providerItems' | 'outgoing'>;
  events: Pick<EventBus, 'publishDeliveries'>;
  receiver: Pick<Receiver, 'accept' | 'deliver' | 'refused' | 'meetFault'>;
  budget: ByteBudget;
  clock: Clock;
  domain: string;
}

export type Mailrooms = ReturnType<typeof createMailrooms>;

/** HTTP statuses that differ from those of our API. A read token becomes invalid when its inbox expires. */
const STATUS: Partial<Record<AppError['code'], number>> = { inbox_full: 507, inbox_expired: 401 };

/** Converts an AppError to an error of the imitated provider API. @throws any other error unchanged */
export function toRefused(error: unknown): Refused {
  if (error instanceof Refused) return error;
  if (!(error instanceof AppError)) throw error;
  const { code, message } = error;
  return new Refused(STATUS[code] ?? (code === 'outcome_unknown' ? 503 : statusOf(code)), message);
}

/** Creates the operations behind the imitated provider APIs. A mail reaches only inboxes of the account. */
export function createMailrooms({ store, events, receiver, budget, clock, domain }: MailroomDeps) {
  const items = store.providerItems;
  const untilOf = (kind: KeptKind): number => (kind === 'template' ? PERMANENT_UNTIL : clock.now() + DAY_MS);

  const of = (caller: ProviderCaller): Mailroom => {
    const { provider, title, accountId, target, mayKeep, remoteAddress, requestId, signal } = caller;
    // Items kept with a read token belong to its inbox alone.
    const owner: ItemOwner = { id: target?.id ?? accountId, accountId };
    const item = (kind: KeptKind, name: string): Item => ({ owner, provider, kind, name });

    const assertKept = (kind: KeptKind, name: string, value: unknown): void => {
      if (kind === 'template' && !mayKeep)
        throw new Refused(403, 'This API key has the scope "read". Use one with the scope "full".');
      if (name.length > MAX_ITEM_NAME)
        throw new Refused(400, `A name has at most ${MAX_ITEM_NAME} characters, not ${name.length}.`);
      if (JSON.stringify(value).length > MAX_ITEM_BYTES)
        throw new Refused(413, `A ${kind} has at most ${MAX_ITEM_BYTES} bytes.`);
    };

    /** Drops and records recipients without an inbox. @throws Refused if no recipient is left */
    const accept = async ({ raw, recipients }: Sending, envelope: MailEnvelope): Promise<Recipient[]> => {
      const accepted: Recipient[] = [];
      for (const path of new Set(recipients)) {
        try {
          accepted.push(await receiver.accept(path, raw.length, target, accountId));
        } catch (error) {
          const { mailFrom, helo } = envelope;
          const refusal = { at: clock.now(), address: path, reply: replyOf(error), via: provider };
          receiver.refused({ ...refusal, mailFrom, helo, remoteAddress });
          if (!(error instanceof AppError) || error.code !== 'unknown_recipient') throw error;
        }
      }
      if (accepted.length > 0) return accepted;
      throw new Refused(404, noRecipient(recipients));
    };

    const meetFaults = async (recipients: readonly Recipient[], envelope: MailEnvelope): Promise<void> => {
      const withFaults = recipients.filter(({ faultsOf }) => faultsOf !== undefined);
      for (const recipient of new Map(withFaults.map((one) => [one.inboxId, one])).values()) {
        const met = await receiver.meetFault(recipient, 'api', envelope);
        if (!met) continue;
        await clock.sleep(met.delayMs, signal);
        if (met.disconnect) throw new Disconnected();
        if (met.reply) throw new Refused(met.reply.code, met.reply.text);
      }
    };

    const admit = async (sending: Sending) => {
      const { raw, mailFrom, providerId, recipients, given, sendAt = 0 } = sending;
      if (JSON.stringify(given).length > MAX_GIVEN_BYTES)
        throw new Refused(400, `Tags and metadata have at most ${MAX_GIVEN_BYTES} bytes together.`);
      if (recipients.length > MAX_RECIPIENTS)
        throw new Refused(400, `A mail has at most ${MAX_RECIPIENTS} recipients, not ${recipients.length}.`);
      const begun = clock.now();
      const envelope = {
        ...{ mailFrom, helo: '', remoteAddress, tls: false },
        ...{ via: provider, providerMessageId: providerId, given },
      };
      const accepted = await accept(sending, envelope);
      const store = async (): Promise<void> => {
        if (sendAt > begun) return hold(sending, sendAt, accepted);
        await receiver.deliver({
          envelope,
          recipients: accepted,
          received: raw,
          trace: { id: requestId, protocol: 'HTTP' },
          trail: [
            { event: 'provider-call', at: begun, detail: title },
            { event: 'end-of-data', at: clock.now() },
          ],
        });
      };
      return { meetFaults: () => meetFaults(accepted, envelope), store };
    };

    const sendTogether: Mailroom['sendTogether'] = async (sendings, refused) => {
      const refuse = (error: unknown, index: number): void =>
        refused(error instanceof AppError ? toRefused(error) : error, index);
      const found = await Promise.allSettled(sendings.map(admit));
      const stores: { index: number; store: () => Promise<void> }[] = [];
      for (const [index, one] of found.entries()) {
        try {
          if (one.status === 'rejected') throw one.reason;
          // Fault rules are applied sequentially, so that `times` limits them to the first mails.
          await one.value.meetFaults();
          stores.push({ index, store: one.value.store });
        } catch (error) {
          refuse(error, index);
        }
      }
      const ended = await Promise.allSettled(stores.map(({ store }) => store()));
      for (const [place, one] of ended.entries())
        if (one.status === 'rejected') refuse(one.reason, stores[place]?.index ?? place);
    };

    /** Schedules a mail for each inbox. When it is due, one transaction stores it and marks it as sent. */
    const hold = async (sending: Sending, sendAt: number, accepted: readonly Recipient[]): Promise<void> => {
      if (sendAt > MAX_TIME) throw new Refused(400, 'The time to send is too far in the future.');
      const { raw, mailFrom, providerId, given } = sending;
      const inboxes = [...Map.groupBy(accepted, ({ inboxId }) => inboxId)];
      const now = clock.now();
      const details = { via: provider, mailFrom, providerId, given, remoteAddress, requestId, begunAt: now };
      const added = await store.outgoing.add(
        inboxes.map(([inboxId, recipients]) => ({
          ...{ id: newId('out', now), accountId, inboxId, kind: 'scheduled' },
          ...{ ref: refOf(providerId), raw, dueAt: sendAt },
          details: { ...details, to: recipients.map(({ rcptTo }) => rcptTo) },
        })),
        now,
      );
      if (added === 0)
        throw new Refused(507, 'The inbox holds as many scheduled mails as it may, or has ended.');
      events.publishDeliveries();
    };

    const refOf = (providerId: string): string => JSON.stringify([provider, providerId]);

    return {
      now: () => clock.now(),
      uuid: newUuid,
      domain,
      send: (sending) =>
        sendTogether([sending], (error) => {
          throw error;
        }),
      sendTogether,
      reschedule: (providerId, sendAt) => {
        const owner = { accountId, inboxId: target?.id ?? null };
        const changed = store.outgoing.reschedule(owner, refOf(providerId), sendAt, clock.now());
        return changed.finally(() => events.publishDeliveries());
      },
      async kept(kind, name) {
        const found = name.length <= MAX_ITEM_NAME && (await items.find(item(kind, name), clock.now()));
        return found ? found.value : undefined;
      },
      keptOf: (kind) => items.list({ owner, provider, kind }, clock.now()),
      async keep(kind, name, value) {
        assertKept(kind, name, value);
        if (value === null) await items.remove(item(kind, name));
        else if (!(await items.keep(item(kind, name), value, untilOf(kind))))
          throw new Refused(507, 'The account has as many templates as it may. Delete some.');
      },
      async keepFirst(kind, name, value) {
        assertKept(kind, name, value);
        return (await items.keepFirst(item(kind, name), value, untilOf(kind), clock.now()))?.value;
      },
    };
  };

  return {
    of,
    /** Reads a request body. @throws AppError `message_too_large`; `unavailable` if it arrives too slowly */
    readBody: (stream: Readable, remoteAddress: string, maxBytes: number): Promise<IncomingMail> =>
      readMessage(stream, messageTooLarge, { budget, source: sourceKey(remoteAddress), maxBytes }),
  };
}

const noRecipient = (recipients: readonly string[]): string =>
  `No inbox of this account takes mail for ${recipients.slice(0, 3).join(', ')}${recipients.length > 3 ? ' or the others' : ''}. Send to the address of a live inbox.`;

const SMTP_STATUS: Partial<Record<AppError['code'], string>> = {
  unknown_recipient: '550 5.1.1',
  message_too_large: '552 5.3.4',
  inbox_full: '452 4.2.2',
};

/** The reply that SMTP would give to this error. Explanations of failed waits depend on its status. */
const replyOf = (error: unknown): string =>
  error instanceof AppError
    ? `${SMTP_STATUS[error.code] ?? '451 4.3.0'} ${error.message}`
    : '451 4.3.0 Try again later';
