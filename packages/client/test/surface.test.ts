import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { ROOT } from '../scripts/generate-api.ts';
import { type api, Mayfly, Message } from '../src/index.ts';

/** Each request that is made, without its query; the responses are empty. */
const requests: string[] = [];
const fetch: typeof globalThis.fetch = async (url, init) => {
  requests.push(`${init?.method} ${new URL(String(url)).pathname}`);
  return new Response('{"inboxes":[],"messages":[]}', { headers: { 'content-type': 'application/json' } });
};
const mayfly = new Mayfly({ url: 'http://mayfly.test', apiKey: 'x', fetch, retries: 0 });
const inbox = mayfly.inbox('I');
const first = (items: AsyncGenerator<unknown>) => items.next().finally(() => items.return(undefined));
const attachment = { url: 'http://mayfly.test/v1/inboxes/I/messages/M/attachments/A' } as api.Attachment;
const recording = new Uint8Array();
const mail = new Message(mayfly.transport, { inboxId: 'I', id: 'M' } as api.Message);
const { webhooks, keys } = mayfly;

/** The method of each operation. */
const METHODS: Record<string, () => Promise<unknown>> = {
  'POST /v1/inboxes': () => mayfly.createInbox(),
  'GET /v1/inboxes': () => mayfly.inboxes(),
  'DELETE /v1/inboxes': () => mayfly.deleteInboxes({ run: '4711' }),
  'GET /v1/inboxes/{id}': () => mayfly.getInbox('I'),
  'PATCH /v1/inboxes/{id}': () => inbox.extend(5),
  'DELETE /v1/inboxes/{id}': () => inbox.delete(),
  'PUT /v1/inboxes/{id}/faults': () => inbox.setFaults([{ at: 'data', delayMs: 2000 }]),
  'GET /v1/inboxes/{id}/faults': () => inbox.faults(),
  'DELETE /v1/inboxes/{id}/faults': () => inbox.clearFaults(),
  'GET /v1/inboxes/{id}/messages': () => inbox.messages(),
  'GET /v1/inboxes/{id}/messages/{messageId}': () => inbox.read('M'),
  'GET /v1/inboxes/{id}/messages/{messageId}/raw': () => mail.raw(),
  'GET /v1/inboxes/{id}/messages/{messageId}/attachments/{attachmentId}': () => mail.attachment(attachment),
  'POST /v1/inboxes/{id}/messages/{messageId}/preview': () => mail.previewUrl(),
  'GET /v1/inboxes/{id}/messages/{messageId}/lint': () => mail.lint(),
  'GET /v1/inboxes/{id}/messages/{messageId}/timeline': () => mail.timeline(),
  'POST /v1/inboxes/{id}/wait': () => inbox.waitForMessage({ timeout: 0 }),
  'GET /v1/inboxes/{id}/waits/{waitId}': () => inbox.failedWait('W'),
  'GET /v1/inboxes/{id}/events': () => first(inbox.stream({ signal: AbortSignal.timeout(50) })),
  'GET /v1/events': () => first(mayfly.stream({ signal: AbortSignal.timeout(50) })),
  'GET /v1/reports/runs': () => mayfly.report({ run: '4711' }),
  'POST /v1/addresses/generate': () => mayfly.generateAddress(),
  'POST /v1/webhooks': () => webhooks.create({ url: 'https://shop.example/hooks' }),
  'GET /v1/webhooks': () => webhooks.list(),
  'GET /v1/webhooks/{id}': () => webhooks.get('W'),
  'PATCH /v1/webhooks/{id}': () => webhooks.update('W', { enabled: true }),
  'DELETE /v1/webhooks/{id}': () => webhooks.delete('W'),
  'POST /v1/webhooks/{id}/rotate-secret': () => webhooks.rotateSecret('W'),
  'POST /v1/webhooks/{id}/test': () => webhooks.test('W'),
  'GET /v1/webhooks/{id}/deliveries': () => webhooks.deliveries('W'),
  'POST /v1/webhooks/{id}/deliveries/{deliveryId}/replay': () => webhooks.replay('W', 'D'),
  'POST /v1/webhooks/{id}/deliveries/replay': () => webhooks.replayMany('W', { state: 'failed' }),
  'POST /v1/keys': () => keys.create({ name: 'ci' }),
  'GET /v1/keys': () => keys.list(),
  'DELETE /v1/keys/{id}': () => keys.delete('K'),
  'GET /v1/usage': () => mayfly.usage(),
  'GET /v1/domains': () => mayfly.domains(),
  'PUT /v1/inboxes/{id}/outcomes': () => inbox.setOutcomes([{ outcome: 'complaint' }]),
  'GET /v1/inboxes/{id}/outcomes': () => inbox.outcomes(),
  'DELETE /v1/inboxes/{id}/outcomes': () => inbox.clearOutcomes(),
  'POST /v1/inboxes/{id}/advance': () => inbox.advance('3d'),
  'GET /v1/inboxes/{id}/sent': () => inbox.sent(),
  'GET /v1/inboxes/{id}/threads': () => inbox.threads(),
  'POST /v1/inboxes/{id}/messages/{messageId}/reply': () => mail.reply('Thanks!'),
  'PUT /v1/providers/{name}': () =>
    mayfly.setProvider('N' as 'ses', { webhookUrl: 'https://shop.example/events' }),
  'GET /v1/providers/{name}': () => mayfly.provider('N' as 'ses'),
  'DELETE /v1/providers/{name}': () => mayfly.deleteProvider('N' as 'ses'),
  'POST /v1/inboxes/{id}/expire': () => inbox.expire(),
  'GET /v1/inboxes/{id}/export': () => inbox.export(),
  'POST /v1/inboxes/import': () => mayfly.importInbox(recording),
  'POST /v1/inboxes/{id}/messages': () => inbox.inject('Subject: Code\n\nYour code is 482913.'),
  'DELETE /v1/inboxes/{id}/messages': () => inbox.empty(),
  'DELETE /v1/inboxes/{id}/messages/{messageId}': () => mail.delete(),
  'PATCH /v1/inboxes/{id}/messages/{messageId}': () => mail.mark({ read: true }),
  'GET /v1/labels': () => mayfly.labels('run'),
  'GET /v1/messages': () => mayfly.search('receipt'),
  'GET /v1/refusals': () => mayfly.refusals(),
};

/** Sign-up takes no credential, and a client has one. */
const WITHOUT_METHOD = ['POST /v1/accounts'];

it('every operation of openapi.json but sign-up has a method', () => {
  const { paths } = JSON.parse(readFileSync(`${ROOT}openapi.json`, 'utf8')) as { paths: object };
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect([...Object.keys(METHODS), ...WITHOUT_METHOD].sort()).toEqual(operations.sort());
});

it.each(Object.entries(METHODS))('%s is what its method requests', async (operation, method) => {
  requests.length = 0;
  // The empty response is none that the method can return.
  await method().catch(() => undefined);
  const template = operation.replaceAll(/\{\w+\}/g, '[A-Z]');
  expect(requests[0]).toMatch(new RegExp(`^${template}$`));
});
