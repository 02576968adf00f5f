import type { FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';
import type { App, RouteContext } from '../context.ts';
import { unknownPath } from '../request/paths.ts';

/** What operators and tools ask: is it alive, is it ready, how is it doing. */
export function operationRoutes(app: App, { options, deps }: RouteContext): void {
  const hidden = { hide: true };

  app.get('/', { config: { access: 'public' }, schema: hidden }, (_request, reply) =>
    reply.redirect('/docs', 302),
  );

  app.get('/healthz', { config: { access: 'public' }, schema: hidden }, async () => ({ status: 'alive' }));

  app.get('/readyz', { config: { access: 'public' }, schema: hidden }, async () => {
    await deps.store.ping();
    return { status: 'ready' };
  });

  if (options.metrics === 'off') return;
  app.get('/metrics', { config: { access: 'public' }, schema: hidden }, async (request, reply) => {
    if (options.metrics === 'loopback' && !cameByLoopback(request)) {
      throw unknownPath(request.url);
    }
    return reply.type(deps.metrics.contentType).send(await deps.metrics.metrics());
  });
}

/** True for a request that reached a loopback address of this machine. */
function cameByLoopback({ socket }: FastifyRequest): boolean {
  const { localAddress } = socket;
  return localAddress !== undefined && ipaddr.process(localAddress).range() === 'loopback';
}
