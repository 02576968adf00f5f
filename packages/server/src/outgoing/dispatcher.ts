import type { InboundMail, OutcomeEvent, Posting, Provider, Signing } from '@mayfly/providers/border';
import { DAY_MS } from '../clock.ts';
import { AppError, messageOf } from '../errors.ts';
import type { Receiver, Recipient } from '../inbound/receiver.ts';
import { domainOf } from '../mail/address.ts';
import type { FullMessageRecord } from '../messages/records.ts';
import { findSettings, providerNamed } from '../providers/settings.ts';
import type { Item, ItemKind } from '../providers/sql.ts';
import type { Store } from '../store.ts';
import { DueLoop, type DueLoopDeps } from '../webhooks/due-loop.ts';
import type { AttemptOutcome } from '../webhooks/outbound/outcome.ts';
import type { Sender } from '../webhooks/outbound/send.ts';
import { LEASE_MS, nextStep } from '../webhooks/schedule.ts';
import { failed, NotSent, type Relay } from './relay.ts';
import { reportMail, unsubscribeUrl } from './reports.ts';
import type { ClaimedOutgoing, OutgoingResult } from './sql.ts';

/** Limit for all accounts together, except for scheduled mail. For the limits of one account see sql.ts. */
const MAX_ATTEMPTS_AT_ONCE = 64;

interface DispatcherDeps extends DueLoopDeps {
  store: Pick<Store, 'outgoing' | 'messages' | 'providerItems'>;
  sender: Pick<Sender, 'send'>;
  receiver: Pick<Receiver, 'accept' | 'deliver'>;
  relay: Relay | null;
  hostname: string;
}

const cancelled = (why: string): NotSent => new NotSent('cancelled', why);

/** The result to store; undefined if it was stored together with the mail, or if the attempt was aborted. */
type Attempted = OutgoingResult | undefined;

/** Sends what is due: scheduled mail to inboxes; simulated events, reports and replies to the application. */
export class Dispatcher extends DueLoop<DispatcherDeps> {
  protected readonly what = 'Outgoing mail';

  protected nextAt(): Promise<number | null> {
    return this.deps.store.outgoing.nextAt();
  }

  protected async claim(now: number): Promise<number> {
    const { store, clock } = this.deps;
    // Not below 0: `inProgress` also counts scheduled mail, to which the limit does not apply.
    const limit = Math.max(0, MAX_ATTEMPTS_AT_ONCE - this.inProgress);
    const claimed = await store.outgoing.claim({ limit, leaseMs: LEASE_MS }, clock.now(), now);
    // Scheduled mails of an inbox are sent one after another; all other items are sent concurrently.
    const flows = Map.groupBy(claimed, ({ kind, inboxId, id }) => (kind === 'scheduled' ? inboxId : id));
    for (const flow of flows.values()) this.begin(this.#sendInOrder(flow));
    return claimed.length;
  }

  async #sendInOrder(rows: readonly ClaimedOutgoing[]): Promise<void> {
    const { store, clock, log } = this.deps;
    for (const row of rows) {
      const { id, kind, inboxId } = row;
      try {
        const result = await this.#attempt(row).catch((error) => this.#failureOf(row, error));
        if (!result) continue;
        await store.outgoing.record(row, result, clock.now());
        const { state, error } = result;
        log.info({ id, kind, inboxId, state, error }, 'Outgoing mail was attempted');
      } catch (err) {
        log.error({ err, id }, 'An attempt to send could not be recorded');
      }
    }
  }

