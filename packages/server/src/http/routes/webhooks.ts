import {
  CreateWebhook,
  DEFAULT_LIMIT,
  DeliveryParams,
  DeliveryQuery,
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
import { Type } from 'typebox';
import { AppError } from '../../errors.ts';
import { type IdPrefix, isId } from '../../ids.ts';
import type { AttemptRecord, DeliveryRecord, WebhookRecord } from '../../store/store.ts';
import { invalidField } from '../addresses.ts';
import { keyCaller } from '../auth.ts';
import type { App, RouteContext } from '../context.ts';
import { empty, json, problemAnswer } from '../responses.ts';

const TAGS = ['Webhooks'];
const NOT_FOUND = problemAnswer('There is no such thing, or not for this account.');
const URL_REFUSED = problemAnswer('`webhook_url_refused`: the URL leads where webhooks do not go.');
const ENDED = problemAnswer('`webhook_disabled`: its inbox ended.');
const DISABLED = problemAnswer('`webhook_disabled`: the webhook is disabled, or its inbox ended.');

export function webhookRoutes(app: App, context: RouteContext): void {
  collection(app, context);
  one(app, context);
  actions(app, context);
  deliveries(app, context);
}

function collection(app: App, { deps }: RouteContext): void {
  const { store, clock } = deps;

  app.route({
    method: 'POST',
    url: '/v1/webhooks',
    config: { access: 'account:write' },
    schema: {
      operationId: 'createWebhook',
      tags: TAGS,
      summary: 'Register a webhook',
      description:
        'Every later message of the account, or of one inbox, is POSTed to the URL, signed by Standard Webhooks. The answer is the only one that shows the secret.',
      body: ref(CreateWebhook),
      response: {
        201: json(WebhookWithSecret, 'The new webhook.', {
          Location: Type.String({ description: 'Path of the webhook.' }),
        }),
        404: problemAnswer('There is no such inbox, or not for this account.'),
        409: problemAnswer('`limit_reached`: the plan allows no more webhooks.'),
        422: URL_REFUSED,
      },
    },
    handler: async (request, reply) => {
      const { url, inboxId = null, description = '' } = request.body;
      const { account } = keyCaller(request);
      const { webhook, secret } = await deps.webhooks.register(account, { url, inboxId, description });
      reply.code(201).header('location', `/v1/webhooks/${webhook.id}`).header('cache-control', 'no-store');
      return { ...toWebhook(webhook, clock.now()), secret };
    },
  });

  app.route({
    method: 'GET',
    url: '/v1/webhooks',
    config: { access: 'account:read' },
    schema: {
      operationId: 'listWebhooks',
      tags: TAGS,
      summary: 'List webhooks',
      description: "The account's webhooks, newest first, also those of inboxes that ended within 24 hours.",
      querystring: WebhookQuery,
      response: { 200: json(WebhookList, 'A page of webhooks.') },
    },
    handler: async (request) => {
      const { account } = keyCaller(request);
      const now = clock.now();
      const { webhooks, hasMore } = await store.webhooks.list(account.id, pageOf(request.query, 'whk'), now);
      return { webhooks: webhooks.map((webhook) => toWebhook(webhook, now)), hasMore };
    },
  });
}

function one(app: App, { deps }: RouteContext): void {
  const { store, clock } = deps;

  app.route({
    method: 'GET',
    url: '/v1/webhooks/:id',
    config: { access: 'account:read' },
    schema: {
      operationId: 'getWebhook',
      tags: TAGS,
      summary: 'Fetch a webhook',
      description: 'The webhook, without its secret.',
      params: WebhookParams,
      response: { 200: json(Webhook, 'The webhook.'), 404: NOT_FOUND },
    },
    handler: async (request) => {
      const now = clock.now();
      const webhook = await store.webhooks.find(keyCaller(request).account.id, request.params.id, now);
      if (!webhook) throw noSuchWebhook();
      return toWebhook(webhook, now);
    },
  });

  app.route({
    method: 'PATCH',
    url: '/v1/webhooks/:id',
    config: { access: 'account:write' },
    schema: {
      operationId: 'updateWebhook',
      tags: TAGS,
      summary: 'Change a webhook',
      description: 'Changes its URL or note, or enables or disables it.',
      params: WebhookParams,
      body: ref(UpdateWebhook),
      response: {
        200: json(Webhook, 'The webhook as it is now.'),
        404: NOT_FOUND,
        409: ENDED,
        422: URL_REFUSED,
      },
    },
    handler: async (request) => {
      const { account } = keyCaller(request);
      const webhook = await deps.webhooks.update(account.id, request.params.id, request.body);
      return toWebhook(webhook, clock.now());
    },
  });

  app.route({
    method: 'DELETE',
    url: '/v1/webhooks/:id',
    config: { access: 'account:write' },
    schema: {
      operationId: 'deleteWebhook',
      tags: TAGS,
      summary: 'Delete a webhook',
      description: 'When it answers, the webhook, its pending deliveries and its log are gone.',
      params: WebhookParams,
      response: { 204: empty('It is gone.'), 404: NOT_FOUND },
    },
    handler: async (request, reply) => {
      const { account } = keyCaller(request);
      if (!(await store.webhooks.delete(account.id, request.params.id, clock.now()))) throw noSuchWebhook();
      return reply.code(204).send();
    },
  });
}

function actions(app: App, { deps }: RouteContext): void {
  app.route({
    method: 'POST',
    url: '/v1/webhooks/:id/rotate-secret',
    config: { access: 'account:write' },
    schema: {
      operationId: 'rotateWebhookSecret',
      tags: TAGS,
      summary: 'Rotate the secret',
      description:
        'Makes a new secret. For 24 hours the old one signs too, so that receivers can be changed one by one.',
      params: WebhookParams,
      response: {
        200: json(WebhookWithSecret, 'The webhook with its new secret.'),
        404: NOT_FOUND,
        409: ENDED,
      },
    },
    handler: async (request, reply) => {
      const { account } = keyCaller(request);
      const { webhook, secret } = await deps.webhooks.rotateSecret(account.id, request.params.id);
      reply.header('cache-control', 'no-store');
      return { ...toWebhook(webhook, deps.clock.now()), secret };
    },
  });

  app.route({
    method: 'POST',
    url: '/v1/webhooks/:id/test',
    config: { access: 'account:write' },
    schema: {
      operationId: 'testWebhook',
      tags: TAGS,
      summary: 'Send a test event',
      description:
        'Sends a signed event of the usual shape with a made-up message and `test: true`. The log of deliveries tells what became of it.',
      params: WebhookParams,
      response: {
        202: json(WebhookDelivery, 'Its delivery, about to be attempted.'),
        404: NOT_FOUND,
        409: DISABLED,
      },
    },
    handler: async (request, reply) => {
      const delivery = await deps.webhooks.test(keyCaller(request).account.id, request.params.id);
      reply.code(202);
      return toDelivery(delivery);
    },
  });
}

function deliveries(app: App, { deps }: RouteContext): void {
  const { store, clock } = deps;

  app.route({
    method: 'GET',
    url: '/v1/webhooks/:id/deliveries',
    config: { access: 'account:read' },
    schema: {
      operationId: 'listWebhookDeliveries',
      tags: TAGS,
      summary: 'List deliveries',
      description:
        'The log, newest first: every delivery with all its attempts. Kept for 7 days after a delivery ended.',
      params: WebhookParams,
      querystring: DeliveryQuery,
      response: { 200: json(WebhookDeliveryList, 'A page of deliveries.'), 404: NOT_FOUND },
    },
    handler: async (request) => {
      const { account } = keyCaller(request);
      const { id } = request.params;
      const now = clock.now();
      const page = pageOf(request.query, 'dlv');
      if (!(await store.webhooks.find(account.id, id, now))) throw noSuchWebhook();
      const found = await store.deliveries.list(account.id, id, page, now);
      return { deliveries: found.deliveries.map(toDelivery), hasMore: found.hasMore };
    },
  });

  app.route({
    method: 'POST',
    url: '/v1/webhooks/:id/deliveries/:deliveryId/replay',
    config: { access: 'account:write' },
    schema: {
      operationId: 'replayWebhookDelivery',
      tags: TAGS,
      summary: 'Replay a delivery',
      description:
        'Begins a new round of attempts at once, with the same `webhook-id`, whatever became of the earlier ones. While an attempt is under way nothing changes.',
      params: DeliveryParams,
      response: {
        202: json(WebhookDelivery, 'The delivery, pending again.'),
        404: problemAnswer('There is no such delivery, not for this account, or its message is gone.'),
        409: DISABLED,
      },
    },
    handler: async (request, reply) => {
      const { id, deliveryId } = request.params;
      const delivery = await deps.webhooks.replay(keyCaller(request).account.id, id, deliveryId);
      reply.code(202);
      return toDelivery(delivery);
    },
  });
}

const noSuchWebhook = () => new AppError('not_found', 'no such webhook');

const NAMES: Partial<Record<IdPrefix, string>> = { whk: 'webhook', dlv: 'delivery' };

function pageOf(query: { limit?: number; before?: string }, prefix: IdPrefix) {
  const { limit = DEFAULT_LIMIT, before = null } = query;
  if (before !== null && !isId(prefix, before)) {
    throw invalidField('before', `must be a ${NAMES[prefix]} id`);
  }
  return { limit, before };
}

const toTime = (time: number): string => new Date(time).toISOString();

function toWebhook(webhook: WebhookRecord, now: number): Webhook {
  const ended = webhook.endsAt !== null && webhook.endsAt <= now;
  return {
    id: webhook.id,
    url: webhook.url,
    inboxId: webhook.inboxId,
    description: webhook.description,
    enabled: webhook.enabled && !ended,
    disabledReason: ended ? 'The inbox ended.' : webhook.disabledReason,
    failingSince: webhook.failingSince === null ? null : toTime(webhook.failingSince),
    createdAt: toTime(webhook.createdAt),
  };
}

const toAttempt = (attempt: AttemptRecord) => ({ ...attempt, at: toTime(attempt.at) });

function toDelivery(delivery: DeliveryRecord): WebhookDelivery {
  const { id, eventId, inboxId, messageId, state, reason, nextAttemptAt } = delivery;
  return {
    ...{ id, eventId, inboxId, messageId, state, reason },
    createdAt: toTime(delivery.createdAt),
    nextAttemptAt: nextAttemptAt === null ? null : toTime(nextAttemptAt),
    attempts: delivery.attempts.map(toAttempt),
  };
}
