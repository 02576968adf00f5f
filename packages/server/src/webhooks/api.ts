import {
  CreateWebhook,
  DeliveryParams,
  DeliveryQuery,
  ReplayDeliveries,
  ReplayedDeliveries,
  ref,
  UpdateWebhook,
  Webhook,
  WebhookDelivery,
  WebhookDeliveryList,
  WebhookList,
  WebhookParams,
  WebhookQuery,
  WebhookWithSecret,
} from '@mayfly/client/contract';
import type { FastifyRequest } from 'fastify';
import { DAY_MS } from '../clock.ts';
import { AppError, notFound } from '../errors.ts';
import { keyCaller } from '../http/access/guard.ts';
import type { App, HttpDeps, RouteContext } from '../http/context.ts';
import { created, empty, json } from '../http/openapi/responses.ts';
import { readPage } from '../http/request/inputs.ts';
import { toTime, toTimeOrNull } from '../http/response/time.ts';
import { type AddRoute, routesOf } from '../http/route.ts';
import { firstIdAt, newId } from '../ids.ts';
import { throwEnded } from '../inboxes/records.ts';
import { timeOf } from '../messages/cursor.ts';
import { quoted } from '../text/nearest.ts';
import { newWebhookSecret } from './sign.ts';
import type { DeliveryRecord } from './sql/log.ts';
import { INBOX_ENDED } from './sql/removal.ts';
import type { WebhookRecord } from './sql/webhooks.ts';

const OLD_SECRET_MS = DAY_MS;
/** Deliveries per step of a replay. A step blocks other writes for about four milliseconds. */
const REPLAY_STEP = 250;

export function webhookRoutes(app: App, { deps }: RouteContext): void {
  const route = routesOf(app, 'Webhooks');
  collectionRoutes(route, deps);
  oneRoutes(route, deps);
  secretRoutes(route, deps);
  deliveryRoutes(route, deps);
  replayRoutes(route, deps);
}

function collectionRoutes(route: AddRoute, deps: HttpDeps): void {
  const { store, clock } = deps;

  route('POST /v1/webhooks', {
    access: 'account:write',
    errors: ['not_found', 'inbox_expired', 'limit_reached', 'webhook_url_refused'],
    operationId: 'createWebhook',
    summary: 'Register a webhook',
    description:
      'Every later message of the account, or of one inbox, is sent to the URL by POST, signed as Standard Webhooks specifies. Only this response shows the secret.',
    body: ref(CreateWebhook),
    response: { 201: created(WebhookWithSecret, 'The new webhook.') },
    handler: async (request, reply) => {
      const { url, inboxId = null, description = '' } = request.body;
      const { account } = keyCaller(request);
      const { maxWebhooks, ...made } = await deps.newWebhooks.make(account, url);
      const now = clock.now();
      const wanted = { ...made, inboxId, description, createdAt: now };
      const webhook = await store.webhooks.create(account.id, wanted, maxWebhooks).catch((error) => {
        const isInbox = inboxId !== null && error instanceof AppError && error.code === 'not_found';
        if (!isInbox) throw error;
        return throwEnded(store.inboxes, { accountId: account.id, id: inboxId }, now);
      });
      reply.header('location', `/v1/webhooks/${webhook.id}`).header('cache-control', 'no-store');
      return { ...toWebhook(webhook, now), secret: made.secret };
    },
  });

  route('GET /v1/webhooks', {
    access: 'account:read',
    operationId: 'listWebhooks',
    summary: 'List webhooks',
    description:
      'The webhooks of the account, newest first, including those of inboxes that ended within 24 hours.',
    querystring: WebhookQuery,
    response: { 200: json(WebhookList, 'A page of webhooks.') },
    handler: async (request) => {
      const { account } = keyCaller(request);
      const now = clock.now();
      const page = readPage(request.query, 'whk', 'a webhook');
      const { webhooks, hasMore } = await store.webhooks.list(account.id, page, now);
      return { webhooks: webhooks.map((webhook) => toWebhook(webhook, now)), hasMore };
    },
  });
}