  #failureOf(claimed: ClaimedOutgoing, thrown: unknown): OutgoingResult {
    const { id, details } = claimed;
    const { to = [] } = details;
    const isKnown = thrown instanceof NotSent || thrown instanceof AppError;
    if (!isKnown) this.deps.log.error({ err: thrown, id }, 'An attempt to send failed unexpectedly');
    const error = isKnown ? messageOf(thrown) : 'The server failed; its log has the cause.';
    if (thrown instanceof NotSent && thrown.state !== 'pending')
      return { state: thrown.state, dueAt: null, error, to };
    return this.#resultOf(claimed, { ok: false, status: null, retryAfter: null }, error, to);
  }

  #resultOf(
    { attempts }: ClaimedOutgoing,
    outcome: Pick<AttemptOutcome, 'ok' | 'status' | 'retryAfter'>,
    error: string | null,
    to: string[],
  ): OutgoingResult {
    const { clock, schedule, random, retryDelays } = this.deps;
    const step = nextStep(attempts + 1, outcome, clock.now(), random(), retryDelays);
    const dueAt = step.state === 'pending' ? schedule.now() + step.inMs : null;
    return { state: step.state, dueAt, error, to };
  }

  async #attempt(claimed: ClaimedOutgoing): Promise<Attempted> {
    const { kind } = claimed;
    if (kind === 'scheduled') return this.#release(claimed);
    if (kind === 'event') return this.#event(claimed);
    if (kind === 'report') return this.#report(claimed);
    return kind === 'handshake' ? this.#handshake(claimed) : this.#reply(claimed);
  }

  async #raw({ id }: ClaimedOutgoing): Promise<Uint8Array> {
    const raw = await this.deps.store.outgoing.rawOf(id);
    if (!raw) throw cancelled('It was cancelled.');
    return raw;
  }

  async #release(claimed: ClaimedOutgoing): Promise<undefined> {
    const { receiver, clock } = this.deps;
    const { id, details, accountId, inboxId, address } = claimed;
    if (inboxId === null) throw cancelled('The inbox ended.');
    const { to = [], mailFrom = '', remoteAddress = '', via, providerId = '', given = {} } = details;
    const { requestId = id, begunAt = 0 } = details;
    const received = await this.#raw(claimed);
    const provider = via && (await providerNamed(via));
    if (provider) await this.#became(claimed, provider, providerId, 'delivered');
    const target = { id: inboxId, accountId, address };
    const envelope = { mailFrom, helo: '', remoteAddress, tls: false, given };
    await receiver.deliver({
      envelope: via ? { ...envelope, via, providerMessageId: providerId } : envelope,
      recipients: await Promise.all(to.map((path) => receiver.accept(path, received.length, target))),
      received,
      outgoing: id,
      trace: { id: requestId, protocol: 'HTTP' },
      trail: [
        { event: 'provider-call', at: begunAt, detail: provider?.title ?? '' },
        { event: 'end-of-data', at: clock.now() },
      ],
    });
    return undefined;
  }

  async #message({ inboxId, messageId }: ClaimedOutgoing): Promise<FullMessageRecord> {
    const { store, clock } = this.deps;
    const message = inboxId && messageId && (await store.messages.find(inboxId, messageId, clock.now()));
    if (!message) throw cancelled('The message was deleted.');
    return message;
  }

  async #settings({ accountId, details: { via } }: ClaimedOutgoing, name: 'webhookUrl' | 'inboundUrl') {
    if (!via) throw failed('No provider is known.');
    const { store, clock } = this.deps;
    const provider = await providerNamed(via);
    const now = clock.now();
    const settings = await findSettings(store, accountId, via, now);
    const url = settings?.[name];
    if (settings && url) {
      const { secrets, baseUrl } = settings;
      return { provider, url, signing: { secrets, baseUrl, url, now } satisfies Signing };
    }
    throw failed(`There is no "${name}" for ${provider.title}. Set it with PUT /v1/providers/${via}.`);
  }

  async #event(claimed: ClaimedOutgoing): Promise<Attempted> {
    const message = await this.#message(claimed);
    const { outcome = 'bounce', via } = claimed.details;
    const { providerMessageId = '' } = message.envelope;
    if (via) await this.#became(claimed, await providerNamed(via), providerMessageId, outcome);
    const { provider, url, signing } = await this.#settings(claimed, 'webhookUrl');
    const posting = provider.event(eventOf(claimed, message, outcome), signing);
    if (!posting) throw cancelled(`${provider.title} has no event for the outcome ${outcome}.`);
    return this.#post(claimed, url, posting);
  }

  async #handshake(claimed: ClaimedOutgoing): Promise<Attempted> {
    const { provider, url, signing } = await this.#settings(claimed, 'webhookUrl');
    if (claimed.details.to?.[0] !== url) throw cancelled('Another URL was set.');
    const posting = provider.handshake?.(claimed.id, signing);
    if (!posting) throw cancelled(`${provider.title} confirms no URL.`);
    return this.#post(claimed, url, posting);
  }

  async #report(claimed: ClaimedOutgoing): Promise<Attempted> {
    const { store, clock, hostname } = this.deps;
    const message = await this.#message(claimed);
    const source = await store.messages.readRaw(message.inboxId, message.id, 0, clock.now());
    const { outcome = 'bounce' } = claimed.details;
    if (!source) throw cancelled('The message was deleted.');
    if (outcome === 'unsubscribe') {
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      const body = Buffer.from('List-Unsubscribe=One-Click');
      return this.#post(claimed, unsubscribeUrl(source), { headers, body });
    }
    const { mailFrom } = message.envelope;
    const [rcptTo = claimed.address] = message.rcptTo;
    const facts = { outcome, id: claimed.id, hostname, mailFrom, rcptTo, source };
    const raw = reportMail({ ...facts, at: claimed.createdAt, arrivedAt: message.receivedAt });
    return this.#mail(claimed, raw, '', [mailFrom]);
  }

  async #reply(claimed: ClaimedOutgoing): Promise<Attempted> {
    const raw = await this.#raw(claimed);
    const { via, to = [], mailFrom = '' } = claimed.details;
    if (!via) return this.#mail(claimed, raw, mailFrom, to);
    const { provider, url, signing } = await this.#settings(claimed, 'inboundUrl');
    // Imported on first use, because it loads the mail parser.
    const { inboundMail } = await import('./inbound-mail.ts');
    const mail = inboundMail(raw, claimed);
    await this.#keepReceived(claimed, provider, mail);
    return this.#post(claimed, url, provider.inbound(mail, signing), to);
  }

  /** Stores a reply for applications that fetch it from the provider's API. */
  async #keepReceived(claimed: ClaimedOutgoing, provider: Provider, mail: InboundMail): Promise<void> {
    const value = provider.received?.(mail);
    if (value === undefined) return;
    const { store, clock } = this.deps;
    const now = clock.now();
    for (const item of itemsOf(claimed, provider, 'received', mail.id))
      await store.providerItems.keepFirst(item, value, now + DAY_MS, now);
  }

  /** Updates the stored status of a mail, which applications read through the provider's API. */
  async #became(
    claimed: ClaimedOutgoing,
    provider: Provider,
    providerId: string,
    outcome: OutcomeEvent['outcome'] | 'delivered',
  ): Promise<void> {
    const change = provider.became?.(outcome);
    if (!change) return;
    const { store, clock } = this.deps;
    const now = clock.now();
    for (const item of itemsOf(claimed, provider, 'sent', providerId)) {
      const kept = await store.providerItems.find(item, now);
      if (kept) await store.providerItems.keep(item, { ...(kept.value as object), ...change }, now + DAY_MS);
    }
  }

  /** Delivers to inboxes of this server exactly once. Other mail goes to the relay, if there is one. */
  async #mail(claimed: ClaimedOutgoing, raw: Uint8Array, mailFrom: string, to: string[]): Promise<Attempted> {
    const { receiver, relay, clock } = this.deps;
    const own: Recipient[] = [];
    const others: string[] = [];
    for (const path of to) {
      const recipient = await receiver.accept(path, raw.length).catch(unlessUnknown);
      // `evictsOldest` is true only for the sink. If there is a relay, it gets the mail that the sink would take.
      if (recipient && !(relay && recipient.evictsOldest)) own.push(recipient);
      else others.push(path);
    }
    if (others.length > 0) {
      if (!relay) throw failed(notOurs(others));
      await relay({ mailFrom, to: others, raw });
    }
    if (own.length === 0) return { state: 'delivered', dueAt: null, error: null, to };
    await receiver.deliver({
      envelope: { mailFrom, helo: '', remoteAddress: '127.0.0.1', tls: false },
      ...{ recipients: own, received: raw, outgoing: claimed.id },
      trace: null,
      trail: [{ event: 'end-of-data', at: clock.now() }],
    });
    return undefined;
  }

  async #post(claimed: ClaimedOutgoing, url: string, { headers, body }: Posting, to = [url]) {
    const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
    const { signal } = this;
    const outcome = await this.deps.sender.send({ url, headers: Object.fromEntries(named), body, signal });
    return outcome && this.#resultOf(claimed, outcome, outcome.error?.message ?? null, to);
  }
}

