import type { App, RouteContext } from '../context.ts';

export function operationRoutes(app: App, { options, deps }: RouteContext): void {
  if (!options.console) {
    app.get('/', { config: { access: 'public' } }, (_request, reply) => reply.redirect('/docs', 302));
  }

  app.get('/healthz', { config: { access: 'public' } }, async () => ({ status: 'alive' }));

  app.get('/readyz', { config: { access: 'public' } }, async () => {
    await deps.store.ping();
    return { status: 'ready' };
  });

  if (!options.metrics) return;
  app.get('/metrics', { config: { access: 'public' } }, async (_request, reply) =>
    reply.type(deps.metrics.contentType).send(await deps.metrics.metrics()),
  );
}
