import { randomBytes } from 'node:crypto';
import { MAX_WAIT } from '@mayfly/client/contract';
import { Api, type Call, MAILHOG, MAILPIT, Mailbox, Refused, type Reply, type Route } from '@mayfly/dialects';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../errors.ts';
import { assertLocal, assertSameOrigin } from '../access/credential.ts';
import type { App, RouteContext } from '../context.ts';

/** Shows that a request comes from a dialect of this process, which has checked and counted it. */
export const DIALECT_HEADER = 'x-mayfly-dialect';
export const dialectSecret = (): string => randomBytes(24).toString('base64url');

/** Enough for a mail with a few attachments in base64; larger ones come by SMTP. */
const MAX_SENT_BYTES = 8 * 1024 * 1024;
/** Bodies of that size in memory at once. */
const MAX_SENDING = 8;

/** An attachment may be a page or a picture with a script, and its origin is the console's: it runs and loads nothing. */
const PART_CSP = "default-src 'none'; sandbox";

const BASIC = /^basic +([A-Za-z0-9+/]+=*) *$/i;
const CHALLENGE = { 'www-authenticate': 'Basic realm="Mayfly: an API key or a read token as password"' };

/** The credential of a request as our API takes it: the password of HTTP Basic (RFC 7617), or a bearer token. */
function authorizationOf(request: FastifyRequest, { options, deps }: RouteContext): string {
  const { authorization, origin, 'sec-fetch-site': site } = request.headers;
  if (authorization === undefined) {
    if (deps.devAccountId === undefined) throw new AppError('unauthorized', 'A password is missing.');
    assertLocal(request, options.publicUrl);
    return 'Bearer dev';
  }
  // A browser adds a stored password to requests of any page.
  if (origin !== undefined || site !== undefined) assertSameOrigin(request, options.publicUrl);
  const pair = BASIC.exec(authorization)?.[1];
  if (pair === undefined) return authorization;
  const [user, ...password] = Buffer.from(pair, 'base64').toString().split(':');
  return `Bearer ${password.join(':') || user}`;
}

/** How long a list may be held. @throws Refused 400 for what is no number of seconds */
function waitOf({ headers, query }: FastifyRequest): number {
  const given = (query as { wait?: string }).wait ?? headers['x-wait'] ?? '0';
  const seconds = /^\d{1,3}$/.test(String(given)) ? Number(given) : Number.NaN;
  if (seconds <= MAX_WAIT) return seconds;
  throw new Refused(400, `wait must be a number of seconds up to ${MAX_WAIT}`);
}

/** The interfaces of other programs, translated to requests of our own API within this process. */
export function dialectRoutes(app: App, context: RouteContext, dialect: 'mailpit' | 'mailhog'): void {
  const { guard, admission, dialectSecret: secret } = context;
  let sending = 0;

  const answer = async (route: Route, request: FastifyRequest): Promise<Reply> => {
    const authorization = authorizationOf(request, context);
    const asking = { authorization, access: 'any', inboxId: undefined } as const;
    const caller = await guard.check(asking, (account, key) =>
      admission.admit(account, key, false, (admitted) => {
        request.admitted = admitted;
      }),
    );
    const api = new Api(async ({ method, path, body, type }) => {
      const response = await app.inject({
        method: method as 'GET',
        url: path,
        headers: {
          authorization,
          host: request.headers.host ?? 'localhost',
          [DIALECT_HEADER]: secret,
          ...(type !== undefined && { 'content-type': type }),
        },
        remoteAddress: request.ip,
        ...(body !== undefined && { payload: Buffer.from(body) }),
      });
      return {
        status: response.statusCode,
        headers: response.headers as Record<string, string>,
        body: response.rawPayload,
      };
    });
    const call: Call = {
      path: request.params as Record<string, string>,
      query: new URLSearchParams(request.url.split('?')[1] ?? ''),
      body: (request.body as Buffer | undefined) ?? Buffer.alloc(0),
      mailbox: new Mailbox(api, caller.key ? undefined : caller.inbox?.id),
      wait: waitOf(request),
    };
    return route.answer(call);
  };

  const send = (reply: FastifyReply, { status = 200, type, headers = {}, body }: Reply): FastifyReply =>
    reply
      .code(status)
      .header('content-type', type)
      .headers(headers)
      .send(typeof body === 'string' ? body : Buffer.from(body));

  /** Our own errors in the words of the other program: plain text. */
  const refuse = (reply: FastifyReply, error: unknown): FastifyReply => {
    if (error instanceof Refused)
      return send(reply, { status: error.status, type: 'text/plain', body: error.message });
    if (!(error instanceof AppError) || error.code !== 'unauthorized') throw error;
    return send(reply, { status: 401, type: 'text/plain', headers: CHALLENGE, body: error.message });
  };

  app.register(async (scope: App) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
    for (const route of dialect === 'mailhog' ? MAILHOG : MAILPIT) {
      const { method, url } = route;
      const isSend = method === 'POST';
      scope.route({
        method,
        url,
        config: { access: 'public' },
        schema: method === 'GET' ? {} : { body: {} },
        ...(isSend && { bodyLimit: MAX_SENT_BYTES }),
        onRequest: async (request) => {
          if (!isSend) return;
          if (sending >= MAX_SENDING)
            throw new AppError(
              'unavailable',
              'Too many mails are being sent at once. Retry after 1 second.',
              {
                retryAfterSeconds: 1,
              },
            );
          sending++;
          request.raw.once('close', () => {
            sending--;
          });
        },
        handler: async (request, reply) => {
          try {
            const made = await answer(route, request);
            if (url.includes('/part/')) reply.header('content-security-policy', PART_CSP);
            return send(reply, made);
          } catch (error) {
            return refuse(reply, error);
          }
        },
      });
    }
    scope.get('/livez', { config: { access: 'public' } }, async (_request, reply) => reply.send(''));
  });
}
