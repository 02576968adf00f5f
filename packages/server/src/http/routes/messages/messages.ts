import { Readable } from 'node:stream';
import {
  DEFAULT_LIMIT,
  InboxParams,
  Message,
  MessageList,
  MessageParams,
  MessageQuery,
  ReadMessageQuery,
} from '@mayfly/client/contract';
import { notFound } from '../../../errors.ts';
import {
  hasFilters,
  listMessages,
  listRows,
  type MessagePage,
  waitForMessages,
} from '../../../messages/list.ts';
import { createNewest } from '../../../messages/newest-cache.ts';
import type { FullMessageRecord, MessageRow } from '../../../store/contract/index.ts';
import { throwEnded } from '../../access/ended-inbox.ts';
import { callersInbox } from '../../access/guard.ts';
import type { App, RouteContext } from '../../context.ts';
import { andThen } from '../../maybe-promise.ts';
import { bytes, ConditionalHeaders, ETAG, empty, json, NOT_MODIFIED } from '../../openapi/responses.ts';
import { baseUrl } from '../../request/urls.ts';
import { rawPieces } from '../../response/bytes/raw-source.ts';
import { immutableTag, isFresh, sendJson } from '../../response/etag.ts';
import { summaryJson, toMessage, toSummary } from '../../response/message-json.ts';

const TAGS = ['Messages'];
const SECOND_MS = 1_000;
const RAW_TYPE = 'message/rfc822';
const OCTETS = 'application/octet-stream';

/** For clients that read bytes of this type only, generated ones among them (RFC 9110 section 12.5.1). */
const wantsOctets = (accept = ''): boolean =>
  accept.includes(OCTETS) && !accept.includes(RAW_TYPE) && !accept.includes('*/*');