function oneRoutes(route: AddRoute, deps: HttpDeps): void {
  const { store, clock, events } = deps;

  route('GET /v1/webhooks/:id', {
    access: 'account:read',
    errors: ['not_found'],
    operationId: 'getWebhook',
    summary: 'Fetch a webhook',
    description: 'Returns the webhook without its secret.',
    params: WebhookParams,
    response: { 200: json(Webhook, 'The webhook.') },
    handler: async (request) => toWebhook(await findWebhook(deps, request, 'any'), clock.now()),
  });

  route('DELETE /v1/webhooks/:id', {
    access: 'account:write',
    errors: ['not_found'],
    operationId: 'deleteWebhook',
    summary: 'Delete a webhook',
    description: 'After the response the webhook, its pending deliveries and its log are gone.',
    params: WebhookParams,
    response: { 204: empty('Deleted.') },
    handler: async (request) => {
      const { account } = keyCaller(request);
      const { id } = request.params;
      if (!(await store.webhooks.delete(account.id, id, clock.now()))) throw notFound('webhook', id);
    },
  });

  route('PATCH /v1/webhooks/:id', {
    access: 'account:write',
    errors: ['not_found', 'webhook_disabled', 'webhook_url_refused'],
    operationId: 'updateWebhook',
    summary: 'Change a webhook',
    description: 'Changes the URL or the note, or enables or disables the webhook.',
    params: WebhookParams,
    body: ref(UpdateWebhook),
    response: { 200: json(Webhook, 'The webhook after the change.') },
    handler: async (request) => {
      // First find the webhook: otherwise, callers without one could make the server resolve any host name.
      const { accountId, id } = await findWebhook(deps, request, 'live');
      const { url, ...changes } = request.body;
      const checked = url === undefined ? {} : { url: await deps.newWebhooks.checkUrl(url) };
      const now = clock.now();
      const webhook = await store.webhooks.update(accountId, id, { ...changes, ...checked }, now);
      if (!webhook) throw notFound('webhook', id);
      events.publishDeliveries();
      return toWebhook(webhook, now);
    },
  });
}

function secretRoutes(route: AddRoute, deps: HttpDeps): void {
  const { store, clock } = deps;

  route('POST /v1/webhooks/:id/rotate-secret', {
    access: 'account:write',
    errors: ['not_found', 'webhook_disabled'],
    operationId: 'rotateWebhookSecret',
    summary: 'Rotate the secret',
    description:
      'Creates a new secret. For 24 hours requests are signed with the old one too, so that receivers can be changed one by one.',
    params: WebhookParams,
    response: { 200: json(WebhookWithSecret, 'The webhook with its new secret.') },
    handler: async (request, reply) => {
      const { accountId, id } = await findWebhook(deps, request, 'live');
      const secret = newWebhookSecret();
      const now = clock.now();
      const webhook = await store.webhooks.rotateSecret(accountId, id, secret, now + OLD_SECRET_MS, now);
      if (!webhook) throw notFound('webhook', id);
      reply.header('cache-control', 'no-store');
      return { ...toWebhook(webhook, now), secret };
    },
  });
}

function deliveryRoutes(route: AddRoute, deps: HttpDeps): void {
  const { store, clock, events } = deps;

  route('POST /v1/webhooks/:id/test', {
    access: 'account:write',
    errors: ['not_found', 'webhook_disabled'],
    operationId: 'testWebhook',
    summary: 'Send a test event',
    description:
      'Sends a signed event of the usual form with an invented message and `test: true`. The list of deliveries shows its result.',
    params: WebhookParams,
    response: { 202: json(WebhookDelivery, 'The delivery, which is about to be attempted.') },
    handler: async (request) => {
      const { accountId, id } = await findWebhook(deps, request, 'enabled');
      const now = clock.now();
      const test = { deliveryId: newId('dlv', now), eventId: newId('evt', now) };
      const delivery = await store.deliveries.addTest(accountId, id, test, now);
      if (!delivery) throw notFound('webhook', id);
      events.publishDeliveries();
      return toDelivery(delivery);
    },
  });

  route('GET /v1/webhooks/:id/deliveries', {
    access: 'account:read',
    errors: ['not_found'],
    operationId: 'listWebhookDeliveries',
    summary: 'List deliveries',
    description:
      'The deliveries of the webhook with their attempts, newest first, with `state` those in one state. They are kept for 7 days after they ended, at most 10,000 of them.',
    params: WebhookParams,
    querystring: DeliveryQuery,
    response: { 200: json(WebhookDeliveryList, 'A page of deliveries.') },
    handler: async (request) => {
      const page = { ...readPage(request.query, 'dlv', 'a delivery'), state: request.query.state };
      const { accountId, id } = await findWebhook(deps, request, 'any');
      const found = await store.deliveries.list(accountId, id, page, clock.now());
      // Added to times of the schedule's clock, to convert them to the wall clock that responses use.
      const stepMs = clock.now() - (deps.scheduleNow?.() ?? clock.now());
      const deliveries = found.deliveries.map((delivery) => toDelivery(delivery, stepMs));
      return { deliveries, hasMore: found.hasMore };
    },
  });
}

