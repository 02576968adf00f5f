import {
  CreateAccount,
  CreatedAccount,
  CreatedKey,
  CreateKey,
  DomainList,
  type Key,
  KeyList,
  KeyParams,
  ref,
} from '@mayfly/client/contract';
import { sourceKey } from '../connection-limiter.ts';
import { AppError, notFound } from '../errors.ts';
import { keyCaller } from '../http/access/guard.ts';
import type { App, RouteContext } from '../http/context.ts';
import { created, empty, json } from '../http/openapi/responses.ts';
import { invalidField } from '../http/request/invalid-fields.ts';
import { toTime, toTimeOrNull } from '../http/response/time.ts';
import { routesOf } from '../http/route.ts';
import { quoted } from '../text/nearest.ts';
import { usableDomains } from './domains.ts';
import { addKey, SIGN_UPS_PER_ADDRESS, SIGN_UPS_PER_MINUTE, signUp } from './keys.ts';
import type { ListedKey } from './sql.ts';

export function accountRoutes(app: App, { options, deps }: RouteContext): void {
  const { signupPlan } = options;

  routesOf(app, 'Accounts')('POST /v1/accounts', {
    access: 'public',
    errors: ['not_found', 'rate_limited'],
    operationId: 'createAccount',
    summary: 'Sign up',
    description: `Creates an account with its first API key; only this response shows the key. Needs no credential. Where the operator does not allow sign-up the response is 404. One address may sign up ${SIGN_UPS_PER_ADDRESS} times, then once in 2 minutes, all together ${SIGN_UPS_PER_MINUTE} times a minute.`,
    body: ref(CreateAccount),
    response: { 201: json(CreatedAccount, 'The new account and its key.') },
    handler: async (request, reply) => {
      if (signupPlan === null)
        throw new AppError('not_found', 'This server has no sign-up. Ask its operator for an account.');
      const { account, key } = await signUp(deps, signupPlan, request.body.name, sourceKey(request.ip));
      deps.log.info({ requestId: request.id, accountId: account.id }, 'An account was created by sign-up');
      reply.header('cache-control', 'no-store');
      const { id, name, plan } = account;
      return { account: { id, name, plan }, key } satisfies CreatedAccount;
    },
  });
}

const END_OF_TIME = Date.parse('9999-12-31T23:59:59.999Z');

export function keyRoutes(app: App, context: RouteContext): void {
  const route = routesOf(app, 'Accounts');
  const { store, clock } = context.deps;

  route('POST /v1/keys', {
    access: 'account:write',
    errors: ['limit_reached'],
    operationId: 'createKey',
    summary: 'Create an API key',
    description: 'Creates another API key of the account. Only this response shows it.',
    body: ref(CreateKey),
    response: { 201: created(CreatedKey, 'The new key.') },
    handler: async (request, reply) => {
      const { name, scope = 'full', expiresAt } = request.body;
      const now = clock.now();
      const wanted = {
        ...{ accountId: keyCaller(request).account.id, name, scope },
        expiresAt: expiresAt === undefined ? null : futureTime(expiresAt, now),
      };
      const { record, key } = await addKey(store.keys, wanted, now);
      reply.header('location', `/v1/keys/${record.id}`).header('cache-control', 'no-store');
      return { ...toKey({ ...record, lastUsedAt: null }), key };
    },
  });

  route('GET /v1/keys', {
    access: 'account:read',
    operationId: 'listKeys',
    summary: 'List API keys',
    description:
      'The API keys of the account, newest first, including expired ones; only the first characters of each are shown.',
    response: { 200: json(KeyList, 'The keys.') },
    handler: async (request) => {
      const keys = await store.keys.list(keyCaller(request).account.id);
      return { keys: keys.map(toKey) };
    },
  });

  route('DELETE /v1/keys/:id', {
    access: 'account:write',
    errors: ['not_found', 'last_key'],
    operationId: 'deleteKey',
    summary: 'Revoke an API key',
    description:
      'After the response the key is unknown. The last live key of the scope `full` cannot be revoked.',
    params: KeyParams,
    response: { 204: empty('Revoked.') },
    handler: async (request) => {
      const { id } = request.params;
      const outcome = await store.keys.revoke(keyCaller(request).account.id, id, true, clock.now());
      if (outcome === 'unknown') throw notFound('key', id);
      if (outcome === 'last') {
        throw new AppError(
          'last_key',
          'This is the last live API key of the account with the scope "full". Create another one with POST /v1/keys first.',
        );
      }
      context.guard.forget();
      await context.held.recheck();
    },
  });
}

/** Parses a future time. @throws AppError `invalid_request`, also for leap seconds: `Date` rejects them */
function futureTime(text: string, now: number): number {
  const time = Date.parse(text);
  if (time > now && time <= END_OF_TIME) return time;
  throw invalidField(
    '/expiresAt',
    `"expiresAt" must be a time in the future and before the year 10000, not ${quoted(text)}.`,
  );
}

function toKey({ id, name, scope, prefix, createdAt, expiresAt, lastUsedAt }: ListedKey): Key {
  return {
    ...{ id, name, scope, prefix },
    createdAt: toTime(createdAt),
    expiresAt: toTimeOrNull(expiresAt),
    lastUsedAt: toTimeOrNull(lastUsedAt),
  };
}

export function domainRoutes(app: App, { options, deps }: RouteContext): void {
  routesOf(app, 'Addresses')('GET /v1/domains', {
    access: 'account:read',
    operationId: 'listDomains',
    summary: 'List domains',
    description: 'The domains that the account may use for inboxes: shared ones and its own.',
    response: { 200: json(DomainList, 'The domains.') },
    handler: async (request) => {
      const owned = await deps.store.domains.list(keyCaller(request).account.id);
      return { domains: usableDomains(options.domains, owned) };
    },
  });
}
