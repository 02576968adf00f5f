import {
  CreateWebhook,
  ref,
  UpdateWebhook,
  Webhook,
  WebhookList,
  WebhookParams,
  WebhookQuery,
  WebhookWithSecret,
} from '@mayfly/client/contract';
import { AppError, notFound } from '../errors.ts';
import { keyCaller } from '../http/access/guard.ts';
import type { App, RouteContext } from '../http/context.ts';
import { created, empty, json } from '../http/openapi/responses.ts';
import { readPage } from '../http/request/inputs.ts';
import { toTime, toTimeOrNull } from '../http/response/time.ts';
import { throwEnded } from '../inboxes/records.ts';
import type { WebhookRecord } from './sql/webhooks.ts';

const TAGS = ['Webhooks'];

export function webhookRoutes(app: App, context: RouteContext): void {
  collection(app, context);
  one(app, context);
  changes(app, context);
}

function collection(app: App, { deps }: RouteContext): void {
  const { store, clock } = deps;

  app.route({
    method: 'POST',
    url: '/v1/webhooks',
    config: {
      access: 'account:write',
      errors: ['not_found', 'inbox_expired', 'limit_reached', 'webhook_url_refused'],
    },
    schema: {
      operationId: 'createWebhook',
      tags: TAGS,
      summary: 'Register a webhook',
      description:
        'Every later message of the account, or of one inbox, is sent to the URL by POST, signed as Standard Webhooks specifies. Only this response shows the secret.',
      body: ref(CreateWebhook),
      response: { 201: created(WebhookWithSecret, 'The new webhook.') },
    },
    handler: async (request, reply) => {
      const { url, inboxId = null, description = '' } = request.body;
      const { account } = keyCaller(request);
      const { webhook, secret } = await deps.webhooks
        .register(account, url, inboxId, description)
        .catch((error) => {
          const isInbox = inboxId !== null && error instanceof AppError && error.code === 'not_found';
          if (!isInbox) throw error;
          return throwEnded(store.inboxes, { accountId: account.id, id: inboxId }, clock.now());
        });
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
      description:
        'The webhooks of the account, newest first, including those of inboxes that ended within 24 hours.',
      querystring: WebhookQuery,
      response: { 200: json(WebhookList, 'A page of webhooks.') },
    },
    handler: async (request) => {
      const { account } = keyCaller(request);
      const now = clock.now();
      const { webhooks, hasMore } = await store.webhooks.list(
        account.id,
        readPage(request.query, 'whk', 'a webhook'),
        now,
      );
      return { webhooks: webhooks.map((webhook) => toWebhook(webhook, now)), hasMore };
    },
  });
}

function one(app: App, { deps }: RouteContext): void {
  const { store, clock } = deps;

  app.route({
    method: 'GET',
    url: '/v1/webhooks/:id',
    config: { access: 'account:read', errors: ['not_found'] },
    schema: {
      operationId: 'getWebhook',
      tags: TAGS,
      summary: 'Fetch a webhook',
      description: 'Returns the webhook without its secret.',
      params: WebhookParams,
      response: { 200: json(Webhook, 'The webhook.') },
    },
    handler: async (request) => {
      const now = clock.now();
      const webhook = await store.webhooks.find(keyCaller(request).account.id, request.params.id, now);
      if (!webhook) throw notFound('webhook', request.params.id);
      return toWebhook(webhook, now);
    },
  });

  app.route({
    method: 'DELETE',
    url: '/v1/webhooks/:id',
    config: { access: 'account:write', errors: ['not_found'] },
    schema: {
      operationId: 'deleteWebhook',
      tags: TAGS,
      summary: 'Delete a webhook',
      description: 'After the response the webhook, its pending deliveries and its log are gone.',
      params: WebhookParams,
      response: { 204: empty('Deleted.') },
    },
    handler: async (request, reply) => {
      const { account } = keyCaller(request);
      const { id } = request.params;
      if (!(await store.webhooks.delete(account.id, id, clock.now()))) throw notFound('webhook', id);
      return reply.code(204).send();
    },
  });
}

function changes(app: App, { deps }: RouteContext): void {
  app.route({
    method: 'PATCH',
    url: '/v1/webhooks/:id',
    config: { access: 'account:write', errors: ['not_found', 'webhook_disabled', 'webhook_url_refused'] },
    schema: {
      operationId: 'updateWebhook',
      tags: TAGS,
      summary: 'Change a webhook',
      description: 'Changes the URL or the note, or enables or disables the webhook.',
      params: WebhookParams,
      body: ref(UpdateWebhook),
      response: { 200: json(Webhook, 'The webhook after the change.') },
    },
    handler: async (request) => {
      const { account } = keyCaller(request);
      const webhook = await deps.webhooks.update(account.id, request.params.id, request.body);
      return toWebhook(webhook, deps.clock.now());
    },
  });

  app.route({
    method: 'POST',
    url: '/v1/webhooks/:id/rotate-secret',
    config: { access: 'account:write', errors: ['not_found', 'webhook_disabled'] },
    schema: {
      operationId: 'rotateWebhookSecret',
      tags: TAGS,
      summary: 'Rotate the secret',
      description:
        'Creates a new secret. For 24 hours requests are signed with the old one too, so that receivers can be changed one by one.',
      params: WebhookParams,
      response: { 200: json(WebhookWithSecret, 'The webhook with its new secret.') },
    },
    handler: async (request, reply) => {
      const { account } = keyCaller(request);
      const { webhook, secret } = await deps.webhooks.rotateSecret(account.id, request.params.id);
      reply.header('cache-control', 'no-store');
      return { ...toWebhook(webhook, deps.clock.now()), secret };
    },
  });
}

function toWebhook({ accountId: _, endsAt, ...webhook }: WebhookRecord, now: number): Webhook {
  const ended = endsAt !== null && endsAt <= now;
  return {
    ...webhook,
    ...(ended && { enabled: false, disabledReason: 'The inbox ended.' }),
    failingSince: toTimeOrNull(webhook.failingSince),
    createdAt: toTime(webhook.createdAt),
  };
}
