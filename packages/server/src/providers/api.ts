import { ProviderParams, ProviderSettings, ref, SetProvider } from '@mayfly/client/contract';
import { keyCaller } from '../http/access/guard.ts';
import type { App, RouteContext } from '../http/context.ts';
import { empty, json } from '../http/openapi/responses.ts';
import { baseUrl } from '../http/request/inputs.ts';
import { type AddRoute, routesOf } from '../http/route.ts';
import { newId } from '../ids.ts';
import { PERMANENT_UNTIL } from '../inboxes/records.ts';
import { findSettings, type ProviderSettingsRecord, providerNamed, settingsItem } from './settings.ts';

const URL = '/v1/providers/:name';

type Name = ProviderSettings['name'];

async function shown(name: Name, settings: ProviderSettingsRecord): Promise<ProviderSettings> {
  const { webhookUrl, inboundUrl, secrets } = settings;
  return { name, webhookUrl, inboundUrl, verification: (await providerNamed(name)).shown(secrets) };
}

export function providerSettingsRoutes(app: App, context: RouteContext): void {
  const { store, clock } = context.deps;
  const route = routesOf(app, 'Providers');
  changingRoute(route, context);

  route(`GET ${URL}`, {
    access: 'account:read',
    operationId: 'getProvider',
    summary: 'Show where the events of a provider go',
    description: 'The settings of a provider, with what verifies its events.',
    params: ProviderParams,
    response: { 200: json(ProviderSettings, 'The settings.') },
    handler: async (request) => {
      const { name } = request.params;
      const settings = await findSettings(store, keyCaller(request).account.id, name, clock.now());
      return settings
        ? shown(name, settings)
        : { name, webhookUrl: null, inboundUrl: null, verification: {} };
    },
  });

  route(`DELETE ${URL}`, {
    access: 'account:write',
    operationId: 'deleteProvider',
    summary: 'Remove the settings of a provider',
    description: 'Removes the URLs and the keys. Events that are still to be sent fail.',
    params: ProviderParams,
    response: { 204: empty('There are no settings.') },
    handler: async (request) => {
      const { name } = request.params;
      await store.providerItems.remove(settingsItem(keyCaller(request).account.id, name));
    },
  });
}

function changingRoute(route: AddRoute, { options, deps }: RouteContext): void {
  const { store, clock, newWebhooks, events } = deps;

  route(`PUT ${URL}`, {
    access: 'account:write',
    errors: ['webhook_url_refused'],
    operationId: 'setProvider',
    summary: 'Set where the events of a provider go',
    description:
      'Sets the URL to which events of the provider are posted, signed as the provider signs them, and the URL for replies in its inbound format. The keys are made once; the response has what verifies them. Amazon SES first asks the URL to confirm the subscription, as SNS does.',
    params: ProviderParams,
    body: ref(SetProvider),
    response: { 200: json(ProviderSettings, 'The settings.') },
    handler: async (request) => {
      const { id: accountId } = keyCaller(request).account;
      const { name } = request.params;
      const checked = (url?: string) => (url === undefined ? null : newWebhooks.checkUrl(url));
      const { body } = request;
      const [webhookUrl, inboundUrl] = await Promise.all([
        checked(body.webhookUrl),
        checked(body.inboundUrl),
      ]);
      const provider = await providerNamed(name);
      const before = await findSettings(store, accountId, name, clock.now());
      const settings: ProviderSettingsRecord = {
        webhookUrl,
        inboundUrl,
        secrets: before?.secrets ?? (await provider.makeSecrets()),
        baseUrl: `${baseUrl(options.publicUrl, request)}/providers/${name}/files/${accountId}`,
      };
      await store.providerItems.keep(settingsItem(accountId, name), settings, PERMANENT_UNTIL);
      if (provider.handshake && settings.webhookUrl !== null) {
        const now = clock.now();
        const id = newId('out', now);
        const details = { via: name, to: [settings.webhookUrl] };
        await store.outgoing.add([{ id, accountId, kind: 'handshake', details, dueAt: now }], now);
        events.publishDeliveries();
      }
      return shown(name, settings);
    },
  });
}
