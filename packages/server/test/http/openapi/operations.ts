import { readFileSync } from 'node:fs';
import { OPENAPI_FILE } from '../../../src/http/routes/reference.ts';
import { EMPTY_ARCHIVE } from '../../support/recording-archive.ts';
import type { ApiOptions, Body, TestHttp, TestInbox } from '../start-http.ts';

/** What a test inbox with one message offers to a path. */
export interface Place {
  inbox: TestInbox;
  messageId: string;
  attachmentId: string;
  webhookId: string;
  deliveryId: string;
  keyId: string;
  waitId: string;
}

/** A valid request of an operation. */
export interface Row {
  path: string;
  /** Text is sent as it is, anything else as JSON. */
  body?: object | string;
  /** Media type of a text. */
  type?: string;
}

/** How a row is sent. */
export const sendOptions = ({ body, type }: Row): ApiOptions => ({
  ...(body ? { body } : {}),
  ...(type ? { headers: { 'content-type': type } } : {}),
});

/** Nothing is sent there: these tests run no worker. */
const HOOK = 'http://127.0.0.1:9999/hook';

/**
 * One valid request for every operation of the API. An operation without a row fails the tests that
 * walk over the document.
 */
const ROWS: Record<string, (place: Place) => Row> = {
  createInbox: () => ({ path: '/v1/inboxes', body: { ttlMinutes: 5 } }),
  listInboxes: () => ({ path: '/v1/inboxes?limit=1' }),
  deleteInboxes: () => ({ path: '/v1/inboxes?label.never=used' }),
  generateAddress: () => ({ path: '/v1/addresses/generate', body: { domain: 'mayfly.test' } }),
  getInbox: ({ inbox }) => ({ path: `/v1/inboxes/${inbox.id}` }),
  updateInbox: ({ inbox }) => ({ path: `/v1/inboxes/${inbox.id}`, body: { ttlMinutes: 10 } }),
  expireInbox: ({ inbox }) => ({ path: `/v1/inboxes/${inbox.id}/expire` }),
  setFaults: ({ inbox }) => ({
    path: `/v1/inboxes/${inbox.id}/faults`,
    body: { rules: [{ at: 'rcpt', reply: { code: 451 } }] },
  }),
  getFaults: ({ inbox }) => ({ path: `/v1/inboxes/${inbox.id}/faults` }),
  deleteFaults: ({ inbox }) => ({ path: `/v1/inboxes/${inbox.id}/faults` }),
  setOutcomes: ({ inbox }) => ({
    path: `/v1/inboxes/${inbox.id}/outcomes`,
    body: { rules: [{ outcome: 'bounce' }] },
  }),
  getOutcomes: ({ inbox }) => ({ path: `/v1/inboxes/${inbox.id}/outcomes` }),
  deleteOutcomes: ({ inbox }) => ({ path: `/v1/inboxes/${inbox.id}/outcomes` }),
  advanceInbox: ({ inbox }) => ({ path: `/v1/inboxes/${inbox.id}/advance`, body: { minutes: 60 } }),
  replyToMessage: ({ inbox, messageId }) => ({
    path: `/v1/inboxes/${inbox.id}/messages/${messageId}/reply`,
    body: { text: 'Thanks!' },
  }),
  listSent: ({ inbox }) => ({ path: `/v1/inboxes/${inbox.id}/sent?limit=1` }),
  listThreads: ({ inbox }) => ({ path: `/v1/inboxes/${inbox.id}/threads` }),
  setProvider: () => ({ path: '/v1/providers/resend', body: { webhookUrl: HOOK } }),
  getProvider: () => ({ path: '/v1/providers/resend' }),
  deleteProvider: () => ({ path: '/v1/providers/resend' }),
  listLabels: () => ({ path: '/v1/labels?name=run&limit=1' }),
  getRunReport: () => ({ path: '/v1/reports/runs?label.never=used' }),
  exportInbox: ({ inbox }) => ({ path: `/v1/inboxes/${inbox.id}/export` }),
  importInbox: () => ({ path: '/v1/inboxes/import?speed=10', body: EMPTY_ARCHIVE, type: 'application/zip' }),
  listMessages: ({ inbox }) => ({ path: `/v1/inboxes/${inbox.id}/messages?limit=1` }),
  listRefusals: () => ({ path: '/v1/refusals?limit=1' }),
  listAccountMessages: () => ({ path: '/v1/messages?limit=1' }),
  injectMessage: ({ inbox }) => ({
    path: `/v1/inboxes/${inbox.id}/messages?mailFrom=app@example.org`,
    body: 'Subject: injected\r\n\r\nx\r\n',
    type: 'message/rfc822',
  }),
  getMessage: ({ inbox, messageId }) => ({ path: `/v1/inboxes/${inbox.id}/messages/${messageId}` }),
  markMessage: ({ inbox, messageId }) => ({
    path: `/v1/inboxes/${inbox.id}/messages/${messageId}`,
    body: { read: true, tags: ['reviewed'] },
  }),
  getRawMessage: ({ inbox, messageId }) => ({ path: `/v1/inboxes/${inbox.id}/messages/${messageId}/raw` }),
  getAttachment: ({ inbox, messageId, attachmentId }) => ({
    path: `/v1/inboxes/${inbox.id}/messages/${messageId}/attachments/${attachmentId}`,
  }),
  previewMessage: ({ inbox, messageId }) => ({
    path: `/v1/inboxes/${inbox.id}/messages/${messageId}/preview`,
    body: { remoteContent: false },
  }),
  getTimeline: ({ inbox, messageId }) => ({
    path: `/v1/inboxes/${inbox.id}/messages/${messageId}/timeline`,
  }),
  lintMessage: ({ inbox, messageId }) => ({ path: `/v1/inboxes/${inbox.id}/messages/${messageId}/lint` }),
  waitForMessages: ({ inbox }) => ({ path: `/v1/inboxes/${inbox.id}/wait`, body: { timeoutSeconds: 0 } }),
  getWait: ({ inbox, waitId }) => ({ path: `/v1/inboxes/${inbox.id}/waits/${waitId}` }),
  streamInboxEvents: ({ inbox }) => ({ path: `/v1/inboxes/${inbox.id}/events` }),
  streamAccountEvents: () => ({ path: '/v1/events' }),
  createWebhook: ({ inbox }) => ({ path: '/v1/webhooks', body: { url: HOOK, inboxId: inbox.id } }),
  listWebhooks: () => ({ path: '/v1/webhooks?limit=1' }),
  getWebhook: ({ webhookId }) => ({ path: `/v1/webhooks/${webhookId}` }),
  updateWebhook: ({ webhookId }) => ({ path: `/v1/webhooks/${webhookId}`, body: { description: 'ours' } }),
  rotateWebhookSecret: ({ webhookId }) => ({ path: `/v1/webhooks/${webhookId}/rotate-secret` }),
  testWebhook: ({ webhookId }) => ({ path: `/v1/webhooks/${webhookId}/test` }),
  listWebhookDeliveries: ({ webhookId }) => ({ path: `/v1/webhooks/${webhookId}/deliveries?limit=1` }),
  replayWebhookDelivery: ({ webhookId, deliveryId }) => ({
    path: `/v1/webhooks/${webhookId}/deliveries/${deliveryId}/replay`,
  }),
  replayWebhookDeliveries: ({ webhookId }) => ({
    path: `/v1/webhooks/${webhookId}/deliveries/replay`,
    body: { state: 'failed' },
  }),
  deleteWebhook: ({ webhookId }) => ({ path: `/v1/webhooks/${webhookId}` }),
  createKey: () => ({ path: '/v1/keys', body: { name: 'ci', scope: 'read' } }),
  listKeys: () => ({ path: '/v1/keys' }),
  getUsage: () => ({ path: '/v1/usage' }),
  deleteKey: ({ keyId }) => ({ path: `/v1/keys/${keyId}` }),
  listDomains: () => ({ path: '/v1/domains' }),
  deleteMessages: ({ inbox }) => ({ path: `/v1/inboxes/${inbox.id}/messages` }),
  deleteMessage: ({ inbox, messageId }) => ({ path: `/v1/inboxes/${inbox.id}/messages/${messageId}` }),
  deleteInbox: ({ inbox }) => ({ path: `/v1/inboxes/${inbox.id}` }),
  // Only where the operator lets anyone sign up.
  createAccount: () => ({ path: '/v1/accounts', body: { name: 'ours' } }),
};

