import type { Reply } from '@mayfly/dialects';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RouteContext } from '../context.ts';
import { assertLocal, assertSameOrigin, isDevKey } from './credential.ts';

/** Authenticates and counts a request before its body is read. @param authorization in Mayfly's own form */
export async function admitTranslated(
  request: FastifyRequest,
  authorization: string,
  { options, guard, admission }: RouteContext,
): Promise<void> {
  const { origin, 'sec-fetch-site': site } = request.headers;
  if (isDevKey(authorization))
    assertLocal(request, options.publicUrl, options.devKey === 'open' ? (options.hosts ?? []) : null);
  // Check the origin, because a browser adds a stored password to requests of any page.
  else if (origin !== undefined || site !== undefined) assertSameOrigin(request, options.publicUrl);
  const asking = { authorization, access: 'any', inboxId: undefined } as const;
  request.caller = await guard.check(asking, (account, key) => admission.admit(request, account, key, false));
}

/** Sends bytes, because Fastify adds a charset to strings. */
export const sendTranslated = (reply: FastifyReply, { status = 200, type, headers = {}, body }: Reply) =>
  reply.code(status).header('content-type', type).headers(headers).send(Buffer.from(body));
