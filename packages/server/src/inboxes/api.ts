import {
  CreatedInbox,
  CreateInbox,
  DeletedInboxes,
  GenerateAddress,
  GeneratedAddress,
  IdempotencyHeaders,
  Inbox,
  InboxLabelQuery,
  InboxList,
  InboxParams,
  InboxQuery,
  ref,
  UpdateInbox,
} from '@mayfly/client/contract';
import { MINUTE_MS } from '../clock.ts';
import { AppError } from '../errors.ts';
import { callerOf, callersInbox, keyCaller } from '../http/access/guard.ts';
import type { App, HttpDeps, RouteContext } from '../http/context.ts';
import { created, empty, json } from '../http/openapi/responses.ts';
import { labelsOf, readPage } from '../http/request/inputs.ts';
import { invalidField } from '../http/request/invalid-fields.ts';
import { toTime } from '../http/response/time.ts';
import { type AddRoute, routesOf } from '../http/route.ts';
import { quoted } from '../text/nearest.ts';
import { addressOf, anyAddress, onFreeAddress, servedDomain } from './address-parameters.ts';
import { createInbox, lifetime, repeatableRequest, toInbox } from './new-inbox.ts';
import { assertNoSink, type InboxRecord, liveInbox, throwEnded } from './records.ts';

const ADDRESS_HOLD_MS = 10 * MINUTE_MS;

export function inboxRoutes(app: App, context: RouteContext): void {
  const route = routesOf(app, 'Inboxes');
  creationRoute(route, context);
  collectionRoutes(route, context);
  inboxRoute(route, context);
  endingRoutes(route, context);
  addressRoute(routesOf(app, 'Addresses'), context);
}

function creationRoute(route: AddRoute, context: RouteContext): void {
  route('POST /v1/inboxes', {
    access: 'account:write',
    errors: [
      'address_taken',
      'limit_reached',
      'idempotency_in_progress',
      'idempotency_key_reused',
      'webhook_url_refused',
    ],
    operationId: 'createInbox',
    summary: 'Create an inbox',
    description:
      'Creates a disposable inbox. Only this response shows the read token, and the secret of the webhook that `webhookUrl` registers for this inbox. With `sms: true` the inbox has a telephone number, to which providers of SMS deliver. With `catchAll: true` the inbox takes mail for every local part: of a new sub-domain below a shared domain, or of a whole domain that belongs to your account. Inboxes with an address of their own on that domain come first, and an address whose inbox ended is refused with 550 for 7 days.',
    headers: IdempotencyHeaders,
    body: ref(CreateInbox),
    response: { 201: created(CreatedInbox, 'The new inbox.') },
    handler: async (request, reply) => {
      const caller = keyCaller(request);
      const repeat = repeatableRequest(request.headers['idempotency-key'], request.body);
      const inbox = await createInbox(context, caller, request.body, { repeat });
      reply.header('location', `/v1/inboxes/${inbox.id}`).header('cache-control', 'no-store');
      return inbox;
    },
  });
}

function collectionRoutes(route: AddRoute, { options, deps }: RouteContext): void {
  const { store, clock, plans, events } = deps;

  route('GET /v1/inboxes', {
    access: 'account:read',
    operationId: 'listInboxes',
    summary: 'List inboxes',
    description:
      "The account's live inboxes, newest first, all of them or those that carry the given labels or words. With `address`, the one inbox that receives mail for that address; the list is empty when the account has none.",
    querystring: InboxQuery,
    response: { 200: json(InboxList, 'A page of inboxes.') },
    handler: async (request) => {
      const { address, q = '' } = request.query;
      const page = {
        words: q.split(/\s+/).filter(Boolean),
        labels: labelsOf(request.query),
        ...(address !== undefined && { address: addressOf(address) }),
        ...readPage(request.query, 'inb', 'an inbox'),
      };
      const { account } = keyCaller(request);
      const { inboxes, hasMore } = await store.inboxes.list(account.id, page, clock.now());
      const plan = plans.named(account.plan);
      return { inboxes: inboxes.map((inbox) => toInbox(inbox, plan, options.domains)), hasMore };
    },
  });

  route('DELETE /v1/inboxes', {
    access: 'account:write',
    operationId: 'deleteInboxes',
    summary: 'Delete inboxes by label',
    description:
      'Deletes the live inboxes that carry all the given labels, with all their messages. The sink is left out.',
    querystring: InboxLabelQuery,
    response: { 200: json(DeletedInboxes, 'The number of deleted inboxes.') },
    handler: async (request) => {
      const labels = labelsOf(request.query);
      if (Object.keys(labels).length === 0) {
        throw invalidField(
          'label.NAME',
          'At least one label is required, so that a request cannot delete all inboxes by mistake. Add "label.NAME=VALUE" to the query.',
        );
      }
      const { account } = keyCaller(request);
      const ids = await store.inboxes.deleteByLabels(account.id, labels, clock.now());
      for (const id of ids) events.publishInboxChange(id);
      return { deleted: ids.length };
    },
  });
}

