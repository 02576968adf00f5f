import type { Plans } from '../accounts/plans.ts';
import { type Clock, DAY_MS } from '../clock.ts';
import { AppError, notFound } from '../errors.ts';
import type { EventBus } from '../events.ts';
import { newId } from '../ids.ts';
import type { AccountRecord, Store } from '../store/contract/index.ts';
import { quoted } from '../text/nearest.ts';
import { checkUrl, type GuardSettings } from './outbound/address-guard.ts';
import { newWebhookSecret } from './sign.ts';
import type { DeliveryRecord, ReplayStep } from './sql/log.ts';
import type { WebhookChanges, WebhookRecord } from './sql/webhooks.ts';

/** After a rotation the old secret signs too for so long: receivers are changed one by one. */
const OLD_SECRET_MS = DAY_MS;

/** Deliveries that one step of a replay looks at: about four milliseconds in which other writes wait. */
const REPLAY_STEP = 250;
/** The random part of the smallest and the largest id of a time. */
const [SMALLEST, LARGEST] = [0, 255].map((byte) => new Uint8Array(10).fill(byte));

/** A webhook with a secret that is shown this once. */
export interface WebhookWithSecret {
  webhook: WebhookRecord;
  secret: string;
}

/** The rules of webhooks, as the API asks for them. All throw AppError `not_found` for what is not the account's. */
export interface Webhooks {
  /** @throws AppError `webhook_url_refused`, `limit_reached`, `not_found` for an unknown inbox */
  register(
    account: AccountRecord,
    wish: { url: string; inboxId: string | null; description: string },
  ): Promise<WebhookWithSecret>;
  /**
   * A webhook to be made together with an inbox.
   * @throws AppError `webhook_url_refused`
   */
  forNewInbox(account: AccountRecord, url: string): Promise<NewInboxWebhook>;
  /** @throws AppError `webhook_url_refused`; `webhook_disabled` when its inbox ended */
  update(accountId: string, webhookId: string, changes: WebhookChanges): Promise<WebhookRecord>;
  /**
   * The old secret signs too for {@link OLD_SECRET_MS}.
   * @throws AppError `webhook_disabled` when its inbox ended
   */
  rotateSecret(accountId: string, webhookId: string): Promise<WebhookWithSecret>;
  /** Enqueues a made-up event. @throws AppError `webhook_disabled` */
  test(accountId: string, webhookId: string): Promise<DeliveryRecord>;
  /** Begins a new round of attempts. @throws AppError `webhook_disabled` */
  replay(accountId: string, webhookId: string, deliveryId: string): Promise<DeliveryRecord>;
  /**
   * Begins a new round of attempts of all deliveries in a state that were recorded at `since` (epoch
   * milliseconds) or later.
   * @returns how many
   * @throws AppError `webhook_disabled`
   */
  replayMany(
    accountId: string,
    webhookId: string,
    which: { state: ReplayStep['state']; since: number },
  ): Promise<number>;
}

export interface NewInboxWebhook {
  id: string;
  url: string;
  description: string;
  secret: string;
  maxWebhooks: number;
}

export interface WebhooksDeps {
  store: Pick<Store, 'webhooks' | 'deliveries' | 'messages'>;
  guard: GuardSettings;
  events: Pick<EventBus, 'publishDeliveries'>;
  clock: Clock;
  plans: Plans;
}

const messageGone = (deliveryId: string): AppError =>
  new AppError(
    'not_found',
    `The message of the delivery ${quoted(deliveryId)} was deleted or has expired, so it cannot be sent again.`,
  );

export function createWebhooks(deps: WebhooksDeps): Webhooks {
  const find = createFind(deps);
  return { ...createRegistration(deps, find), ...createSending(deps, find) };
}

/** Finds webhooks that may be changed or used. */
function createFind({ store, clock }: WebhooksDeps) {
  /**
   * A webhook of the account whose inbox, if it has one, is live.
   * @throws AppError `not_found`, `webhook_disabled`
   */
  async function live(accountId: string, webhookId: string): Promise<WebhookRecord> {
    const now = clock.now();
    const webhook = await store.webhooks.find(accountId, webhookId, now);
    if (!webhook) throw notFound('webhook', webhookId);
    if (webhook.endsAt !== null && webhook.endsAt <= now) {
      throw new AppError(
        'webhook_disabled',
        `The inbox of the webhook ${quoted(webhookId)} has expired or was deleted, and the webhook ended with it. Register a new one with POST /v1/webhooks.`,
      );
    }
    return webhook;
  }

  /** @throws AppError `not_found`, `webhook_disabled` also for one that its owner disabled */
  async function assertEnabled(accountId: string, webhookId: string): Promise<void> {
    const webhook = await live(accountId, webhookId);
    if (!webhook.enabled)
      throw new AppError(
        'webhook_disabled',
        `The webhook ${quoted(webhookId)} is disabled. Enable it first: PATCH /v1/webhooks/{id} with {"enabled": true}.`,
      );
  }

  return { live, assertEnabled };
}

