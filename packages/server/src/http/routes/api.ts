import { accountRoutes, domainRoutes, keyRoutes } from '../../accounts/api.ts';
import { faultRoutes } from '../../faults/api.ts';
import { injectionRoutes } from '../../inbound/inject-api.ts';
import { inboxRoutes } from '../../inboxes/api.ts';
import { messageRoutes } from '../../messages/api.ts';
import { attachmentRoutes } from '../../messages/attachments-api.ts';
import { eventRoutes } from '../../messages/events-api.ts';
import { listRoutes } from '../../messages/list-api.ts';
import { previewRoutes } from '../../messages/preview-api.ts';
import { timelineRoutes } from '../../messages/timeline-api.ts';
import { outgoingRoutes } from '../../outgoing/api.ts';
import { providerSettingsRoutes } from '../../providers/api.ts';
import { recordingRoutes } from '../../recordings/api.ts';
import { refusalRoutes } from '../../refusals/api.ts';
import { reportRoutes } from '../../reports/api.ts';
import { usageRoutes } from '../../usage/api.ts';
import { waitRoutes } from '../../waits/api.ts';
import { webhookRoutes } from '../../webhooks/api.ts';
import type { App, RouteContext } from '../context.ts';

export function apiRoutes(app: App, context: RouteContext): void {
  inboxRoutes(app, context);
  faultRoutes(app, context);
  recordingRoutes(app, context);
  outgoingRoutes(app, context);
  providerSettingsRoutes(app, context);
  reportRoutes(app, context);
  listRoutes(app, context);
  messageRoutes(app, context);
  injectionRoutes(app, context);
  attachmentRoutes(app, context);
  previewRoutes(app, context);
  timelineRoutes(app, context);
  refusalRoutes(app, context);
  waitRoutes(app, context);
  eventRoutes(app, context);
  webhookRoutes(app, context);
  keyRoutes(app, context);
  usageRoutes(app, context);
  domainRoutes(app, context);
  accountRoutes(app, context);
}

export function operationRoutes(app: App, { options, deps }: RouteContext): void {
  if (options.console === 'off') {
    app.get('/', { config: { access: 'public' } }, (_request, reply) => reply.redirect('/docs', 302));
  }

  app.get('/healthz', { config: { access: 'public' } }, async () => ({ status: 'alive' }));

  app.get('/readyz', { config: { access: 'public' } }, async () => {
    await deps.store.ping();
    return { status: 'ready' };
  });

  if (options.metrics === 'off') return;
  app.get('/metrics', { config: { access: 'public' } }, async (_request, reply) =>
    reply.type(deps.metrics.contentType).send(await deps.metrics.metrics()),
  );
}
