import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { Body } from '../support/api-client.ts';
import { startApp, type TestApp } from '../support/start-app.ts';

/** The application under test: whatever is sent to it is in its sink. */
let application: TestApp;
let app: TestApp;
beforeAll(async () => {
  application = await startApp({ MAYFLY_SINK: 'on' });
  const { port } = application.smtp;
  // With a sink, as `mayfly dev` has it, which would take every address.
  app = await startApp({ MAYFLY_REPLY_SMTP: `127.0.0.1:1,127.0.0.1:${port}`, MAYFLY_SINK: 'on' });
});
afterAll(async () => {
  await app.stop();
  await application.stop();
});

const arrived = async (): Promise<Body[]> =>
  (await application.api('GET', '/v1/messages?wait=10')).body.messages;

it('replies and reports to addresses of others go to the first server of the operator that answers', async () => {
  const inbox = await app.createInbox();
  await app.api('PUT', `/v1/inboxes/${inbox.id}/outcomes`, { body: { rules: [{ outcome: 'bounce' }] } });
  await app.send({
    from: 'help@shop.example',
    to: inbox.address,
    subject: 'Ticket',
    text: 'How can we help?',
  });
  const [bounce] = await arrived();
  expect(bounce).toMatchObject({
    subject: 'Undelivered Mail Returned to Sender',
    rcptTo: ['help@shop.example'],
  });
  const { messages } = (await app.api('GET', `/v1/inboxes/${inbox.id}/messages`)).body;
  const path = `/v1/inboxes/${inbox.id}/messages/${messages[0].id}/reply`;
  await app.api('POST', path, { body: { text: 'It works.' } });
  await vi.waitFor(async () => expect(await arrived()).toHaveLength(2), { timeout: 20_000 });
  const [reply] = await arrived();
  expect(reply).toMatchObject({ subject: 'Re: Ticket', from: { address: inbox.address } });
  const { sent } = (await app.api('GET', `/v1/inboxes/${inbox.id}/sent`)).body;
  const delivered = { state: 'delivered', to: ['help@shop.example'] };
  expect(sent).toMatchObject([delivered, delivered]);
});
