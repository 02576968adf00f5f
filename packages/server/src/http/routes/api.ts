import * as contract from '@mayfly/client/contract';
import type { TSchema } from 'typebox';
import type { App, RouteContext } from '../context.ts';
import { accountRoutes } from './account/accounts.ts';
import { keyRoutes } from './account/keys.ts';
import { usageRoutes } from './account/usage.ts';
import { addressRoutes } from './inboxes/addresses.ts';
import { domainRoutes } from './inboxes/domains.ts';
import { faultRoutes } from './inboxes/faults.ts';
import { inboxRoutes } from './inboxes/inboxes.ts';
import { recordingRoutes } from './inboxes/recordings.ts';
import { reportRoutes } from './inboxes/reports.ts';
import { accountMessageRoutes } from './messages/account-messages.ts';
import { attachmentRoutes } from './messages/attachments.ts';
import { eventRoutes } from './messages/events.ts';
import { injectionRoutes } from './messages/injection.ts';
import { lintRoutes } from './messages/lint.ts';
import { messageListRoute } from './messages/message-list.ts';
import { messageRoutes } from './messages/messages.ts';
import { previewRoutes } from './messages/preview.ts';
import { refusalRoutes } from './messages/refusals.ts';
import { timelineRoutes } from './messages/timeline.ts';
import { waitRoutes } from './messages/wait.ts';
import { deliveryRoutes } from './webhooks/deliveries.ts';
import { webhookRoutes } from './webhooks/webhooks.ts';

const isNamed = (value: unknown): value is TSchema & { $id: string } =>
  typeof value === 'object' && value !== null && '$id' in value;

/** Adds the whole API, and the contract's named schemas, which its routes refer to. */
export function apiRoutes(app: App, context: RouteContext): void {
  for (const schema of Object.values(contract)) {
    if (isNamed(schema)) app.addSchema(schema);
  }
  inboxRoutes(app, context);
  faultRoutes(app, context);
  recordingRoutes(app, context);
  reportRoutes(app, context);
  addressRoutes(app, context);
  messageListRoute(app, context);
  messageRoutes(app, context);
  injectionRoutes(app, context);
  accountMessageRoutes(app, context);
  attachmentRoutes(app, context);
  previewRoutes(app, context);
  lintRoutes(app, context);
  timelineRoutes(app, context);
  refusalRoutes(app, context);
  waitRoutes(app, context);
  eventRoutes(app, context);
  webhookRoutes(app, context);
  deliveryRoutes(app, context);
  keyRoutes(app, context);
  usageRoutes(app, context);
  domainRoutes(app, context);
  accountRoutes(app, context);
}
