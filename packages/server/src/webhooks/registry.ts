import type { UpdateWebhook } from '@mayfly/client/contract';
import type { Plans } from '../accounts/plans.ts';
import type { AccountRecord } from '../accounts/sql.ts';
import { type Clock, DAY_MS } from '../clock.ts';
import { AppError, notFound } from '../errors.ts';
import type { EventBus } from '../events.ts';
import { firstIdAt, newId } from '../ids.ts';
import type { Store } from '../store.ts';
import { quoted } from '../text/nearest.ts';
import { checkUrl, type GuardSettings } from './outbound/address-guard.ts';
import { newWebhookSecret } from './sign.ts';
import type { DeliveryRecord, ReplayStep } from './sql/log.ts';
import type { WebhookRecord } from './sql/webhooks.ts';

/** How long the old secret signs too after a rotation, so that receivers can be updated one by one. */
const OLD_SECRET_MS = DAY_MS;

/** Deliveries that one step of a replay replays; it blocks other writes for about four milliseconds. */
const REPLAY_STEP = 250;

export interface WebhooksDeps {
  store: Pick<Store, 'webhooks' | 'deliveries'>;
  guard: GuardSettings;
  events: Pick<EventBus, 'publishDeliveries'>;
  clock: Clock;
  plans: Plans;
}

/** The operations of the webhook API. All throw AppError `not_found` for what does not belong to the account. */
export class Webhooks {
  readonly #deps: WebhooksDeps;

  constructor(deps: WebhooksDeps) {
    this.#deps = deps;
  }

  /** @returns the URL in its normal form @throws AppError `webhook_url_refused` */
  checkUrl(url: string): Promise<string> {
    return checkUrl(url, this.#deps.guard);
  }

  /** The parts of a webhook that its owner does not choose. @throws AppError `webhook_url_refused` */
  async forNewInbox({ plan }: AccountRecord, url: string) {
    return {
      url: await checkUrl(url, this.#deps.guard),
      id: newId('whk', this.#deps.clock.now()),
      description: '',
      secret: newWebhookSecret(),
      maxWebhooks: this.#deps.plans.named(plan).maxWebhooks,
    };
  }

  /** @throws AppError `webhook_url_refused`, `limit_reached`, `not_found` for an unknown inbox */
  async register(account: AccountRecord, url: string, inboxId: string | null, description: string) {
    const { store, clock } = this.#deps;
    const { maxWebhooks, ...made } = await this.forNewInbox(account, url);
    const wanted = { ...made, inboxId, description, createdAt: clock.now() };
    return { webhook: await store.webhooks.create(account.id, wanted, maxWebhooks), secret: made.secret };
  }

  /** @throws AppError `webhook_url_refused`; `webhook_disabled` if its inbox is deleted or expired */
  async update(accountId: string, webhookId: string, changes: UpdateWebhook): Promise<WebhookRecord> {
    const { store, guard, events, clock } = this.#deps;
    // Check that the webhook exists before resolving the URL: otherwise a caller without one could learn about names and addresses.
    await this.#requireLive(accountId, webhookId);
    const url = changes.url === undefined ? {} : { url: await checkUrl(changes.url, guard) };
    const updated = await store.webhooks.update(accountId, webhookId, { ...changes, ...url }, clock.now());
    if (!updated) throw notFound('webhook', webhookId);
    // Wakes the deliverer, because disabling cancels pending deliveries.
    events.publishDeliveries();
    return updated;
  }

  /** The old secret signs too for {@link OLD_SECRET_MS}. @throws AppError `webhook_disabled` if its inbox is deleted or expired */
  async rotateSecret(accountId: string, webhookId: string) {
    await this.#requireLive(accountId, webhookId);
    const { store, clock } = this.#deps;
    const secret = newWebhookSecret();
    const now = clock.now();
    const webhook = await store.webhooks.rotateSecret(accountId, webhookId, secret, now + OLD_SECRET_MS, now);
    if (!webhook) throw notFound('webhook', webhookId);
    return { webhook, secret };
  }

  /** Enqueues a test event. @throws AppError `webhook_disabled` */
  async test(accountId: string, webhookId: string): Promise<DeliveryRecord> {
    await this.#requireEnabled(accountId, webhookId);
    const { store, clock } = this.#deps;
    const now = clock.now();
    const test = { deliveryId: newId('dlv', now), eventId: newId('evt', now) };
    return this.#published(await store.deliveries.addTest(accountId, webhookId, test, now), test.deliveryId);
  }

  /** Begins a new round of attempts, which ends at once if the message was deleted. @throws AppError `webhook_disabled` */
  async replay(accountId: string, webhookId: string, deliveryId: string): Promise<DeliveryRecord> {
    await this.#requireEnabled(accountId, webhookId);
    const { store, clock } = this.#deps;
    const replayed = await store.deliveries.replay(accountId, webhookId, deliveryId, clock.now());
    return this.#published(replayed, deliveryId);
  }

  /** Replays deliveries created at `since` (epoch ms) or later. @returns how many @throws as {@link replay} */
  async replayMany(
    accountId: string,
    webhookId: string,
    { state, since }: { state: ReplayStep['state']; since: number },
  ): Promise<number> {
    await this.#requireEnabled(accountId, webhookId);
    const { store, clock, events } = this.#deps;
    const now = clock.now();
    const range = { state, before: firstIdAt('dlv', now + 1), limit: REPLAY_STEP };
    let replayed = 0;
    let after: string | null = firstIdAt('dlv', Math.min(Math.max(since, 0), now + 1));
    while (after !== null) {
      const done = await store.deliveries.replaySome(accountId, webhookId, { ...range, after }, now);
      if (!done) throw notFound('webhook', webhookId);
      replayed += done.replayed;
      after = done.last;
    }
    if (replayed > 0) events.publishDeliveries();
    return replayed;
  }

  /** @throws AppError `not_found`; `webhook_disabled` if its inbox is deleted or expired */
  async #requireLive(accountId: string, webhookId: string): Promise<WebhookRecord> {
    const now = this.#deps.clock.now();
    const webhook = await this.#deps.store.webhooks.find(accountId, webhookId, now);
    if (!webhook) throw notFound('webhook', webhookId);
    if (webhook.endsAt === null || webhook.endsAt > now) return webhook;
    throw new AppError(
      'webhook_disabled',
      `The inbox of the webhook ${quoted(webhookId)} has expired or was deleted, and the webhook ended with it. Register a new one with POST /v1/webhooks.`,
    );
  }

  /** @throws AppError `not_found`; `webhook_disabled`, also when its owner disabled it */
  async #requireEnabled(accountId: string, webhookId: string): Promise<void> {
    if ((await this.#requireLive(accountId, webhookId)).enabled) return;
    throw new AppError(
      'webhook_disabled',
      `The webhook ${quoted(webhookId)} is disabled. Enable it first: PATCH /v1/webhooks/{id} with {"enabled": true}.`,
    );
  }

  #published(delivery: DeliveryRecord | undefined, id: string): DeliveryRecord {
    if (!delivery) throw notFound('delivery', id);
    this.#deps.events.publishDeliveries();
    return delivery;
  }
}