/** Items of the account and of the inbox: an item that was stored with a read token belongs to the inbox. */
const itemsOf = (
  { accountId, inboxId }: ClaimedOutgoing,
  { name: provider }: Provider,
  kind: ItemKind,
  name: string,
): Item[] =>
  [accountId, inboxId ?? accountId].map((id) => ({ owner: { id, accountId }, provider, kind, name }));

function unlessUnknown(error: unknown): undefined {
  if (error instanceof AppError && error.code === 'unknown_recipient') return undefined;
  throw error;
}

const notOurs = (addresses: readonly string[]): string =>
  addresses[0] === ''
    ? 'The message has no return path.'
    : `${addresses.join(', ')} is no address of this server, and MAYFLY_REPLY_SMTP names no server for mail to ${domainOf(addresses[0] ?? '')}.`;

function eventOf(
  { id, createdAt, address }: ClaimedOutgoing,
  { envelope, given = {}, rcptTo, summary, receivedAt }: FullMessageRecord,
  outcome: OutcomeEvent['outcome'],
): OutcomeEvent {
  const { mailFrom, providerMessageId: providerId = '' } = envelope;
  const [recipient = address] = rcptTo;
  const { subject } = summary;
  return {
    ...{ id, outcome, recipient, at: createdAt },
    sending: { providerId, mailFrom, given, subject, recipients: rcptTo, sentAt: receivedAt },
  };
}
