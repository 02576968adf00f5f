import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { AppError } from '../errors.ts';
import { assertSameOrigin, sessionCookie, sessionEnded } from '../http/access/credential.ts';
import { type Caller, callerOf } from '../http/access/guard.ts';
import type { App, RouteContext } from '../http/context.ts';
import { toTimeOrNull } from '../http/response/time.ts';
import { hashCredential, newCredential } from '../ids.ts';
import { VERSION } from '../version.ts';
import type { SessionRecord } from './sql.ts';

const SESSION = '/console/session';

/** Adds sign-in and sign-out of the console. Not in the OpenAPI document: other clients have no sessions. */
export function sessionRoutes(app: App, { options, deps, held }: RouteContext): void {
  const { store, clock, signInCodes } = deps;

  const open = async (reply: FastifyReply, of: Pick<SessionRecord, 'credentialHash' | 'kind'>) => {
    const secret = newCredential('mfs');
    await store.sessions.create({ ...of, hash: hashCredential(secret), createdAt: clock.now() });
    return withCookie(reply, secret);
  };
  const withCookie = (reply: FastifyReply, secret: string): FastifyReply => {
    const cookie = sessionCookie(reply.request, secret, options.publicUrl);
    return reply.code(204).header('set-cookie', cookie).send();
  };

  app.post(SESSION, { config: { access: 'any', free: true } }, async (request, reply) => {
    const { authorization } = request.headers;
    // A session must not create another one: a chain of sessions could last longer than a week, the limit.
    if (authorization === undefined) throw signInAgain();
    const { key } = callerOf(request);
    const text = authorization.replace(/^bearer +/i, '').trim();
    return open(reply, { credentialHash: hashCredential(text), kind: key ? 'key' : 'token' });
  });

  const schema = { body: Type.Object({ code: Type.String({ maxLength: 100 }) }) };
  app.post(`${SESSION}/code`, { config: { access: 'public' }, schema }, async (request, reply) => {
    assertSameOrigin(request, options.publicUrl);
    const accountId = signInCodes.redeem(request.body.code, clock.monotonic());
    const credentialHash = accountId && (await store.keys.newestHash(accountId, clock.now()));
    if (!credentialHash) throw codeUsed();
    return open(reply, { credentialHash, kind: 'key' });
  });

  app.get(SESSION, { config: { access: 'any', free: true } }, async (request, reply) => {
    reply.header('cache-control', 'no-store');
    const { domains, sink } = options;
    const server = { version: VERSION, domains, smtp: deps.smtp?.endpoint() ?? null, sink: sink === 'on' };
    return { ...whoIs(callerOf(request)), server };
  });

  app.delete(SESSION, { config: { access: 'any', free: true } }, async (request, reply) => {
    if (request.session === undefined) throw sessionEnded();
    await store.sessions.delete(hashCredential(request.session));
    await held.recheck();
    return withCookie(reply, '');
  });
}

function whoIs({ account, key, inbox }: Caller) {
  return {
    scope: key ? key.key.scope : 'inbox',
    account: key ? { id: account.id, name: account.name, plan: account.plan } : null,
    key: key ? { id: key.key.id, name: key.key.name, expiresAt: toTimeOrNull(key.key.expiresAt) } : null,
    inbox: key || !inbox ? null : { id: inbox.id, address: inbox.address },
  };
}

const signInAgain = (): AppError =>
  new AppError('unauthorized', 'A session is created with an Authorization header. Sign in with an API key.');

const codeUsed = (): AppError =>
  new AppError(
    'unauthorized',
    'This sign-in link was used before, or the server was restarted. Sign in with an API key, or start the server again for a new link.',
  );