export interface Operation {
  id: string;
  method: string;
  /** As the document writes it. */
  path: string;
  /** True where `:id` is an inbox. */
  ofInbox: boolean;
  takesCredential: boolean;
  row: (place: Place) => Row;
  parameters: { in: string; name: string; schema: Body }[];
  bodySchema: Body;
  /** The request body by media type. */
  content: Body;
  needsBody: boolean;
  responses: Body;
}

/** What a part of the document stands for, where it is a reference. */
export const resolved = (document: Body, node: Body): Body =>
  node?.$ref
    ? node.$ref
        .slice(2)
        .split('/')
        .reduce((at: Body, name: string) => at[name], document)
    : node;

/** Every operation of the document, with its row. */
export function everyOperation(): { document: Body; operations: Operation[] } {
  const document: Body = JSON.parse(readFileSync(OPENAPI_FILE, 'utf8'));
  const resolve = (node: Body): Body => resolved(document, node);
  const operations: Operation[] = [];
  for (const [path, methods] of Object.entries<Body>(document.paths)) {
    for (const [method, described] of Object.entries<Body>(methods)) {
      const id: string = described.operationId;
      const row = ROWS[id];
      if (!row) throw new Error(`${method} ${path} (${id}) has no row in operations.ts`);
      const reference: string | undefined = described.requestBody?.content['application/json']?.schema.$ref;
      operations.push({
        ...{ id, method: method.toUpperCase(), path, row },
        ofInbox: path.startsWith('/v1/inboxes/{id}'),
        takesCredential: described.security.length > 0,
        parameters: (described.parameters ?? []).map(resolve),
        content: described.requestBody?.content ?? {},
        needsBody: described.requestBody?.required === true,
        bodySchema: reference && document.components.schemas[reference.split('/').at(-1) ?? ''],
        responses: Object.fromEntries(
          Object.entries<Body>(described.responses).map(([status, response]) => [status, resolve(response)]),
        ),
      });
    }
  }
  return { document, operations };
}

