import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { MAX_WAIT } from '@mayfly/client/contract';
import {
  Api,
  createChanges,
  createWebSockets,
  MAILHOG,
  MAILPIT,
  MAX_FOLLOWERS,
  Mailbox,
  type Owner,
  Refused,
  type Route,
  sendEvents,
  type WebSocket,
} from '@mayfly/dialects';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError, messageOf } from '../../errors.ts';
import { DIALECT_HEADER } from '../access/gate.ts';
import { callerOf } from '../access/guard.ts';
import { admitTranslated, sendTranslated } from '../access/translated.ts';
import type { App, RouteContext } from '../context.ts';
import { MAX_BODY_BYTES } from '../limits.ts';

/** Limit of a request that sends mail over an imitated API. Larger mails can use SMTP. */
const MAX_SENT_BYTES = 8 * 1024 * 1024;
/** Limit of concurrent requests that send mail, because their bodies are kept in memory. */
const MAX_SENDING = 8;

/** Attachments are served from the console's origin and may contain scripts. */
const PART_CSP = "default-src 'none'; sandbox";

const BASIC = /^basic +([A-Za-z0-9+/]+=*) *$/i;
const CHALLENGE = { 'www-authenticate': 'Basic realm="Mayfly: an API key or a read token as password"' };

/** Converts HTTP Basic (RFC 7617) or a bearer token to Mayfly's Authorization header; default: the development key. */
function authorizationOf({ headers }: FastifyRequest, { deps }: RouteContext): string {
  const { authorization } = headers;
  if (authorization === undefined && !deps.hasDevKey)
    throw new AppError('unauthorized', 'A password is missing.');
  return authorization === undefined ? 'Bearer dev' : bearerOf(authorization);
}

function bearerOf(authorization: string): string {
  const pair = BASIC.exec(authorization)?.[1];
  if (pair === undefined) return authorization;
  const [user, ...password] = Buffer.from(pair, 'base64').toString().split(':');
  return `Bearer ${password.join(':') || user}`;
}

function waitOf({ headers, query }: FastifyRequest): number {
  const given = (query as { wait?: string }).wait ?? headers['x-wait'] ?? '0';
  const seconds = /^\d{1,3}$/.test(String(given)) ? Number(given) : Number.NaN;
  if (seconds <= MAX_WAIT) return seconds;
  throw new Refused(400, `wait must be a number of seconds up to ${MAX_WAIT}`);
}

function sendRefusal(error: unknown, reply: FastifyReply): FastifyReply {
  const refusal = { type: 'text/plain', body: messageOf(error) };
  if (error instanceof Refused) return sendTranslated(reply, { ...refusal, status: error.status });
  if (!(error instanceof AppError) || error.code !== 'unauthorized') throw error;
  return sendTranslated(reply, { ...refusal, status: 401, headers: CHALLENGE });
}

const EVENTS = '/api/events';

/** Mailpit's WebSocket. Upgrade requests are routed like others, so that the same checks and limits apply. */
function eventsRoute(
  app: App,
  scope: App,
  onRequest: (request: FastifyRequest) => Promise<void>,
  follow: (socket: WebSocket, request: FastifyRequest) => void,
): void {
  const followers = createWebSockets();
  const upgrades = new WeakMap<IncomingMessage, [Socket, Buffer]>();
  // Other upgrades are ignored: some clients offer HTTP/2 with ordinary requests.
  Object.assign(app.server, { shouldUpgradeCallback: ({ url = '' }) => url.split('?')[0] === EVENTS });
  app.server.on('upgrade', (request, socket: Socket, head) => {
    socket.on('error', () => socket.destroy());
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => socket.destroySoon());
    upgrades.set(request, [socket, head]);
    app.routing(request, response);
  });
  scope.get(EVENTS, { config: { access: 'public' }, onRequest }, async (request, reply) => {
    const upgrade = upgrades.get(request.raw);
    if (!upgrade) throw new Refused(400, 'Bad Request');
    if (followers.clients.size >= MAX_FOLLOWERS)
      throw new AppError('unavailable', `${MAX_FOLLOWERS} clients follow events, the limit of this server.`);
    const [socket, head] = upgrade;
    reply.hijack();
    reply.raw.detachSocket(socket);
    followers.handleUpgrade(request.raw, socket, head, (one) => follow(one, request));
    return reply;
  });
}

