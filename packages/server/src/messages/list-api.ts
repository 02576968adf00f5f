import {
  AccountMessageList,
  AccountMessageQuery,
  DEFAULT_LIMIT,
  InboxParams,
  MessageList,
  MessageQuery,
} from '@mayfly/client/contract';
import { SECOND_MS } from '../clock.ts';
import { callersInbox, keyCaller } from '../http/access/guard.ts';
import type { App, RouteContext } from '../http/context.ts';
import { ConditionalHeaders, ETAG, json, NOT_MODIFIED } from '../http/openapi/responses.ts';
import { contentTag, sendJson } from '../http/response/etag.ts';
import { ListTexts } from './json.ts';
import { createNewest, listAccountMessages, listMessages, type MessagePage } from './list.ts';
import { listConditions } from './query.ts';

const NEVER = new AbortController().signal;

export function messageListRoute(app: App, { deps, held, heldDeps, responses }: RouteContext): void {
  const listDeps = { ...heldDeps, newest: createNewest(() => deps.store.messages) };
  const texts = new ListTexts();

  app.route({
    method: 'GET',
    url: '/v1/inboxes/:id/messages',
    config: { access: 'inbox:read' },
    schema: {
      operationId: 'listMessages',
      tags: ['Messages'],
      summary: 'List messages, or wait for one',
      description:
        '**Newest first**; an explained wait (`POST …/wait`) returns the oldest matching messages first. Pass `cursor` as `since` in the next request to get every message exactly once; if there are more than `limit`, `hasMore` is true and `before` returns the rest. With `wait` the response is held until a message matches; two identical requests return the same message again unless the second passes the `cursor` of the first as `since`. Responses to requests without `wait` carry an `ETag`.',
      params: InboxParams,
      querystring: MessageQuery,
      headers: ConditionalHeaders,
      response: { 200: json(MessageList, 'A page of messages.', ETAG), 304: NOT_MODIFIED },
    },
    handler: async (request, reply) => {
      const inbox = callersInbox(request);
      const { wait = 0, limit = DEFAULT_LIMIT, since, before, ...filters } = request.query;
      const query = { since, before, limit, conditions: listConditions(filters) };
      const pageBytes = ({ messages, ...fields }: MessagePage): Buffer =>
        texts.page(messages, fields, () => inbox.id);
      const list = (signal: AbortSignal) => listMessages(listDeps, inbox, query, wait * SECOND_MS, signal);
      if (wait > 0) {
        const page = await held.hold(reply, list);
        deps.waitLog.addHeld(inbox, 'list', page.messages.length > 0);
        return sendJson(request, reply, pageBytes(page), null);
      }
      const { body, tag } = await responses.json(inbox, request.url, async () => {
        // A search is aborted when its client disconnects.
        const isSearch = query.conditions.length > 0;
        return pageBytes(await (isSearch ? held.hold(reply, list) : list(NEVER)));
      });
      return sendJson(request, reply, body, tag);
    },
  });
}

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
      const { messages, ...fields } = await (isHeld ? held.hold(reply, list) : list(NEVER));
      const body = texts.page(messages, fields, (at) => messages[at]?.inboxId ?? '');
      return sendJson(request, reply, body, wait > 0 ? null : contentTag(body));
    },
  });
}
