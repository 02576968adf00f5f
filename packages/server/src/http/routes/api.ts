import * as contract from '@mayfly/client/contract';
import type { TSchema } from 'typebox';
import type { App, RouteContext } from '../context.ts';
import { accountMessageRoutes } from './account-messages.ts';
import { accountRoutes } from './accounts.ts';
import { addressRoutes } from './addresses.ts';
import { attachmentRoutes } from './attachments.ts';
import { deliveryRoutes } from './deliveries.ts';
import { domainRoutes } from './domains.ts';
import { eventRoutes } from './events.ts';
import { inboxRoutes } from './inboxes.ts';
import { injectionRoutes } from './injection.ts';
import { keyRoutes } from './keys.ts';
import { messageRoutes } from './messages.ts';
import { usageRoutes } from './usage.ts';
import { waitRoutes } from './wait.ts';
import { webhookRoutes } from './webhooks.ts';

const isNamed = (value: unknown): value is TSchema & { $id: string } =>
  typeof value === 'object' && value !== null && '$id' in value;

/** Adds the whole API, and the contract's named schemas, which its routes refer to. */
export function apiRoutes(app: App, context: RouteContext): void {
  for (const schema of Object.values(contract)) {
    if (isNamed(schema)) app.addSchema(schema);
  }
  inboxRoutes(app, context);
  addressRoutes(app, context);
  messageRoutes(app, context);
  injectionRoutes(app, context);
  accountMessageRoutes(app, context);
  attachmentRoutes(app, context);
  waitRoutes(app, context);
  eventRoutes(app, context);
  webhookRoutes(app, context);
  deliveryRoutes(app, context);
  keyRoutes(app, context);
  usageRoutes(app, context);
  domainRoutes(app, context);
  accountRoutes(app, context);
}
