import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import {
  type Attachment,
  InboxParams,
  LintReport,
  MarkMessage,
  Message,
  MessageParams,
  MessageSummary,
  ReadMessageQuery,
  ref,
} from '@mayfly/client/contract';
import { callersInbox } from '../http/access/guard.ts';
import type { App, RouteContext } from '../http/context.ts';
import { bytes, ConditionalHeaders, ETAG, empty, json, NOT_MODIFIED } from '../http/openapi/responses.ts';
import { baseUrl } from '../http/request/inputs.ts';
import { contentTag, immutableTag, isFresh, sendJson } from '../http/response/etag.ts';
import { type AddRoute, routesOf } from '../http/route.ts';
import { throwEnded } from '../inboxes/records.ts';
import { fold } from '../mail/matching/compared-content.ts';
import { asBuffer } from '../memory.ts';
import { type Contents, findMessage, rawPieces, throwMissing } from './contents.ts';
import { toMessage, toSummary } from './json.ts';
import type { FullMessageRecord, MessageRecord } from './records.ts';

const RAW_TYPE = 'message/rfc822';
const OCTETS = 'application/octet-stream';

/** Some clients, such as generated ones, accept only `application/octet-stream` (RFC 9110 section 12.5.1). */
const wantsOctets = (accept = ''): boolean =>
  accept.includes(OCTETS) && !accept.includes(RAW_TYPE) && !accept.includes('*/*');

/** ETag of a message. Only `readAt` and `tags` of a stored message can change, so it hashes no content. */
const markedTag = ({ id, readAt, tags }: MessageRecord, include = ''): string =>
  contentTag(Buffer.from(JSON.stringify([id, readAt, tags, include])));

/** Keeps only the first of the tags that `fold` makes equal, such as tags that differ only in case. */
const onceEach = (tags: readonly string[]): string[] =>
  [...Map.groupBy(tags, fold).values()].flatMap(([first]) => first ?? []);

export function messageRoutes(app: App, context: RouteContext): void {
  const route = routesOf(app, 'Messages');
  messageRoute(route, context);
  markRoute(route, context);
  rawRoute(route, context);
  deletionRoutes(route, context);
  lintRoute(route, context);
}

function messageRoute(
  route: AddRoute,
  { options, deps: { store, clock }, held, contents, responses }: RouteContext,
): void {
  route('GET /v1/inboxes/:id/messages/:messageId', {
    access: 'inbox:read',
    operationId: 'getMessage',
    summary: 'Read a message',
    description:
      'The message in full: text, HTML, headers, links, codes, attachments. Reading a message does not change it.',
    params: MessageParams,
    querystring: ReadMessageQuery,
    headers: ConditionalHeaders,
    response: { 200: json(Message, 'The message.', ETAG), 304: NOT_MODIFIED },
    handler: async (request, reply) => {
      const inbox = callersInbox(request);
      const { messageId } = request.params;
      const { include } = request.query;
      const base = baseUrl(options.publicUrl, request);
      const { body, tag } = await responses.json(inbox, `${base} ${request.url}`, async () => {
        const message = await findMessage(store, inbox, messageId, clock.now());
        const tag = markedTag(message, include);
        if (!include && !message.isPartial) return { json: JSON.stringify(toMessage(message, base)), tag };
        // A worker parses a large message again, because only a part is stored. It omits attachment contents.
        const json = await held.hold(reply, (signal) =>
          message.isPartial
            ? contents.json(message, base, signal, include ? { truncated: true } : {})
            : messageWithAttachments(message, base, contents, signal),
        );
        return { json, tag };
      });
      return sendJson(reply, body, tag);
    },
  });
}

function markRoute(route: AddRoute, { deps: { store, clock } }: RouteContext): void {
  route('PATCH /v1/inboxes/:id/messages/:messageId', {
    access: 'inbox:write',
    operationId: 'markMessage',
    summary: 'Mark a message as read, or tag it',
    description:
      'Sets `readAt` and `tags`, by which `is:` and `tag:` search. Nothing else marks a message: reading it by this API does not.',
    params: MessageParams,
    body: ref(MarkMessage),
    response: { 200: json(MessageSummary, 'The message after the change.') },
    handler: async (request) => {
      const { messageId } = request.params;
      const { tags, ...rest } = request.body;
      const inbox = callersInbox(request);
      const now = clock.now();
      const changes = tags ? { ...rest, tags: onceEach(tags) } : rest;
      const marked = await store.messages.mark(inbox.id, messageId, changes, now);
      return toSummary(marked ?? (await throwMissing(store.inboxes, inbox, messageId, now)));
    },
  });
}

