import {
  AccountMessageList,
  AccountMessageQuery,
  DEFAULT_LIMIT,
  MAX_SEARCH_WORDS,
} from '@mayfly/client/contract';
import { SECOND_MS } from '../../../clock.ts';
import { searchWords } from '../../../mail/matching/filters.ts';
import { isSearch, listAccountMessages, MAX_LOOKED_AT } from '../../../messages/account-list.ts';
import { quoted } from '../../../nearest.ts';
import { keyCaller } from '../../access/guard.ts';
import type { App, RouteContext } from '../../context.ts';
import { ConditionalHeaders, ETAG, json, NOT_MODIFIED } from '../../openapi/responses.ts';
import { invalidField } from '../../request/invalid-fields.ts';
import { contentTag, sendJson } from '../../response/etag.ts';
import { ListTexts } from '../../response/message-json.ts';

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
      description: `The messages of all live inboxes of the account, in the order in which they were stored, **newest first**. \`q\` searches for words; \`q\` and the filters can be combined, and all conditions must be met. Follow \`cursor\` with \`since\` and you see every message exactly once. With \`wait\` the response is held until a message matches.

A search looks at the newest ${MAX_LOOKED_AT.toLocaleString('en')} messages at most in one request. When there are older ones, \`hasMore\` is true and \`before\` says where to continue, also when nothing was found yet. Responses to requests without \`wait\` carry an \`ETag\`.`,
      querystring: AccountMessageQuery,
      headers: ConditionalHeaders,
      response: { 200: json(AccountMessageList, 'A page of messages.', ETAG), 304: NOT_MODIFIED },
    },
    handler: async (request, reply) => {
      const { account } = keyCaller(request);
      const { wait = 0, limit = DEFAULT_LIMIT, q, ...filters } = request.query;
      const query = { ...filters, limit, words: q === undefined ? [] : wordsOf(q) };
      const list = (signal: AbortSignal) =>
        listAccountMessages(heldDeps, account.id, query, wait * SECOND_MS, signal);
      const isHeld = wait > 0 || isSearch(query);
      const page = await (isHeld ? held.hold(reply, list) : list(new AbortController().signal));
      const { messages, cursor, hasMore, before } = page;
      const inboxId = (at: number): string => messages[at]?.inboxId ?? '';
      const body = texts.page(messages, { cursor, hasMore, before }, inboxId);
      return sendJson(request, reply, body, wait > 0 ? null : contentTag(body));
    },
  });
}

/** @throws AppError `invalid_request` for no word, or too many */
function wordsOf(q: string): string[] {
  const words = searchWords(q);
  if (words.length > 0 && words.length <= MAX_SEARCH_WORDS) return words;
  throw invalidField('q', `"q" must contain 1 to ${MAX_SEARCH_WORDS} words, not ${quoted(q)}.`);
}