/** An API client that calls Mayfly's own API within this process, with the credential and address of a request. */
const apiOf = (app: App, context: RouteContext, request: FastifyRequest): Api =>
  new Api(async ({ method, path, body, type, signal }) => {
    const { statusCode, headers, rawPayload } = await app.inject({
      method: method as 'GET',
      url: path,
      headers: {
        authorization: authorizationOf(request, context),
        host: request.headers.host ?? 'localhost',
        [DIALECT_HEADER]: context.dialectSecret,
        ...(type !== undefined && { 'content-type': type }),
      },
      remoteAddress: request.ip,
      ...(signal && { signal }),
      ...(body !== undefined && { payload: Buffer.from(body) }),
    });
    return { status: statusCode, headers: headers as Record<string, string>, body: rawPayload };
  });

export function dialectRoutes(app: App, context: RouteContext, dialect: 'mailpit' | 'mailhog'): void {
  let sending = 0;

  const admit = async (request: FastifyRequest): Promise<void> => {
    await admitTranslated(request, authorizationOf(request, context), context);
    if (request.method !== 'POST') return;
    if (sending >= MAX_SENDING)
      throw new AppError('unavailable', 'Too many mails are being sent at once. Retry after 1 second.', {
        retryAfterSeconds: 1,
      });
    sending++;
    request.raw.once('close', () => {
      sending--;
    });
  };

  const changes = createChanges();
  const mailboxOf = (request: FastifyRequest): [Mailbox, Owner] => {
    const { account, key, inbox } = callerOf(request);
    const owner = { accountId: account.id, inboxId: key ? undefined : inbox?.id };
    const api = apiOf(app, context, request);
    return [new Mailbox(api, owner.inboxId, (change) => changes.publish(owner, change)), owner];
  };

  const answer = async (route: Route, request: FastifyRequest, reply: FastifyReply) => {
    const [mailbox] = mailboxOf(request);
    const made = await route.answer({
      path: request.params as Record<string, string>,
      query: new URLSearchParams(request.url.split('?')[1] ?? ''),
      body: (request.body as Buffer | undefined) ?? Buffer.alloc(0),
      mailbox,
      wait: waitOf(request),
    });
    if (route.url.includes('/part/')) reply.header('content-security-policy', PART_CSP);
    return sendTranslated(reply, made);
  };

  const follow = (socket: WebSocket, request: FastifyRequest): void => {
    const [mailbox, owner] = mailboxOf(request);
    sendEvents(socket, mailbox, (listener) => changes.subscribe(owner, listener)).catch((err) => {
      context.deps.log.error({ requestId: request.id, err }, 'Events were not sent any further');
    });
  };

  app.register(async (scope: App) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
    scope.setErrorHandler((error, _request, reply) => sendRefusal(error, reply));
    for (const route of dialect === 'mailhog' ? MAILHOG : MAILPIT)
      scope.route({
        method: route.method,
        url: route.url,
        config: { access: 'public' },
        schema: route.method === 'GET' ? {} : { body: {} },
        bodyLimit: route.method === 'POST' ? MAX_SENT_BYTES : MAX_BODY_BYTES,
        onRequest: admit,
        handler: (request, reply) => answer(route, request, reply),
      });
    if (dialect === 'mailpit') eventsRoute(app, scope, admit, follow);
    // Mailpit redirects paths with a doubled slash, which cypress-mailpit requests.
    scope.get('//view/*', { config: { access: 'public' } }, async (request, reply) =>
      reply.redirect(request.url.slice(1), 301),
    );
    scope.get('/livez', { config: { access: 'public' } }, async (_request, reply) => reply.send());
  });
}