function replayRoutes(route: AddRoute, deps: HttpDeps): void {
  const { store, clock, events } = deps;

  route('POST /v1/webhooks/:id/deliveries/:deliveryId/replay', {
    access: 'account:write',
    errors: ['not_found', 'webhook_disabled'],
    operationId: 'replayWebhookDelivery',
    summary: 'Replay a delivery',
    description:
      'Starts a new series of attempts at once, with the same `webhook-id`, whether or not the earlier ones succeeded; one whose message was deleted is cancelled. During an attempt nothing changes.',
    params: DeliveryParams,
    response: { 202: json(WebhookDelivery, 'The delivery, pending again.') },
    handler: async (request) => {
      const { accountId, id } = await findWebhook(deps, request, 'enabled');
      const { deliveryId } = request.params;
      const delivery = await store.deliveries.replay(accountId, id, deliveryId, clock.now());
      if (!delivery) throw notFound('delivery', deliveryId);
      events.publishDeliveries();
      return toDelivery(delivery);
    },
  });

  route('POST /v1/webhooks/:id/deliveries/replay', {
    access: 'account:write',
    errors: ['not_found', 'webhook_disabled'],
    operationId: 'replayWebhookDeliveries',
    summary: 'Replay many deliveries',
    description:
      'Starts a new series of attempts at once of all deliveries in a state, each with its `webhook-id`, oldest first. Deliveries whose inbox has ended are left out; one whose message was deleted is cancelled again.',
    params: WebhookParams,
    body: ref(ReplayDeliveries),
    response: { 202: json(ReplayedDeliveries, 'How many deliveries are pending again.') },
    handler: async (request) => {
      const { accountId, id } = await findWebhook(deps, request, 'enabled');
      const { state, since } = request.body;
      const now = clock.now();
      const from = since === undefined ? 0 : Math.min(Math.max(timeOf(since), 0), now + 1);
      const range = { state, before: firstIdAt('dlv', now + 1), limit: REPLAY_STEP };
      let replayed = 0;
      for (let after: string | null = firstIdAt('dlv', from); after !== null; ) {
        const step = await store.deliveries.replaySome(accountId, id, { ...range, after }, now);
        if (!step) throw notFound('webhook', id);
        replayed += step.replayed;
        after = step.last;
      }
      if (replayed > 0) events.publishDeliveries();
      return { replayed };
    },
  });
}

/** @throws AppError `not_found`; `webhook_disabled` if the webhook is not in the state `needed` */
async function findWebhook(
  { store, clock }: HttpDeps,
  request: FastifyRequest<{ Params: { id: string } }>,
  needed: 'any' | 'live' | 'enabled',
): Promise<WebhookRecord> {
  const { id } = request.params;
  const webhook = await store.webhooks.find(keyCaller(request).account.id, id, clock.now());
  if (!webhook) throw notFound('webhook', id);
  if (needed !== 'any' && hasEnded(webhook, clock.now()))
    throw new AppError(
      'webhook_disabled',
      `The inbox of the webhook ${quoted(id)} has expired or was deleted, and the webhook ended with it. Register a new one with POST /v1/webhooks.`,
    );
  if (needed === 'enabled' && !webhook.enabled)
    throw new AppError(
      'webhook_disabled',
      `The webhook ${quoted(id)} is disabled. Enable it first: PATCH /v1/webhooks/{id} with {"enabled": true}.`,
    );
  return webhook;
}

const hasEnded = ({ endsAt }: WebhookRecord, now: number): boolean => endsAt !== null && endsAt <= now;

function toDelivery({ webhookId: _, ...delivery }: DeliveryRecord, stepMs = 0): WebhookDelivery {
  const { createdAt, nextAttemptAt, attempts } = delivery;
  return {
    ...delivery,
    createdAt: toTime(createdAt),
    nextAttemptAt: toTimeOrNull(nextAttemptAt && nextAttemptAt + stepMs),
    attempts: attempts.map((attempt) => ({ ...attempt, at: toTime(attempt.at) })),
  };
}

function toWebhook(webhook: WebhookRecord, now: number): Webhook {
  const { accountId: _, endsAt: __, ...shown } = webhook;
  return {
    ...shown,
    ...(hasEnded(webhook, now) && { enabled: false, disabledReason: INBOX_ENDED }),
    failingSince: toTimeOrNull(webhook.failingSince),
    createdAt: toTime(webhook.createdAt),
  };
}
