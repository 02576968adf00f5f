import type { FastifyRequest } from 'fastify';
import type { App, HttpDeps, RouteContext } from '../context.ts';
import { assertReadable } from '../request/headers.ts';
import { type KnownPaths, nothingThere } from '../request/paths.ts';
import { setCommonHeaders } from '../response/finish.ts';
import { Admission } from './admission.ts';
import type { Cors } from './cors.ts';
import { assertLocal, isDevKey } from './credential.ts';
import { type Caller, Guard } from './guard.ts';
import { sessionSecret } from './session.ts';

/** Authentication and limits of all requests to routes that are not public. */
export type Gate = Pick<RouteContext, 'guard' | 'admission'>;

export const createGate = (deps: HttpDeps): Gate => ({
  guard: new Guard(deps),
  admission: new Admission(deps.plans, deps.rate, deps.usage, () => deps.clock.now()),
});

/** True for an empty path parameter, which a trailing or doubled slash leaves. */
const hasEmptyPart = ({ params }: FastifyRequest): boolean =>
  Object.entries(params as Record<string, string>).some(([name, value]) => value === '' && name !== '*');

/** Replaces NUL in path parameters, in place: no id has one, and PostgreSQL rejects a query with it. */
function replaceNul(params: Record<string, string>): void {
  for (const [name, value] of Object.entries(params)) {
    if (value.includes('\0')) params[name] = value.replaceAll('\0', '\ufffd');
  }
}

/** Checks each request before its body is read: headers, path, credential, limits. */
export function guardRequests(
  app: App,
  { options, deps, guard, admission }: RouteContext,
  cors: Cors,
  known: KnownPaths,
): void {
  app.decorateRequest('caller', null);
  app.decorateRequest('admitted', null);
  app.decorateRequest('session', undefined);

  const check = async (request: FastifyRequest): Promise<Caller | null> => {
    assertReadable(request);
    // Before the body is parsed: an error in the body would hide that the path is wrong.
    if (request.is404 || hasEmptyPart(request)) throw nothingThere(request, known);
    replaceNul(request.params as Record<string, string>);
    const { access = 'account:write', free = false } = request.routeOptions.config;
    if (access === 'public') return null;
    const { id: inboxId } = request.params as { id?: string };
    const { authorization } = request.headers;
    if (deps.devAccountId !== undefined && isDevKey(authorization)) assertLocal(request, options.publicUrl);
    request.session = sessionSecret(request, options.publicUrl);
    const { session } = request;
    return guard.check({ authorization, session, access, inboxId }, (account, key) =>
      admission.admit(account, key, free, (admitted) => {
        request.admitted = admitted;
      }),
    );
  };

  app.addHook('onRequest', (request, reply, done) => {
    setCommonHeaders(request, reply);
    cors.allow(request, reply);
    if (cors.respondToPreflight(request, reply)) return;
    check(request).then((caller) => {
      request.caller = caller;
      done();
    }, done);
  });
}
