import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
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

export const sendOptions = ({ body, type }: Row): ApiOptions => ({
  ...(body ? { body } : {}),
  ...(type ? { headers: { 'content-type': type } } : {}),
});

/** Nothing is sent there: these tests run no worker. */
const HOOK = 'http://127.0.0.1:9999/hook';

/** What operations are sent beside their path. One that needs a body and is not here fails all tests of operations. */
const SENT: Record<string, (place: Place) => Omit<Row, 'path'> & { query?: string }> = {
  createInbox: () => ({ body: { ttlMinutes: 5 } }),
  deleteInboxes: () => ({ query: 'label.never=used' }),
  generateAddress: () => ({ body: { domain: 'mayfly.test' } }),
  updateInbox: () => ({ body: { ttlMinutes: 10 } }),
  setFaults: () => ({ body: { rules: [{ at: 'rcpt', reply: { code: 451 } }] } }),
  setOutcomes: () => ({ body: { rules: [{ outcome: 'bounce' }] } }),
  advanceInbox: () => ({ body: { minutes: 60 } }),
  replyToMessage: () => ({ body: { text: 'Thanks!' } }),
  setProvider: () => ({ body: { webhookUrl: HOOK } }),
  getRunReport: () => ({ query: 'label.never=used' }),
  importInbox: () => ({ query: 'speed=10', body: EMPTY_ARCHIVE, type: 'application/zip' }),
  injectMessage: () => ({
    ...{ query: 'mailFrom=app@example.org', body: 'Subject: injected\r\n\r\nx\r\n', type: 'message/rfc822' },
  }),
  markMessage: () => ({ body: { read: true, tags: ['reviewed'] } }),
  previewMessage: () => ({ body: { remoteContent: false } }),
  waitForMessages: () => ({ body: { timeoutSeconds: 0 } }),
  createWebhook: ({ inbox }) => ({ body: { url: HOOK, inboxId: inbox.id } }),
  updateWebhook: () => ({ body: { description: 'ours' } }),
  replayWebhookDeliveries: () => ({ body: { state: 'failed' } }),
  createKey: () => ({ body: { name: 'ci', scope: 'read' } }),
  // Only where the operator lets anyone sign up.
  createAccount: () => ({ body: { name: 'ours' } }),
};

/** The id that a path template such as `/v1/webhooks/{id}/deliveries/{deliveryId}` names at a place. */
function idAt({ inbox, webhookId, keyId, ...ids }: Place, noun: string, name: string): string {
  const ofNoun: Record<string, string> = { inboxes: inbox.id, webhooks: webhookId, keys: keyId };
  const named: Record<string, string | undefined> = { ...ids, name: 'resend', id: ofNoun[noun] };
  return named[name] ?? expect.fail(`operations.ts knows no ${noun}/{${name}}`);
}

/** A valid request of an operation. */
function rowOf(id: string, template: string, place: Place): Row {
  const { query, ...rest } = SENT[id]?.(place) ?? {};
  const path = template.replaceAll(
    /(\w+)\/\{(\w+)\}/g,
    (_, noun: string, name: string) => `${noun}/${idAt(place, noun, name)}`,
  );
  return { ...rest, path: query ? `${path}?${query}` : path };
}

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

/** What a part of the document stands for, where it is a reference such as `#/components/schemas/Problem`. */
export function resolved(document: Body, node: Body): Body {
  const [, ...names] = node?.$ref?.split('/') ?? [];
  return names.length > 0 ? names.reduce((at: Body, name: string) => at[name], document) : node;
}

/** Every operation of the document, with a valid request. */
export function everyOperation(): { document: Body; operations: Operation[] } {
  const document: Body = JSON.parse(readFileSync(OPENAPI_FILE, 'utf8'));
  const resolve = (node: Body): Body => resolved(document, node);
  const operations: Operation[] = [];
  for (const [path, methods] of Object.entries<Body>(document.paths)) {
    for (const [method, described] of Object.entries<Body>(methods)) {
      const id: string = described.operationId;
      const needsBody = described.requestBody?.required === true;
      if (needsBody && !SENT[id]) throw new Error(`operations.ts has no body for ${id}.`);
      const reference: string | undefined = described.requestBody?.content['application/json']?.schema.$ref;
      operations.push({
        ...{ id, method: method.toUpperCase(), path, needsBody },
        row: (place) => rowOf(id, path, place),
        ofInbox: path.startsWith('/v1/inboxes/{id}'),
        takesCredential: described.security.length > 0,
        parameters: (described.parameters ?? []).map(resolve),
        content: described.requestBody?.content ?? {},
        bodySchema: reference && document.components.schemas[reference.split('/').at(-1) ?? ''],
        responses: Object.fromEntries(
          Object.entries<Body>(described.responses).map(([status, response]) => [status, resolve(response)]),
        ),
      });
    }
  }
  return { document, operations };
}

const MAIL = `From: Shop <no-reply@shop.example>
Subject: Please confirm your address
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=b

--b

Your code is 482913. Or open https://shop.example/confirm?token=abc
--b
Content-Disposition: attachment; filename=a.txt

attached
--b--
`.replaceAll('\n', '\r\n');

/** A new inbox with a message that has an attachment, a webhook with a delivery, and a key. */
export async function newPlace(http: TestHttp, body: object = {}, as = http.keys.own): Promise<Place> {
  const inbox = await http.createInbox(body, as);
  const owner = as === http.keys.foreign ? http.foreignId : http.accountId;
  const messageId = await http.deliverRaw(inbox, MAIL, owner);
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
