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
import { needsContent } from '../../../mail/filters.ts';
import { listMessages, type MessagePage, waitForMessages } from '../../../messages/list.ts';
import { createNewest } from '../../../messages/newest-cache.ts';
import type { FullMessageRecord } from '../../../store/contract/index.ts';
import { throwEnded } from '../../access/ended-inbox.ts';
import { callersInbox } from '../../access/guard.ts';
import type { App, RouteContext } from '../../context.ts';
import { andThen } from '../../maybe-promise.ts';
import { bytes, ConditionalHeaders, ETAG, empty, json, NOT_MODIFIED } from '../../openapi/responses.ts';
import { baseUrl } from '../../request/urls.ts';
import { rawPieces } from '../../response/bytes/raw-source.ts';
import { immutableTag, isFresh, sendJson } from '../../response/etag.ts';
import { ListTexts, toMessage } from '../../response/message-json.ts';

const TAGS = ['Messages'];
const SECOND_MS = 1_000;
const RAW_TYPE = 'message/rfc822';
const OCTETS = 'application/octet-stream';

/** For clients that read bytes of this type only, generated ones among them (RFC 9110 section 12.5.1). */
const wantsOctets = (accept = ''): boolean =>
  accept.includes(OCTETS) && !accept.includes(RAW_TYPE) && !accept.includes('*/*');

export function messageRoutes(app: App, context: RouteContext): void {
  const { options, deps, held, heldDeps, attachmentBytes, answers } = context;
  const { store, clock } = deps;
  const newest = createNewest(() => store.messages);
  const texts = new ListTexts();
  const neverAborted = new AbortController().signal;

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
      const pageBytes = ({ messages, cursor, hasMore }: MessagePage): Buffer =>
        texts.page(messages, { cursor, hasMore }, () => inbox.id);
      if (wait > 0) {
        return held
          .hold(reply, (signal) => waitForMessages(heldDeps, inbox, query, wait * SECOND_MS, signal))
          .then((page) => sendJson(request, reply, pageBytes(page), null));
      }
      const answer = answers.json(inbox, request.url, async () => {
        const list = (signal: AbortSignal) => listMessages({ ...heldDeps, newest }, inbox, query, signal);
        // A search ends with its client.
        return pageBytes(await (needsContent(query) ? held.hold(reply, list) : list(neverAborted)));
      });
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