const MAIL = [
  'From: Shop <no-reply@shop.example>',
  'Subject: Please confirm your address',
  'MIME-Version: 1.0',
  'Content-Type: multipart/mixed; boundary=b',
  '',
  '--b',
  '',
  'Your code is 482913. Or open https://shop.example/confirm?token=abc',
  '--b',
  'Content-Disposition: attachment; filename=a.txt',
  '',
  'attached',
  '--b--',
  '',
].join('\r\n');

/** A new inbox with a message that has an attachment, a webhook with a delivery, and a key. */
export async function newPlace(http: TestHttp, body: object = {}, as = http.keys.own): Promise<Place> {
  const inbox = await http.createInbox(body, as);
  const messageId = await http.deliverRaw(
    inbox,
    MAIL,
    as === http.keys.foreign ? http.foreignId : http.accountId,
  );
  const message = await http.store.messages.find(inbox.id, messageId, http.clock.now());
  const webhook = await http.api('POST', '/v1/webhooks', { as, body: { url: HOOK } });
  const delivery = await http.api('POST', `/v1/webhooks/${webhook.body.id}/test`, { as });
  const key = await http.api('POST', '/v1/keys', { as, body: { name: 'spare', scope: 'read' } });
  const never = { match: { subject: 'never sent' }, timeoutSeconds: 0 };
  const failed = await http.api('POST', `/v1/inboxes/${inbox.id}/wait`, { as, body: never });
  return {
    ...{ inbox, messageId, webhookId: webhook.body.id, deliveryId: delivery.body.id },
    keyId: key.body.id,
    waitId: failed.body.waitId,
    attachmentId: message?.content.attachments[0]?.id ?? 'none',
  };
}
