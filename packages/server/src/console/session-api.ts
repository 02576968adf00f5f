import { Type } from 'typebox';
import { AppError } from '../errors.ts';
import { assertSameOrigin, sessionCookie, sessionEnded } from '../http/access/credential.ts';
import { type Caller, callerOf } from '../http/access/guard.ts';
import type { App, RouteContext } from '../http/context.ts';
import { toTimeOrNull } from '../http/response/time.ts';
import { hashCredential } from '../ids.ts';
import { VERSION } from '../version.ts';
import { addSession, type SignInCodes } from './sign-in-codes.ts';
import type { SessionRecord } from './sql.ts';

const SESSION = '/console/session';
/** A code has 37 characters. */
const MAX_CODE = 100;

/** Sign-in and sign-out of the console. Not in the API description: programs send their credential. */
export function sessionRoutes(
  app: App,
  { options, deps, held }: RouteContext,
  signInCodes: SignInCodes,
): void {
  const { store, clock } = deps;

  const open = async (of: Pick<SessionRecord, 'credentialHash' | 'kind'>): Promise<string> =>
    (await addSession(store.sessions, of, clock.now())).secret;

  app.post(SESSION, { config: { access: 'any', free: true } }, async (request, reply) => {
    const { authorization } = request.headers;
    // A session must not create another one, which would outlive its own limit of a week.
    if (authorization === undefined) throw signInAgain();
    const { key } = callerOf(request);
    const text = authorization.replace(/^bearer +/i, '').trim();
    const secret = await open({ credentialHash: hashCredential(text), kind: key ? 'key' : 'token' });
    return reply
      .code(204)
      .header('set-cookie', sessionCookie(request, secret, options.publicUrl))
      .send();
  });

  app.post(
    `${SESSION}/code`,
    {
      config: { access: 'public' },
      schema: { body: Type.Object({ code: Type.String({ maxLength: MAX_CODE }) }) },
    },
    async (request, reply) => {
      assertSameOrigin(request, options.publicUrl);
      const accountId = signInCodes.redeem(request.body.code, clock.monotonic());
      const credentialHash = accountId && (await store.keys.newestHash(accountId, clock.now()));
      if (!credentialHash) throw codeUsed();
      const secret = await open({ credentialHash, kind: 'key' });
      return reply
        .code(204)
        .header('set-cookie', sessionCookie(request, secret, options.publicUrl))
        .send();
    },
  );

  app.get(SESSION, { config: { access: 'any', free: true } }, async (request, reply) => {
    reply.header('cache-control', 'no-store');
    const { domains, smtp = null, sink = false } = options;
    return { ...whoIs(callerOf(request)), server: { version: VERSION, domains, smtp, sink } };
  });

  app.delete(SESSION, { config: { access: 'any', free: true } }, async (request, reply) => {
    if (request.session === undefined) throw sessionEnded();
    await store.sessions.delete(hashCredential(request.session));
    await held.recheck();
    return reply
      .code(204)
      .header('set-cookie', sessionCookie(request, '', options.publicUrl))
      .send();
  });
}

/** Who is signed in, and what the console offers them. */
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
