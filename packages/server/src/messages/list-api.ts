import { DEFAULT_LIMIT, InboxParams, MessageList, MessageQuery } from '@mayfly/client/contract';
import { SECOND_MS } from '../clock.ts';
import { callersInbox } from '../http/access/guard.ts';
import type { App, RouteContext } from '../http/context.ts';
import { ConditionalHeaders, ETAG, json, NOT_MODIFIED } from '../http/openapi/responses.ts';
import { sendJson } from '../http/response/etag.ts';
import { ListTexts } from './json.ts';
import { listMessages, type MessagePage } from './list.ts';
import { createNewest } from './newest-cache.ts';
import { listConditions } from './query.ts';

export function messageListRoute(app: App, { deps, held, heldDeps, responses }: RouteContext): void {
  const newest = createNewest(() => deps.store.messages);
  const texts = new ListTexts();
  const neverAborted = new AbortController().signal;

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
      const list = (signal: AbortSignal) =>
        listMessages(wait > 0 ? heldDeps : { ...heldDeps, newest }, inbox, query, wait * SECOND_MS, signal);
      if (wait > 0) {
        const page = await held.hold(reply, list);
        deps.waitLog.addHeld(inbox, 'list', page.messages.length > 0);
        return sendJson(request, reply, pageBytes(page), null);
      }
      const { body, tag } = await responses.json(inbox, request.url, async () => {
        // A search is aborted when its client disconnects.
        const isSearch = query.conditions.length > 0;
        return pageBytes(await (isSearch ? held.hold(reply, list) : list(neverAborted)));
      });
      return sendJson(request, reply, body, tag);
    },
  });
}
