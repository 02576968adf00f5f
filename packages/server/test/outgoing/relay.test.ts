import { expect, it } from 'vitest';
import type { Body } from '../support/api-client.ts';
import { useApp } from '../support/start-app.ts';

/** The application under test: whatever is sent to it is in its sink. */
const application = useApp({ MAYFLY_SINK: 'on' });
// With a sink, as `mayfly dev` has it, which would take every address.
const app = useApp(async () => ({
  MAYFLY_REPLY_SMTP: `127.0.0.1:1,127.0.0.1:${application.smtp.port}`,
  MAYFLY_SINK: 'on',
}));

const arrived = async (): Promise<Body[]> =>
  (await application.api('GET', '/v1/messages?wait=10')).body.messages;

it('replies and reports to addresses of others go to the first server of the operator that answers', async () => {
  const inbox = await app.createInbox();
  await app.api('PUT', `/v1/inboxes/${inbox.id}/outcomes`, { body: { rules: [{ outcome: 'bounce' }] } });
  const ticket = { from: 'help@shop.example', subject: 'Ticket', text: 'How can we help?' };
  await app.send({ ...ticket, to: inbox.address });
  const [bounce] = await arrived();
  expect(bounce).toMatchObject({ subject: 'Undelivered Mail Returned to Sender', rcptTo: [ticket.from] });
  const [message] = await app.messages(inbox);
  const path = `/v1/inboxes/${inbox.id}/messages/${message.id}/reply`;
  await app.api('POST', path, { body: { text: 'It works.' } });
  await expect.poll(arrived).toHaveLength(2);
  const [reply] = await arrived();
  expect(reply).toMatchObject({ subject: 'Re: Ticket', from: { address: inbox.address } });
  const { sent } = (await app.api('GET', `/v1/inboxes/${inbox.id}/sent`)).body;
  const delivered = { state: 'delivered', to: [ticket.from] };
  expect(sent).toMatchObject([delivered, delivered]);
});