function inboxRoute(route: AddRoute, { options, deps }: RouteContext): void {
  const { clock, plans } = deps;

  route('GET /v1/inboxes/:id', {
    access: 'inbox:read',
    operationId: 'getInbox',
    summary: 'Fetch an inbox',
    description:
      'The metadata of the inbox with its expiry. For 24 hours after the expiry the response is 410 `inbox_expired`.',
    params: InboxParams,
    response: { 200: json(Inbox, 'The inbox.') },
    handler: async (request) => {
      const inbox = callersInbox(request);
      return toInbox(inbox, plans.named(callerOf(request).account.plan), options.domains);
    },
  });

  route('PATCH /v1/inboxes/:id', {
    access: 'inbox:write',
    errors: ['permanent_inbox'],
    operationId: 'updateInbox',
    summary: 'Extend or shorten an inbox',
    description:
      'Sets the expiry to `ttlMinutes` from now, but never past `maxExpiresAt`. The sink does not expire: 409 `permanent_inbox`.',
    params: InboxParams,
    body: ref(UpdateInbox),
    response: { 200: json(Inbox, 'The inbox after the change.') },
    handler: async (request) => {
      const { account } = keyCaller(request);
      const inbox = callersInbox(request);
      assertNoSink(inbox);
      const plan = plans.named(account.plan);
      const ttlMinutes = lifetime(request.body.ttlMinutes, plan.maxTtlMinutes, account.plan);
      const now = clock.now();
      const expiresAt = Math.min(now + ttlMinutes * MINUTE_MS, inbox.maxExpiresAt);
      const changed = await setExpiry(deps, inbox, { ttlMinutes, expiresAt }, now);
      // Read the time again: since `now`, another request may have ended the inbox.
      return toInbox(liveInbox(changed, clock.now(), inbox.id), plan, options.domains);
    },
  });
}

function endingRoutes(route: AddRoute, { options, deps }: RouteContext): void {
  const { store, clock, events } = deps;

  route('POST /v1/inboxes/:id/expire', {
    access: 'inbox:write',
    errors: ['permanent_inbox'],
    operationId: 'expireInbox',
    summary: 'Let an inbox expire now',
    description:
      'The inbox expires now, exactly as if its time had come, so that a test of expiry does not have to wait: every later request for it gets 410 `inbox_expired` with `expiredAt` for 24 hours, senders get 550, held waits end with 410, streams close, and its pending webhook deliveries are cancelled. This cannot be undone: an expired inbox cannot be extended.',
    params: InboxParams,
    response: { 204: empty('The inbox has expired.') },
    handler: async (request) => {
      const inbox = callersInbox(request);
      assertNoSink(inbox);
      const now = clock.now();
      await setExpiry(deps, inbox, { ttlMinutes: inbox.ttlMinutes, expiresAt: now }, now);
    },
  });

  route('DELETE /v1/inboxes/:id', {
    access: 'inbox:write',
    errors: ['permanent_inbox'],
    operationId: 'deleteInbox',
    summary: 'Delete an inbox',
    description:
      'After the response the inbox, its messages, their sources and its read token are gone. Of an inbox with labels, its address, labels and figures are kept for 24 hours for `GET /v1/reports/runs`. The sink can be emptied, but not deleted while the server runs with `MAYFLY_SINK=on`: 409 `permanent_inbox`.',
    params: InboxParams,
    response: { 204: empty('Deleted.') },
    handler: async (request) => {
      const { account } = keyCaller(request);
      const inbox = callersInbox(request);
      const now = clock.now();
      if (options.sink === 'on') assertNoSink(inbox);
      const deleted = await store.inboxes.delete(account.id, inbox.id, now);
      if (!deleted) return throwEnded(store.inboxes, inbox, now);
      events.publishInboxChange(inbox.id);
    },
  });
}

function addressRoute(route: AddRoute, { options, deps: { store, clock } }: RouteContext): void {
  route('POST /v1/addresses/generate', {
    access: 'account:write',
    operationId: 'generateAddress',
    summary: 'Generate a free address',
    description:
      'Returns a random free address without creating an inbox. It is reserved for your account for 10 minutes: pass it as `address` to create an inbox with it.',
    body: ref(GenerateAddress),
    response: { 200: json(GeneratedAddress, 'The address.') },
    handler: async (request) => {
      const { account } = keyCaller(request);
      const domains = { accountId: account.id, configured: options.domains, owned: store.domains };
      const domain = await servedDomain(request.body.domain, domains);
      const now = clock.now();
      const heldUntil = now + ADDRESS_HOLD_MS;
      const parts = await onFreeAddress(anyAddress(domain), async (free) => {
        if (await store.addresses.hold(account.id, free.address, heldUntil, now)) return free;
        throw new AppError(
          'address_taken',
          `No free random address was found under ${quoted(domain)}. Retry the request.`,
        );
      });
      return { ...parts, heldUntil: toTime(heldUntil) };
    },
  });
}

/** Sets and publishes the expiry. @throws AppError `inbox_expired` or `not_found` if the inbox has ended */
async function setExpiry(
  { store, events }: Pick<HttpDeps, 'store' | 'events'>,
  inbox: InboxRecord,
  change: { ttlMinutes: number; expiresAt: number },
  now: number,
): Promise<InboxRecord> {
  const changed = await store.inboxes.setExpiry(inbox.accountId, inbox.id, change, now);
  if (!changed) return throwEnded(store.inboxes, inbox, now);
  events.publishInboxChange(inbox.id);
  return changed;
}
