import { MessageParams, Preview, PreviewRequest, ref } from '@mayfly/client/contract';
import { MINUTE_MS } from '../../../clock.ts';
import { AppError, notFound } from '../../../errors.ts';
import { findMessage, throwMissing } from '../../../messages/find-message.ts';
import { callerOf, callersInbox } from '../../access/guard.ts';
import type { App, RouteContext } from '../../context.ts';
import { json } from '../../openapi/responses.ts';
import { baseUrl } from '../../request/urls.ts';
import { toTime } from '../../response/time.ts';
import { type LinkSources, readCapability, writeCapability } from './preview-link.ts';

/** Long enough to look at a mail and to take a screenshot; the console asks for another link. */
const LINK_MS = 10 * MINUTE_MS;
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

export function previewRoutes(app: App, { options, deps, held, wholeMails }: RouteContext): void {
  const { store, clock } = deps;
  const sources: LinkSources = {
    findTokenHash: (inboxId) => store.inboxes.findTokenHash(inboxId, clock.now()),
    async isLiveKey(keyId) {
      const key = await store.keys.find(keyId);
      return key !== undefined && clock.now() < (key.expiresAt ?? Number.POSITIVE_INFINITY);
    },
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
        'Returns a link to the message as a browser shows it, valid for 10 minutes, and no longer than the API key that asked for it. The page runs no script and loads nothing from other servers unless `remoteContent` is true; images of the message itself are part of the page.',
      params: MessageParams,
      body: ref(PreviewRequest),
      response: { 200: json(Preview, 'The link.') },
    },
    handler: async (request, reply) => {
      const inbox = callersInbox(request);
      const { id: inboxId } = inbox;
      const message = await findMessage(store, inbox, request.params.messageId, clock.now());
      const { remoteContent: isRemote = false } = request.body;
      const tokenHash = await sources.findTokenHash(inboxId);
      // The inbox has ended since the message was read.
      if (tokenHash === undefined) return throwMissing(store.inboxes, inbox, message.id, clock.now());
      const endsAt = clock.now() + LINK_MS;
      const keyId = callerOf(request).key?.key.id ?? null;
      const link = { inboxId, messageId: message.id, isRemote, endsAt, keyId };
      const { remoteCount } = await held.hold(reply, (signal) => wholeMails.preview(message, signal));
      reply.header('cache-control', 'no-store');
      return {
        url: `${baseUrl(options.publicUrl, request)}/preview/${writeCapability(link, tokenHash)}`,
        expiresAt: toTime(endsAt),
        remoteCount,
      } satisfies Preview;
    },
  });

  app.get('/preview/:capability', { config: { access: 'public' } }, async (request, reply) => {
    const { capability } = request.params as { capability: string };
    const link = await readCapability(capability, sources, clock.now());
    if (!link) throw linkEnded();
    const message = await store.messages.find(link.inboxId, link.messageId, clock.now());
    if (!message) throw notFound('message', link.messageId);
    const policy = link.isRemote ? REMOTE_POLICY : POLICY;
    reply.headers({ ...PAGE_HEADERS, 'content-security-policy': policy });
    const { page } = await held.hold(reply, (signal) => wholeMails.preview(message, signal));
    return reply.send(Buffer.from(page.buffer, page.byteOffset, page.length));
  });
}

const linkEnded = (): AppError =>
  new AppError(
    'not_found',
    'This link to a message has ended. Request a new one with POST /v1/inboxes/{id}/messages/{messageId}/preview.',
  );
