import type { Readable } from 'node:stream';
import { type Provider, Refused, type Reply, type Route } from '@mayfly/providers/border';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { plainAddress, sourceKey } from '../../connection-limiter.ts';
import { AppError } from '../../errors.ts';
import { readMessage } from '../../inbound/incoming-mail.ts';
import { Disconnected, mailroomOf, toRefused } from '../../inbound/mailroom.ts';
import { findSettings } from '../../providers/settings.ts';
import { callerOf } from '../access/guard.ts';
import { admitTranslated, sendTranslated } from '../access/translated.ts';
import type { App, HttpDeps, RouteContext } from '../context.ts';
import { withStreams } from '../request/inputs.ts';
import { unknownPath } from '../request/paths.ts';
import { INTERNAL_ERROR, toAppError } from '../response/problems.ts';

/** Credentials that can be sent as bearer tokens. All others are replaced by `-`, which is no valid token. */
const CREDENTIAL = /^[\w.~+/=-]{1,200}$/;
const PREFIX = /^\/providers\/[^/?]+/;
/** Path of a public file of an account, such as a certificate, below `/providers/{name}`. */
const FILES = /^\/files\/(acc_\w{1,40})(\/.*)?$/;
const NO_CREDENTIAL =
  'The request has no API key. Use an API key of Mayfly (mfk_…) or the read token of an inbox (mft_…) as the key of the provider; "dev" on the machine of "mayfly dev".';

const baseAdvice = ({ name }: Provider): string =>
  `Check the base URL of the client: nearly all need one that ends with "/providers/${name}", without a slash (docs/providers.md).`;

interface Imitated {
  provider: Provider;
  routes: [RegExp, Route][];
}

function createFind() {
  let loaded: Promise<Map<string, Imitated>> | undefined;
  const load = async () => {
    const { PROVIDERS } = await import('@mayfly/providers');
    const all = PROVIDERS.map((provider): [string, Imitated] => {
      const routes = provider.routes.map((route): [RegExp, Route] => [patternOf(route.url), route]);
      return [provider.name, { provider, routes }];
    });
    return new Map(all);
  };
  return async ({ params, url }: Pick<FastifyRequest, 'params' | 'url'>) => {
    loaded ??= load();
    const found = (await loaded).get((params as { provider: string }).provider);
    if (!found) throw unknownPath(url, 'The address of a provider begins with /providers/ and its name.');
    return found;
  };
}

const patternOf = (url: string): RegExp =>
  new RegExp(`^${url.replaceAll(/[.+*?()[\]]/g, '\\$&').replaceAll(/:(\w+)/g, '(?<$1>[^/]+)')}/?$`);

const pathIn = (url: string): string => url.replace(PREFIX, '').split('?', 1)[0] || '/';

const bodyOf = ({ body }: FastifyRequest) => body as Readable | undefined;

const isFile = ({ method, url }: FastifyRequest): boolean => method === 'GET' && FILES.test(pathIn(url));

function match(routes: readonly [RegExp, Route][], { method, url }: FastifyRequest) {
  for (const [pattern, route] of routes) {
    const found = route.method === method ? pattern.exec(pathIn(url)) : null;
    if (!found) continue;
    const parameters = Object.entries(found.groups ?? {});
    return { route, path: Object.fromEntries(parameters.map(([name, value]) => [name, decoded(value)])) };
  }
  return undefined;
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

const headersOf = ({ headers }: FastifyRequest): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value].flat().join(', ')]));

/** A public file, such as the certificate with which an application verifies events. */
async function fileAt(url: string, { name, files }: Provider, { store, clock }: HttpDeps): Promise<Reply> {
  const [, accountId = '', path = ''] = FILES.exec(pathIn(url)) ?? [];
  const settings = files && (await findSettings(store, accountId, name, clock.now()));
  const file = settings && files(path, settings.secrets);
  if (!file) throw unknownPath(url);
  return file;
}

async function respond(
  request: FastifyRequest,
  reply: FastifyReply,
  { provider, routes }: Imitated,
  { options, deps }: RouteContext,
): Promise<FastifyReply> {
  const found = match(routes, request);
  if (!found) throw unknownPath(request.url, baseAdvice(provider));
  const { account, key, inbox } = callerOf(request);
  const remoteAddress = plainAddress(request.ip);
  const leaving = new AbortController();
  reply.raw.once('close', () => leaving.abort());
  const mailroom = mailroomOf({
    ...deps,
    domain: options.domains[0] ?? 'localhost',
    ...{ provider: provider.name, title: provider.title, accountId: account.id, remoteAddress },
    target: key || !inbox ? null : inbox,
    mayKeep: key?.key.scope !== 'read',
    requestId: request.id,
    signal: leaving.signal,
  });
  const maxBytes = deps.plans.named(account.plan).maxMessageBytes;
  const stream = bodyOf(request);
  const limits = { budget: deps.budget, source: sourceKey(remoteAddress), maxBytes };
  const read = stream && (await readMessage(stream, limits));
  try {
    const made = await found.route.answer({
      method: request.method,
      path: found.path,
      query: new URLSearchParams(request.url.split('?')[1] ?? ''),
      headers: headersOf(request),
      body: read?.finish() ?? new Uint8Array(),
      mailroom,
    });
    return sendTranslated(reply, made);
  } finally {
    read?.release();
  }
}

function toRefusal(error: unknown, request: FastifyRequest, { log }: HttpDeps): Refused {
  try {
    return toRefused(toAppError(error, request) ?? error);
  } catch {
    log.error({ requestId: request.id, err: error }, 'A request to a provider failed');
    return new Refused(500, INTERNAL_ERROR);
  }
}

/** Adds the APIs of the imitated providers, at `/providers/{name}`. Mail sent there goes to inboxes. */
export function providerRoutes(app: App, context: RouteContext): void {
  const { deps } = context;
  const find = createFind();

  const admit = async (request: FastifyRequest): Promise<void> => {
    const { provider } = await find(request);
    if (isFile(request)) return;
    const credential = provider.credentialOf(headersOf(request));
    if (credential === undefined) throw new AppError('unauthorized', NO_CREDENTIAL);
    await admitTranslated(request, `Bearer ${CREDENTIAL.test(credential) ? credential : '-'}`, context);
  };

  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const imitated = await find(request);
    return isFile(request)
      ? sendTranslated(reply, await fileAt(request.url, imitated.provider, deps))
      : respond(request, reply, imitated, context);
  };

  const refuse = async (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    if (error instanceof Disconnected) {
      reply.hijack();
      request.raw.socket.destroy();
      return undefined;
    }
    const { provider } = await find(request);
    bodyOf(request)?.resume();
    const refusal = toRefusal(error, request, deps);
    if (error instanceof AppError && error.details.retryAfterSeconds !== undefined)
      reply.header('retry-after', Math.ceil(error.details.retryAfterSeconds));
    const path = request.params as Record<string, string>;
    const call = { headers: headersOf(request), path, url: pathIn(request.url) };
    return sendTranslated(reply, provider.refusal(refusal, call));
  };

  withStreams(app, ['*'], (scope) => {
    scope.setErrorHandler(refuse);
    for (const url of ['/providers/:provider', '/providers/:provider/*'])
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const)
        scope.route({
          ...{ method, url, config: { access: 'public' } },
          schema: method === 'GET' ? {} : { body: {} },
          onRequest: admit,
          handler: answer,
        });
  });
}