export function messageRoutes(app: App, context: RouteContext): void {
  const { options, deps, held, attachmentBytes, answers } = context;
  const { store, clock } = deps;
  const newest = createNewest(() => store.messages);

  const findMessage = async (inboxId: string, messageId: string): Promise<FullMessageRecord> => {
    const message = await store.messages.find(inboxId, messageId, clock.now());
    if (!message) throw notFound('message', messageId);
    return message;
  };

  const withContent = async (shown: Message, message: FullMessageRecord): Promise<Message> => {
    for (const attachment of shown.attachments) {
      const content = await attachmentBytes.read(message, attachment.id);
      attachment.content = Buffer.from(content.buffer, content.byteOffset, content.length).toString('base64');
    }
    return shown;
  };

  app.route({
    method: 'GET',
    url: '/v1/inboxes/:id/messages',
    config: { access: 'inbox:read' },
    schema: {
      operationId: 'listMessages',
      tags: TAGS,
      summary: 'List messages, or wait for one',
      description:
        '**Newest first**; an explained wait (`POST …/wait`) returns the oldest matching messages first. Pass `cursor` as `since` in the next request to get every message exactly once; if there are more than `limit`, `hasMore` is true and `before` returns the rest. With `wait` the response is held until a message matches; two identical requests return the same message again unless the second passes the `cursor` of the first as `since`. Responses to requests without `wait` carry an `ETag`.',
      params: InboxParams,
      querystring: MessageQuery,
      headers: ConditionalHeaders,
      response: { 200: json(MessageList, 'A page of messages.', ETAG), 304: NOT_MODIFIED },
    },
    handler: (request, reply) => {
      const inbox = callersInbox(request);
      const { wait = 0, limit = DEFAULT_LIMIT, ...filters } = request.query;
      const query = { ...filters, limit };
      if (wait > 0) {
        return held.hold(reply, async (signal) =>
          toMessageList(await waitForMessages(deps, inbox, query, wait * SECOND_MS, signal)),
        );
      }
      const answer = answers.json(inbox, request.url, async () =>
        hasFilters(filters)
          ? JSON.stringify(toMessageList(await listMessages(deps, inbox, query, clock.now())))
          : messageListBytes(inbox.id, await listRows({ store, newest }, inbox, query, clock.now())),
      );
      return andThen(answer, ({ body, tag }) => sendJson(request, reply, body, tag));
    },
  });

  app.route({
    method: 'GET',
    url: '/v1/inboxes/:id/messages/:messageId',
    config: { access: 'inbox:read' },
    schema: {
      operationId: 'getMessage',
      tags: TAGS,
      summary: 'Read a message',
      description:
        'The message in full: text, HTML, headers, links, codes, attachments. Reading a message does not change it.',
      params: MessageParams,
      querystring: ReadMessageQuery,
      headers: ConditionalHeaders,
      response: { 200: json(Message, 'The message.', ETAG), 304: NOT_MODIFIED },
    },
    handler: (request, reply) => {
      const inbox = callersInbox(request);
      const { messageId } = request.params;
      const { include } = request.query;
      const base = baseUrl(options.publicUrl, request);
      const answer = answers.json(inbox, `${base} ${request.url}`, async () => {
        const message = await findMessage(inbox.id, messageId);
        const shown = toMessage(message, base);
        return JSON.stringify(include ? await withContent(shown, message) : shown);
      });
      const tag = immutableTag(include ? `${messageId}.${include}` : messageId);
      return andThen(answer, ({ body }) => sendJson(request, reply, body, tag));
    },
  });

  app.route({
    method: 'GET',
    url: '/v1/inboxes/:id/messages/:messageId/raw',
    config: { access: 'inbox:read' },
    schema: {
      operationId: 'getRawMessage',
      tags: TAGS,
      summary: "Read a message's raw source",
      description:
        'The message as it was received, byte for byte, after the Received line of this server. The media type is `application/octet-stream` if `Accept` names only that.',
      params: MessageParams,
      headers: ConditionalHeaders,
      response: { 200: bytes([RAW_TYPE, OCTETS], 'The raw source.', ETAG), 304: NOT_MODIFIED },
    },
    handler: async (request, reply) => {
      const message = await findMessage(callersInbox(request).id, request.params.messageId);
      const tag = immutableTag(`${message.id}.raw`);
      reply.header('etag', tag);
      if (isFresh(request.headers['if-none-match'], tag)) return reply.code(304).send();
      const source = rawPieces(store.messages, message, { start: 0, end: message.size }, () => clock.now());
      return reply
        .type(wantsOctets(request.headers.accept) ? OCTETS : RAW_TYPE)
        .header('vary', 'accept')
        .header('content-length', message.size)
        .header('content-disposition', `attachment; filename="${message.id}.eml"`)
        .send(Readable.from(source, { objectMode: false }));
    },
  });

  app.route({
    method: 'DELETE',
    url: '/v1/inboxes/:id/messages',
    config: { access: 'inbox:write' },
    schema: {
      operationId: 'deleteMessages',
      tags: TAGS,
      summary: 'Empty an inbox',
      description:
        'Deletes all messages of the inbox. After the response none of them can be read, and their webhook deliveries that are still pending are cancelled. A message that arrives meanwhile is either deleted or kept, never half of it. The inbox keeps its address, its expiry and its `cursor`: a client that follows a cursor continues without missing or repeating anything.',
      params: InboxParams,
      response: { 204: empty('All messages are deleted.') },
    },
    handler: async (request, reply) => {
      const inbox = callersInbox(request);
      const now = clock.now();
      if (!(await store.messages.deleteAll(inbox.id, now))) return throwEnded(store.inboxes, inbox, now);
      return reply.code(204).send();
    },
  });

  app.route({
    method: 'DELETE',
    url: '/v1/inboxes/:id/messages/:messageId',
    config: { access: 'inbox:write' },
    schema: {
      operationId: 'deleteMessage',
      tags: TAGS,
      summary: 'Delete a message',
      description: 'After the response the message and its source are gone.',
      params: MessageParams,
      response: { 204: empty('Deleted.') },
    },
    handler: async (request, reply) => {
      const { messageId } = request.params;
      const deleted = await store.messages.delete(callersInbox(request).id, messageId, clock.now());
      if (!deleted) throw notFound('message', messageId);
      return reply.code(204).send();
    },
  });
}

function toMessageList({ messages, cursor, hasMore }: MessagePage): MessageList {
  return { messages: messages.map(toSummary), cursor, hasMore };
}

/** The same as {@link toMessageList} from rows, as JSON in UTF-8. */
function messageListBytes(inboxId: string, page: MessagePage<MessageRow>): Buffer {
  const { messages, cursor, hasMore } = page;
  const [newest] = messages;
  const known = newest && lastPages.get(newest);
  if (known?.cursor === cursor && known.length === messages.length && known.hasMore === hasMore) {
    return known.bytes;
  }
  const summaries = messages.map((message) => summaryJson(inboxId, message));
  const bytes = Buffer.from(
    `{"messages":[${summaries.join(',')}],"cursor":"${cursor}","hasMore":${hasMore}}`,
  );
  if (newest) lastPages.set(newest, { cursor, length: messages.length, hasMore, bytes });
  return bytes;
}

/**
 * The last page made for each newest message in the cache (messages/newest-cache.ts limits how many): clients
 * with different times as `since` get the same page until a message arrives.
 */
const lastPages = new WeakMap<
  MessageRow,
  { cursor: string; length: number; hasMore: boolean; bytes: Buffer }
>();