/** Registering webhooks and changing them. */
function createRegistration(
  { store, guard, events, clock, plans }: WebhooksDeps,
  find: ReturnType<typeof createFind>,
): Pick<Webhooks, 'register' | 'forNewInbox' | 'update' | 'rotateSecret'> {
  return {
    async register(account, { url, inboxId, description }) {
      const secret = newWebhookSecret();
      const checked = await checkUrl(url, guard);
      const now = clock.now();
      const webhook = await store.webhooks.create(
        account.id,
        { id: newId('whk', now), inboxId, url: checked, description, secret, createdAt: now },
        plans.named(account.plan).maxWebhooks,
      );
      return { webhook, secret };
    },

    async forNewInbox(account, url) {
      return {
        id: newId('whk', clock.now()),
        url: await checkUrl(url, guard),
        description: '',
        secret: newWebhookSecret(),
        maxWebhooks: plans.named(account.plan).maxWebhooks,
      };
    },

    async update(accountId, webhookId, changes) {
      // Before the URL is checked: a caller without such a webhook learns nothing about names and addresses.
      await find.live(accountId, webhookId);
      const url = changes.url === undefined ? {} : { url: await checkUrl(changes.url, guard) };
      const updated = await store.webhooks.update(accountId, webhookId, { ...changes, ...url }, clock.now());
      if (!updated) throw notFound('webhook', webhookId);
      // Disabling cancels pending deliveries.
      events.publishDeliveries();
      return updated;
    },

    async rotateSecret(accountId, webhookId) {
      await find.live(accountId, webhookId);
      const secret = newWebhookSecret();
      const now = clock.now();
      const webhook = await store.webhooks.rotateSecret(
        accountId,
        webhookId,
        secret,
        now + OLD_SECRET_MS,
        now,
      );
      if (!webhook) throw notFound('webhook', webhookId);
      return { webhook, secret };
    },
  };
}

/** Test deliveries and replays. */
function createSending(
  { store, events, clock }: WebhooksDeps,
  find: ReturnType<typeof createFind>,
): Pick<Webhooks, 'test' | 'replay' | 'replayMany'> {
  /** Publishes that a delivery became due. @throws AppError `not_found` */
  function published(delivery: DeliveryRecord | undefined, id: string): DeliveryRecord {
    if (!delivery) throw notFound('delivery', id);
    events.publishDeliveries();
    return delivery;
  }

  return {
    async test(accountId, webhookId) {
      await find.assertEnabled(accountId, webhookId);
      const now = clock.now();
      const test = { deliveryId: newId('dlv', now), eventId: newId('evt', now) };
      return published(await store.deliveries.addTest(accountId, webhookId, test, now), test.deliveryId);
    },

    async replay(accountId, webhookId, deliveryId) {
      await find.assertEnabled(accountId, webhookId);
      const now = clock.now();
      const delivery = await store.deliveries.find(accountId, webhookId, deliveryId, now);
      if (delivery?.inboxId && delivery.messageId) {
        const message = await store.messages.find(delivery.inboxId, delivery.messageId, now);
        if (!message) throw messageGone(deliveryId);
      }
      const replayed = delivery && (await store.deliveries.replay(accountId, webhookId, deliveryId, now));
      return published(replayed, deliveryId);
    },

    async replayMany(accountId, webhookId, { state, since }) {
      await find.assertEnabled(accountId, webhookId);
      const now = clock.now();
      const upTo = newId('dlv', now, LARGEST);
      let replayed = 0;
      // A delivery recorded at `since` counts, so the first step begins before all ids of that time.
      const first = newId('dlv', Math.min(Math.max(since, 0), now + 1), SMALLEST);
      for (let after: string | null = first; after !== null; ) {
        const step = { state, after, upTo, limit: REPLAY_STEP };
        const done = await store.deliveries.replaySome(accountId, webhookId, step, now);
        if (!done) throw notFound('webhook', webhookId);
        replayed += done.replayed;
        after = done.last;
      }
      if (replayed > 0) events.publishDeliveries();
      return replayed;
    },
  };
}
