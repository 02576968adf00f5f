import {
  DeliveryParams,
  DeliveryQuery,
  ReplayDeliveries,
  ReplayedDeliveries,
  ref,
  WebhookDelivery,
  WebhookDeliveryList,
  WebhookParams,
} from '@mayfly/client/contract';
import { notFound } from '../errors.ts';
import { keyCaller } from '../http/access/guard.ts';
import type { App, RouteContext } from '../http/context.ts';
import { json } from '../http/openapi/responses.ts';
import { readPage } from '../http/request/inputs.ts';
import { toTime, toTimeOrNull } from '../http/response/time.ts';
import { timeOf } from '../messages/cursor.ts';
import type { DeliveryRecord } from './sql/log.ts';

const TAGS = ['Webhooks'];

export function deliveryRoutes(app: App, context: RouteContext): void {
  listAndTest(app, context);
  replays(app, context);
}

function listAndTest(app: App, { deps }: RouteContext): void {
  const { store, clock } = deps;

  app.route({
    method: 'POST',
    url: '/v1/webhooks/:id/test',
    config: { access: 'account:write', errors: ['not_found', 'webhook_disabled'] },
    schema: {
      operationId: 'testWebhook',
      tags: TAGS,
      summary: 'Send a test event',
      description:
        'Sends a signed event of the usual form with an invented message and `test: true`. The list of deliveries shows its result.',
      params: WebhookParams,
      response: { 202: json(WebhookDelivery, 'The delivery, which is about to be attempted.') },
    },
    handler: async (request, reply) => {
      const delivery = await deps.webhooks.test(keyCaller(request).account.id, request.params.id);
      reply.code(202);
      return toDelivery(delivery);
    },
  });

  app.route({
    method: 'GET',
    url: '/v1/webhooks/:id/deliveries',
    config: { access: 'account:read', errors: ['not_found'] },
    schema: {
      operationId: 'listWebhookDeliveries',
      tags: TAGS,
      summary: 'List deliveries',
      description:
        'The deliveries of the webhook with their attempts, newest first, with `state` those in one state. They are kept for 7 days after they ended, at most 10,000 of them.',
      params: WebhookParams,
      querystring: DeliveryQuery,
      response: { 200: json(WebhookDeliveryList, 'A page of deliveries.') },
    },
    handler: async (request) => {
      const { account } = keyCaller(request);
      const { id } = request.params;
      const now = clock.now();
      const page = readPage(request.query, 'dlv', 'a delivery');
      if (!(await store.webhooks.find(account.id, id, now))) throw notFound('webhook', id);
      const { state } = request.query;
      const found = await store.deliveries.list(account.id, id, { ...page, state }, now);
      // The wall clock, which clients compare with theirs, is ahead of the schedule by this much.
      const stepMs = clock.now() - (deps.scheduleNow?.() ?? clock.now());
      const deliveries = found.deliveries.map((delivery) => toDelivery(delivery, stepMs));
      return { deliveries, hasMore: found.hasMore };
    },
  });
}

function replays(app: App, { deps }: RouteContext): void {
  app.route({
    method: 'POST',
    url: '/v1/webhooks/:id/deliveries/:deliveryId/replay',
    config: { access: 'account:write', errors: ['not_found', 'webhook_disabled'] },
    schema: {
      operationId: 'replayWebhookDelivery',
      tags: TAGS,
      summary: 'Replay a delivery',
      description:
        'Starts a new series of attempts at once, with the same `webhook-id`, whether or not the earlier ones succeeded; one whose message was deleted is cancelled. During an attempt nothing changes.',
      params: DeliveryParams,
      response: { 202: json(WebhookDelivery, 'The delivery, pending again.') },
    },
    handler: async (request, reply) => {
      const { id, deliveryId } = request.params;
      const delivery = await deps.webhooks.replay(keyCaller(request).account.id, id, deliveryId);
      reply.code(202);
      return toDelivery(delivery);
    },
  });

  app.route({
    method: 'POST',
    url: '/v1/webhooks/:id/deliveries/replay',
    config: { access: 'account:write', errors: ['not_found', 'webhook_disabled'] },
    schema: {
      operationId: 'replayWebhookDeliveries',
      tags: TAGS,
      summary: 'Replay many deliveries',
      description:
        'Starts a new series of attempts at once of all deliveries in a state, each with its `webhook-id`, oldest first. Deliveries whose inbox has ended are left out; one whose message was deleted is cancelled again.',
      params: WebhookParams,
      body: ref(ReplayDeliveries),
      response: { 202: json(ReplayedDeliveries, 'How many deliveries are pending again.') },
    },
    handler: async (request, reply) => {
      const { state, since } = request.body;
      const which = { state, since: since === undefined ? 0 : timeOf(since) };
      const { account } = keyCaller(request);
      const replayed = await deps.webhooks.replayMany(account.id, request.params.id, which);
      reply.code(202);
      return { replayed };
    },
  });
}

function toDelivery({ webhookId: _, ...delivery }: DeliveryRecord, stepMs = 0): WebhookDelivery {
  const { createdAt, nextAttemptAt, attempts } = delivery;
  return {
    ...delivery,
    createdAt: toTime(createdAt),
    nextAttemptAt: toTimeOrNull(nextAttemptAt && nextAttemptAt + stepMs),
    attempts: attempts.map((attempt) => ({ ...attempt, at: toTime(attempt.at) })),
  };
}
