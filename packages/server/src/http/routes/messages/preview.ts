import { MessageParams, Preview, PreviewRequest, ref } from '@mayfly/client/contract';
import { AppError, notFound } from '../../../errors.ts';
import { MAX_IMAGE_BYTES, MAX_IMAGES_BYTES, previewPage } from '../../../mail/preview/page.ts';
import type { FullMessageRecord } from '../../../store/contract/index.ts';
import { callersInbox } from '../../access/guard.ts';
import type { App, RouteContext } from '../../context.ts';
import { json } from '../../openapi/responses.ts';
import { baseUrl } from '../../request/urls.ts';
import type { AttachmentBytes } from '../../response/bytes/attachment-bytes.ts';
import { toTime } from '../../response/time.ts';
import { readCapability, writeCapability } from './preview-link.ts';

/** Long enough to look at a mail and to take a screenshot; the console asks for another link. */
const LINK_MS = 10 * 60_000;
/** Making the page of the largest mail takes the main thread 20 to 100 ms, by the number of its tags. */
const MAX_HTML = 1024 * 1024;

/** Types that an image within the page may have: none of them can contain a script. */
const IMAGE_TYPES: ReadonlySet<string> = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/bmp',
]);

/** The page can run nothing and load nothing, whatever frame it is in (CSP 3, section 6.4.1). */
const SANDBOX = 'sandbox allow-popups allow-popups-to-escape-sandbox';
const POLICY = `${SANDBOX}; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; base-uri 'none'; form-action 'none'`;
const REMOTE_POLICY = `${SANDBOX}; default-src 'none'; style-src 'unsafe-inline' https: http:; img-src data: https: http:; font-src data: https:; base-uri 'none'; form-action 'none'`;

const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'private, no-store',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'x-dns-prefetch-control': 'off',
};

export function previewRoutes(app: App, { options, deps, attachmentBytes }: RouteContext): void {
  const { store, clock } = deps;
  const findTokenHash = (inboxId: string) => store.inboxes.findTokenHash(inboxId, clock.now());

  const findMessage = async (inboxId: string, messageId: string): Promise<FullMessageRecord> => {
    const message = await store.messages.find(inboxId, messageId, clock.now());
    if (!message) throw notFound('message', messageId);
    return message;
  };

  app.route({
    method: 'POST',
    url: '/v1/inboxes/:id/messages/:messageId/preview',
    config: { access: 'inbox:read' },
    schema: {
      operationId: 'previewMessage',
      tags: ['Messages'],
      summary: 'Show a message in a browser',
      description:
        'Returns a link, valid for 10 minutes, to the message as a browser shows it. The page runs no script and loads nothing from other servers unless `remoteContent` is true; images of the message itself are part of the page.',
      params: MessageParams,
      body: ref(PreviewRequest),
      response: { 200: json(Preview, 'The link.') },
    },
    handler: async (request, reply) => {
      const { id: inboxId } = callersInbox(request);
      const message = await findMessage(inboxId, request.params.messageId);
      const { remoteContent: isRemote = false } = request.body;
      const tokenHash = await findTokenHash(inboxId);
      // The inbox has ended since the message was read.
      if (tokenHash === undefined) throw notFound('message', message.id);
      const endsAt = clock.now() + LINK_MS;
      const capability = writeCapability({ inboxId, messageId: message.id, isRemote, endsAt }, tokenHash);
      const { html } = message.content;
      reply.header('cache-control', 'no-store');
      return {
        url: `${baseUrl(options.publicUrl, request)}/preview/${capability}`,
        expiresAt: toTime(endsAt),
        remoteCount:
          html === null || html.length > MAX_HTML ? 0 : previewPage(html, () => undefined).remoteCount,
      } satisfies Preview;
    },
  });

  app.get(
    '/preview/:capability',
    { config: { access: 'public' }, schema: { hide: true } },
    async (request, reply) => {
      const { capability } = request.params as { capability: string };
      const link = await readCapability(capability, findTokenHash, clock.now());
      if (!link) throw linkEnded();
      const message = await findMessage(link.inboxId, link.messageId);
      const policy = link.isRemote ? REMOTE_POLICY : POLICY;
      reply.headers({ ...PAGE_HEADERS, 'content-security-policy': policy });
      return reply.send(await pageOf(message, attachmentBytes));
    },
  );
}

const linkEnded = (): AppError =>
  new AppError(
    'not_found',
    'This link to a message has ended. Request a new one with POST /v1/inboxes/{id}/messages/{messageId}/preview.',
  );

/** A page in place of one that cannot be made. */
const note = (text: string): string =>
  `<!doctype html><title>Mayfly</title><p style="font:14px system-ui,sans-serif;margin:24px">${text}</p>`;

async function pageOf(message: FullMessageRecord, attachmentBytes: AttachmentBytes): Promise<string> {
  const { html } = message.content;
  if (html === null) return note('The message has no HTML.');
  if (html.length > MAX_HTML) {
    return note(
      'The HTML of this message is larger than 1 MiB. Read it in the view “Source”, or download the message.',
    );
  }
  const images = await imagesOf(message, html, attachmentBytes);
  return previewPage(html, (contentId) => images.get(contentId)).html;
}

/** The images that the HTML names by their Content-ID, as `data:` URIs, within the limits. */
async function imagesOf(message: FullMessageRecord, html: string, attachmentBytes: AttachmentBytes) {
  const images = new Map<string, string>();
  let left = MAX_IMAGES_BYTES;
  for (const { id, contentId, contentType, size } of message.content.attachments) {
    if (contentId === null || !IMAGE_TYPES.has(contentType)) continue;
    if (size > Math.min(MAX_IMAGE_BYTES, left)) continue;
    const encoded = encodeURIComponent(contentId);
    if (!html.includes(contentId) && !html.includes(encoded)) continue;
    const bytes = await attachmentBytes.read(message, id);
    left -= size;
    const uri = `data:${contentType};base64,${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64')}`;
    images.set(contentId, uri);
    images.set(encoded, uri);
  }
  return images;
}
