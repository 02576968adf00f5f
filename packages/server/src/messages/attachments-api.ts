import { AttachmentParams } from '@mayfly/client/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { AppError, notFound } from '../errors.ts';
import { callersInbox } from '../http/access/guard.ts';
import type { App, RouteContext } from '../http/context.ts';
import { bytes, ConditionalHeaders, ETAG, NOT_MODIFIED } from '../http/openapi/responses.ts';
import { immutableTag, isFresh } from '../http/response/etag.ts';
import { routesOf } from '../http/route.ts';
import type { MailAttachment } from '../mail/mail.ts';
import { isMediaType } from '../mail/mime/parameters.ts';
import { quoted } from '../text/nearest.ts';
import { type AttachmentContent, findMessage, type SourceRange } from './contents.ts';

/** Scripts in HTML or SVG of a mail must never run with the origin of this server. */
const SANDBOX = "sandbox; default-src 'none'";
const ACCEPT_RANGES = Type.String({ description: '`bytes`.' });
const CONTENT_RANGE = Type.String({ description: 'The range and the total number of bytes.' });
const ANY_TYPE = ['application/octet-stream', '*/*'];

const RangeHeaders = Type.Object({
  ...ConditionalHeaders.properties,
  range: Type.Optional(Type.String({ description: 'A single range of bytes.', examples: ['bytes=0-1023'] })),
  'if-range': Type.Optional(
    Type.String({ description: 'The range is used only if this is the current `ETag`.' }),
  ),
});

export function attachmentRoutes(app: App, { deps: { store, clock }, held, contents }: RouteContext): void {
  const route = routesOf(app, 'Messages');
  route('GET /v1/inboxes/:id/messages/:messageId/attachments/:attachmentId', {
    access: 'inbox:read',
    errors: ['range_not_satisfiable'],
    operationId: 'getAttachment',
    summary: 'Download an attachment',
    description: 'The decoded bytes of the attachment. `Content-Disposition` is always `attachment`.',
    params: AttachmentParams,
    headers: RangeHeaders,
    response: {
      200: bytes(ANY_TYPE, 'The bytes, with the media type of the attachment.', {
        ...ETAG,
        'Accept-Ranges': ACCEPT_RANGES,
      }),
      206: bytes(ANY_TYPE, 'The bytes of the range.', { ...ETAG, 'Content-Range': CONTENT_RANGE }),
      304: NOT_MODIFIED,
    },
    handler: async (request, reply) => {
      const { messageId, attachmentId } = request.params;
      const found = await findMessage(store, callersInbox(request), messageId, clock.now());
      const message = await held.hold(reply, (signal) => contents.withAttachments(found, signal));
      const attachment = message.content.attachments.find(({ id }) => id === attachmentId);
      if (!attachment) throw notFound('attachment', attachmentId);
      const tag = immutableTag(attachment.sha256);
      reply.header('etag', tag).header('accept-ranges', 'bytes');
      if (isFresh(request.headers['if-none-match'], tag)) return reply.code(304).send();

      return sendAttachment(request, reply, await contents.openAttachment(message, attachment), attachment);
    },
  });
}

export function sendAttachment(
  { headers: { range, 'if-range': ifRange } }: FastifyRequest,
  reply: FastifyReply,
  content: AttachmentContent,
  attachment: MailAttachment,
): FastifyReply {
  const { size } = content;
  const isCurrent = ifRange === undefined || ifRange === immutableTag(attachment.sha256);
  const part = isCurrent ? byteRange(range, size) : 'whole';
  if (part === 'unsatisfiable') {
    const detail = `The range ${quoted(range ?? '')} lies outside the attachment, which has ${size} bytes.`;
    throw new AppError('range_not_satisfiable', detail, { contentRange: `bytes */${size}` });
  }
  reply.headers(forDownload(attachment));
  const { start, end } = part === 'whole' ? { start: 0, end: size } : part;
  if (part !== 'whole') reply.code(206).header('content-range', `bytes ${start}-${end - 1}/${size}`);
  return reply.header('content-length', end - start).send(content.read({ start, end }));
}

const forDownload = ({ contentType, filename, id }: MailAttachment) => ({
  'content-type': isMediaType(contentType) ? contentType : 'application/octet-stream',
  'content-disposition': contentDisposition(filename ?? id),
  'content-security-policy': SANDBOX,
});

const SINGLE = /^bytes=(?:(\d{1,15})-(\d{0,15})|-(\d{1,15}))$/i;

/** Parses a Range header (RFC 9110 section 14.2). Only a single range of bytes is supported. */
function byteRange(header: string | undefined, size: number): SourceRange | 'whole' | 'unsatisfiable' {
  const [matched, from, to, suffix] = SINGLE.exec(header?.trim() ?? '') ?? [];
  if (matched === undefined) return 'whole';
  if (suffix !== undefined) {
    const length = Math.min(Number(suffix), size);
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size };
  }
  const start = Number(from);
  if (to !== undefined && to !== '' && Number(to) < start) return 'whole';
  if (start >= size) return 'unsatisfiable';
  return { start, end: to ? Math.min(Number(to) + 1, size) : size };
}

/** Less than the 255 bytes that file systems allow, because browsers append text such as ` (1)`. */
const MAX_NAME_BYTES = 240;
/** Control characters, separators, direction marks, unpaired surrogates, and characters that Windows forbids. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}/\\:*?"<>|]/gu;

/** Percent-encodes at least the characters that are not attr-char (RFC 8187 section 3.2.1). */
const encoded = (text: string): string =>
  encodeURIComponent(text).replaceAll(
    /['()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/** Builds the header with the file name in ASCII for old clients, and in full (RFC 6266). */
function contentDisposition(filename: string): string {
  const safe = filename.replaceAll(UNSAFE, '_').replace(/^[. ]+/, '');
  const { read } = new TextEncoder().encodeInto(safe, new Uint8Array(MAX_NAME_BYTES));
  const name = safe.slice(0, read).trim() || 'attachment';
  const ascii = name.replaceAll(/[^ -~]|%/g, '_');
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded(name)}`;
}
