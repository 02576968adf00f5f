import { DomainList } from '@mayfly/client/contract';
import { keyCaller } from '../http/access/guard.ts';
import type { App, RouteContext } from '../http/context.ts';
import { json } from '../http/openapi/responses.ts';
import { usableDomains } from './domains.ts';

export function domainRoutes(app: App, { options, deps }: RouteContext): void {
  app.route({
    method: 'GET',
    url: '/v1/domains',
    config: { access: 'account:read' },
    schema: {
      operationId: 'listDomains',
      tags: ['Addresses'],
      summary: 'List domains',
      description: 'The domains that the account may use for inboxes: shared ones and its own.',
      response: { 200: json(DomainList, 'The domains.') },
    },
    handler: async (request) => {
      const owned = await deps.store.domains.list(keyCaller(request).account.id);
      const usable = usableDomains(options.domains, owned);
      return {
        domains: usable.map(({ domain, isDefault, shared }) => ({ domain, default: isDefault, shared })),
      };
    },
  });
}