function rawRoute(route: AddRoute, { deps: { store, clock } }: RouteContext): void {
  route('GET /v1/inboxes/:id/messages/:messageId/raw', {
    access: 'inbox:read',
    operationId: 'getRawMessage',
    summary: "Read a message's raw source",
    description:
      'The message as it was received, byte for byte, after the Received line of this server. The media type is `application/octet-stream` if `Accept` names only that.',
    params: MessageParams,
    headers: ConditionalHeaders,
    response: { 200: bytes([RAW_TYPE, OCTETS], 'The raw source.', ETAG), 304: NOT_MODIFIED },
    handler: async (request, reply) => {
      const inbox = callersInbox(request);
      const { messageId: id } = request.params;
      const now = clock.now();
      const size =
        (await store.messages.sizeOf(inbox.id, id, now)) ??
        (await throwMissing(store.inboxes, inbox, id, now));
      const tag = immutableTag(`${id}.raw`);
      reply.header('etag', tag);
      if (isFresh(request.headers['if-none-match'], tag)) return reply.code(304).send();
      const message = { inboxId: inbox.id, id };
      const source = rawPieces({ store, clock }, message, { start: 0, end: size });
      return reply
        .type(wantsOctets(request.headers.accept) ? OCTETS : RAW_TYPE)
        .header('vary', 'accept')
        .header('content-length', size)
        .header('content-disposition', `attachment; filename="${id}.eml"`)
        .send(Readable.from(source, { objectMode: false }));
    },
  });
}

function deletionRoutes(route: AddRoute, { deps: { store, clock } }: RouteContext): void {
  route('DELETE /v1/inboxes/:id/messages', {
    access: 'inbox:write',
    operationId: 'deleteMessages',
    summary: 'Empty an inbox',
    description:
      'Deletes all messages of the inbox. After the response none of them can be read, and their webhook deliveries that are still pending are cancelled. A message that arrives meanwhile is either deleted or kept, never half of it. The inbox keeps its address, its expiry and its `cursor`: a client that follows a cursor continues without missing or repeating anything.',
    params: InboxParams,
    response: { 204: empty('All messages are deleted.') },
    handler: async (request) => {
      const inbox = callersInbox(request);
      const now = clock.now();
      if (!(await store.messages.deleteAll(inbox.id, now))) return throwEnded(store.inboxes, inbox, now);
    },
  });

  route('DELETE /v1/inboxes/:id/messages/:messageId', {
    access: 'inbox:write',
    operationId: 'deleteMessage',
    summary: 'Delete a message',
    description: 'After the response the message and its source are gone.',
    params: MessageParams,
    response: { 204: empty('Deleted.') },
    handler: async (request) => {
      const { messageId } = request.params;
      const inbox = callersInbox(request);
      const now = clock.now();
      const deleted = await store.messages.delete(inbox.id, messageId, now);
      if (!deleted) return throwMissing(store.inboxes, inbox, messageId, now);
    },
  });
}

function lintRoute(route: AddRoute, { deps: { store, clock }, held, contents }: RouteContext): void {
  route('GET /v1/inboxes/:id/messages/:messageId/lint', {
    access: 'inbox:read',
    operationId: 'lintMessage',
    summary: 'Find what is wrong with a message',
    description:
      'Checks the message against RFC 5322, RFC 2045 to 2047, RFC 2183, RFC 2369, RFC 2392 and RFC 8058, and its HTML against what mail clients support. Links and images are never fetched.',
    params: MessageParams,
    response: { 200: json(LintReport, 'The report.') },
    handler: async (request, reply) => {
      const { messageId } = request.params;
      const message = await findMessage(store, callersInbox(request), messageId, clock.now());
      const report = await held.hold(reply, (signal) => contents.lint(message, signal));
      return reply.type('application/json; charset=utf-8').send(new TextDecoder().decode(report));
    },
  });
}

/** Limit of decoded attachment bytes in one response. Clients download the other attachments one by one. */
const MAX_INCLUDED_BYTES = 8 * 1024 * 1024;
/** Bytes that are encoded in one turn of the event loop, which takes about half a millisecond. */
const BYTES_PER_TURN = 256 * 1024;

function includedCount(attachments: readonly Attachment[]): number {
  let bytes = 0;
  const end = attachments.findIndex(({ size }) => {
    bytes += size;
    return bytes > MAX_INCLUDED_BYTES;
  });
  return end < 0 ? attachments.length : end;
}

/** @throws AppError `not_found` if the message is deleted or expires, or the reason of an aborted `signal` */
async function messageWithAttachments(
  message: FullMessageRecord,
  base: string,
  contents: Pick<Contents, 'readAttachment'>,
  signal: AbortSignal,
): Promise<Buffer> {
  const { attachments, ...rest } = toMessage(message, base);
  const included = includedCount(attachments);
  const fields = { ...rest, ...(included < attachments.length && { truncated: true }) };
  const pieces = [Buffer.from(`${JSON.stringify(fields).slice(0, -1)},"attachments":[`)];
  let bytes = 0;
  for (const [at, attachment] of attachments.entries()) {
    const json = `${at === 0 ? '' : ','}${JSON.stringify(attachment)}`;
    if (at >= included) {
      pieces.push(Buffer.from(json));
      continue;
    }
    signal.throwIfAborted();
    const decoded = asBuffer(await contents.readAttachment(message, attachment.id));
    const content = decoded.toString('base64');
    pieces.push(Buffer.from(`${json.slice(0, -1)},"content":"`), Buffer.from(content, 'latin1'));
    pieces.push(Buffer.from('"}'));
    bytes += decoded.length + 1;
    if (bytes > BYTES_PER_TURN) {
      bytes = 0;
      await setImmediate();
    }
  }
  pieces.push(Buffer.from(']}'));
  return Buffer.concat(pieces);
}
