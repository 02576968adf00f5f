import { AccountMessageList, AccountMessageQuery, DEFAULT_LIMIT } from '@mayfly/client/contract';
import { SECOND_MS } from '../clock.ts';
import { keyCaller } from '../http/access/guard.ts';
import type { App, RouteContext } from '../http/context.ts';
import { ConditionalHeaders, ETAG, json, NOT_MODIFIED } from '../http/openapi/responses.ts';
import { contentTag, sendJson } from '../http/response/etag.ts';
import { listAccountMessages } from './account-list.ts';
import { ListTexts } from './json.ts';
import { listConditions } from './query.ts';

export function accountMessageRoutes(app: App, { held, heldDeps }: RouteContext): void {
  const texts = new ListTexts();

  app.route({
    method: 'GET',
    url: '/v1/messages',
    config: { access: 'account:read' },
    schema: {
      operationId: 'listAccountMessages',
      tags: ['Messages'],
      summary: 'List and search the messages of all inboxes',
      description:
        'The messages of all live inboxes of the account, in the order in which they were stored, **newest first**. `q` searches; `q` and the filters can be combined, and all conditions must be met. Follow `cursor` with `since` and you see every message exactly once. With `wait` the response is held until a message matches.\n\nA search goes on until it has a page or has looked at all messages. Only when that takes more than a second does it end before, and then `searchedTo` is there. Responses to requests without `wait` carry an `ETag`.',
      querystring: AccountMessageQuery,
      headers: ConditionalHeaders,
      response: { 200: json(AccountMessageList, 'A page of messages.', ETAG), 304: NOT_MODIFIED },
    },
    handler: async (request, reply) => {
      const { account } = keyCaller(request);
      const { wait = 0, limit = DEFAULT_LIMIT, since, before, ...filters } = request.query;
      const query = { since, before, limit, conditions: listConditions(filters) };
      const list = (signal: AbortSignal) =>
        listAccountMessages(heldDeps, account.id, query, wait * SECOND_MS, signal);
      const isHeld = wait > 0 || query.conditions.length > 0;
      const page = await (isHeld ? held.hold(reply, list) : list(new AbortController().signal));
      const { messages, ...fields } = page;
      const inboxId = (at: number): string => messages[at]?.inboxId ?? '';
      const body = texts.page(messages, fields, inboxId);
      return sendJson(request, reply, body, wait > 0 ? null : contentTag(body));
    },
  });
}
