import { createHmac, timingSafeEqual } from 'node:crypto';
import { MessageParams, Preview, PreviewRequest, ref } from '@mayfly/client/contract';
import type { FastifyRequest } from 'fastify';
import { MINUTE_MS } from '../clock.ts';
import { AppError, notFound } from '../errors.ts';
import { DEV_KEY_ID } from '../http/access/credential.ts';
import { callerOf, callersInbox } from '../http/access/guard.ts';
import type { App, RouteContext } from '../http/context.ts';
import { json } from '../http/openapi/responses.ts';
import { baseUrl } from '../http/request/inputs.ts';
import { toTime } from '../http/response/time.ts';
import { routesOf } from '../http/route.ts';
import { IMAGE_TYPES } from '../mail/mail.ts';
import { asBuffer } from '../memory.ts';
import { sendAttachment } from './attachments-api.ts';
import { findMessage, throwMissing } from './contents.ts';
import type { FullMessageRecord } from './records.ts';

const LINK_MS = 10 * MINUTE_MS;
/** Blocks scripts. Allows images on any host if they are at `imagesPath`, which mail authors cannot guess. */
const policyOf = (isRemote: boolean, imagesPath: string): string => {
  const remote = isRemote ? ' https: http:' : '';
  return `sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; style-src 'unsafe-inline'${remote}; img-src data: http://*:*${imagesPath}${remote}; font-src data:${remote}; base-uri 'none'; form-action 'none'`;
};

const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'private, no-store',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'x-dns-prefetch-control': 'off',
};

async function isLiveKey({ deps }: RouteContext, keyId: string): Promise<boolean> {
  const { store, clock, hasDevKey } = deps;
  if (keyId === DEV_KEY_ID) return hasDevKey === true;
  const key = await store.keys.find(keyId);
  return key !== undefined && clock.now() < (key.expiresAt ?? Number.POSITIVE_INFINITY);
}

const urlOf = ({ options }: RouteContext, capability: string, request: FastifyRequest): string =>
  `${baseUrl(options.publicUrl, request)}/preview/${capability}`;

export function previewRoutes(app: App, context: RouteContext): void {
  const { deps, held, contents } = context;
  const { store, clock } = deps;

  routesOf(app, 'Messages')('POST /v1/inboxes/:id/messages/:messageId/preview', {
    access: 'inbox:read',
    operationId: 'previewMessage',
    summary: 'Show a message in a browser',
    description:
      'Returns a link to the message as a browser shows it, valid for 10 minutes, and no longer than the API key that asked for it. The page runs no script and loads nothing from other servers unless `remoteContent` is true; images of the message itself are loaded below the link.',
    params: MessageParams,
    body: ref(PreviewRequest),
    response: { 200: json(Preview, 'The link.') },
    handler: async (request, reply) => {
      const inbox = callersInbox(request);
      const { id: inboxId } = inbox;
      const message = await findMessage(store, inbox, request.params.messageId, clock.now());
      const { remoteContent: isRemote = false } = request.body;
      const tokenHash = await store.inboxes.findTokenHash(inboxId, clock.now());
      if (tokenHash === undefined) return throwMissing(store.inboxes, inbox, message.id, clock.now());
      const endsAt = clock.now() + LINK_MS;
      const keyId = callerOf(request).key?.key.id ?? null;
      const link = { inboxId, messageId: message.id, isRemote, endsAt, keyId };
      const capability = writeCapability(link, tokenHash);
      const images = `${capability}/`;
      const { remoteCount } = await held.hold(reply, (signal) => contents.preview(message, images, signal));
      reply.header('cache-control', 'no-store');
      return {
        url: urlOf(context, capability, request),
        expiresAt: toTime(endsAt),
        remoteCount,
      } satisfies Preview;
    },
  });

  async function opened(capability: string): Promise<{ message: FullMessageRecord; isRemote: boolean }> {
    const link = await readCapability(capability, context);
    if (!link)
      throw new AppError(
        'not_found',
        'This link to a message has ended. Request a new one with POST /v1/inboxes/{id}/messages/{messageId}/preview.',
      );
    const message = await store.messages.find(link.inboxId, link.messageId, clock.now());
    if (!message) throw notFound('message', link.messageId);
    return { message, isRemote: link.isRemote };
  }

  app.get('/preview/:capability', { config: { access: 'public' } }, async (request, reply) => {
    const { capability } = request.params as { capability: string };
    const { message, isRemote } = await opened(capability);
    // Relative to the page, so that the URL works behind any proxy.
    const images = `${capability}/`;
    const { page } = await held.hold(reply, (signal) => contents.preview(message, images, signal));
    const { pathname } = new URL(`${urlOf(context, capability, request)}/`);
    reply.headers({ ...PAGE_HEADERS, 'content-security-policy': policyOf(isRemote, pathname) });
    return reply.send(asBuffer(page));
  });

  app.get('/preview/:capability/:attachmentId', { config: { access: 'public' } }, async (request, reply) => {
    const { capability, attachmentId } = request.params as { capability: string; attachmentId: string };
    const { message: found } = await opened(capability);
    const message = await held.hold(reply, (signal) => contents.withAttachments(found, signal));
    const image = message.content.attachments.find(({ id }) => id === attachmentId);
    if (!image || !IMAGE_TYPES.has(image.contentType)) throw notFound('attachment', attachmentId);
    return sendAttachment(request, reply, await contents.openAttachment(message, image), image);
  });
}

// Links are signed, not stored, so that any node can open them. They are signed with the hash of the inbox's
// read token: all nodes can read it, only clients with the token know it, and it is deleted with the inbox.

interface PreviewLink {
  inboxId: string;
  messageId: string;
  isRemote: boolean;
  endsAt: number;
  /** Id of the API key that requested the link; null for a read token. The link expires with this key. */
  keyId: string | null;
}

const CAPABILITY =
  /^pv_(inb_[0-9a-z]{26})\.(msg_[0-9a-z]{26})\.([01])\.([0-9a-z]{1,10})\.(key_(?:[0-9a-z]{26}|dev))?\.([\w-]{43})$/;
const END_RADIX = 36;

const sign = (text: string, tokenHash: string): string =>
  createHmac('sha256', tokenHash).update(`mayfly preview ${text}`).digest('base64url');

function writeCapability(link: PreviewLink, tokenHash: string): string {
  const { inboxId, messageId, isRemote, endsAt, keyId } = link;
  const text = `pv_${inboxId}.${messageId}.${isRemote ? 1 : 0}.${endsAt.toString(END_RADIX)}.${keyId ?? ''}`;
  return `${text}.${sign(text, tokenHash)}`;
}

async function readCapability(capability: string, context: RouteContext): Promise<PreviewLink | undefined> {
  const { store, clock } = context.deps;
  const [, inboxId = '', messageId = '', remote, end = '', keyId = null, signature = ''] =
    CAPABILITY.exec(capability) ?? [];
  const endsAt = Number.parseInt(end, END_RADIX);
  const now = clock.now();
  if (!(now < endsAt)) return undefined;
  const tokenHash = await store.inboxes.findTokenHash(inboxId, now);
  if (tokenHash === undefined) return undefined;
  const right = sign(capability.slice(0, capability.lastIndexOf('.')), tokenHash);
  if (!timingSafeEqual(Buffer.from(signature), Buffer.from(right))) return undefined;
  if (keyId !== null && !(await isLiveKey(context, keyId))) return undefined;
  return { inboxId, messageId, isRemote: remote === '1', endsAt, keyId };
}
