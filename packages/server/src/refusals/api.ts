import { DEFAULT_LIMIT, RefusalList, RefusalQuery, type RefusedMail } from '@mayfly/client/contract';
import { keyCaller } from '../http/access/guard.ts';
import type { App, RouteContext } from '../http/context.ts';
import { json } from '../http/openapi/responses.ts';
import { toTime } from '../http/response/time.ts';
import { routesOf } from '../http/route.ts';
import { addressOf } from '../inboxes/address-parameters.ts';
import { timeOf } from '../messages/cursor.ts';
import type { Refusal } from './sql.ts';

export const toRefusedMail = (refusal: Refusal): RefusedMail => {
  const { at, address, reply, mailFrom, helo, remoteAddress, fault = null, via } = refusal;
  return { at: toTime(at), address, reply, mailFrom, helo, remoteAddress, fault, ...(via && { via }) };
};

export function refusalRoutes(app: App, { deps: { store, clock } }: RouteContext): void {
  routesOf(app, 'Messages')('GET /v1/refusals', {
    access: 'account:read',
    operationId: 'listRefusals',
    summary: 'List refused mail',
    description:
      'Mail that SMTP refused within the last 24 hours, newest first: for addresses that the account has, holds, or had within the last 7 days, and for all addresses of its own domains. On a server with one account, also for addresses that no account ever had. The server keeps at most 50 refusals of an address and 10,000 in all.',
    querystring: RefusalQuery,
    response: { 200: json(RefusalList, 'The newest refusals.') },
    handler: async (request) => {
      const { account } = keyCaller(request);
      const { since, address, limit = DEFAULT_LIMIT } = request.query;
      const page = { after: since === undefined ? 0 : timeOf(since), limit: limit + 1 };
      const query = { ...page, ...(address !== undefined && { address: addressOf(address) }) };
      const found = await store.refusals.listByAccount(account.id, query, clock.now());
      return { refusals: found.slice(0, limit).map(toRefusedMail), hasMore: found.length > limit };
    },
  });
}
