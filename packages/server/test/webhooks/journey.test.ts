import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type HttpReceiver, startHttp } from './receivers.ts';
import { startWebhookApp, until, verified, type WebhookApp } from './start-webhooks.ts';

describe('a webhook', () => {
  let app: WebhookApp;
  let receiver: HttpReceiver;
  let status: number;
  beforeEach(async () => {
    status = 200;
    app = await startWebhookApp();
    receiver = await startHttp((response) => response.writeHead(status).end('thanks'));
  });
  afterEach(async () => {
    await app.stop();
    await receiver.close();
  });
  const received = (count: number) =>
    until(
      () => receiver.requests,
      (requests) => requests.length >= count,
    );

  it('brings a new message at once, signed, with the names of the API', async () => {
    const webhook = await app.register(receiver.port);
    const inbox = await app.createInbox({ labels: { run: '7' } });
    await app.mail(inbox.address, 'Your code is 482910');
    const [request] = await received(1);
    const event = verified(webhook.secret, request);
    const { body: list } = await app.api('GET', `/v1/inboxes/${inbox.id}/messages`);
    const [summary] = list.messages;
    expect(event).toMatchObject({
      type: 'message.received',
      timestamp: summary.receivedAt,
      data: { inbox: { id: inbox.id, address: inbox.address, labels: { run: '7' } }, message: summary },
    });
    expect(event.data.message.url).toBe(`${app.url}/v1/inboxes/${inbox.id}/messages/${summary.id}`);
    expect(request?.headers['webhook-id']).toBe(event.id);
    const [delivery] = await app.untilDeliveries(webhook.id, ([one]) => one?.state === 'delivered');
    expect(delivery).toMatchObject({ eventId: event.id, messageId: summary.id, nextAttemptAt: null });
    expect(delivery.attempts).toMatchObject([{ status: 200, error: null, responseStart: 'thanks' }]);
  });

  it('is tried again with the same id until it is answered 2xx', async () => {
    status = 500;
    const webhook = await app.register(receiver.port);
    const inbox = await app.createInbox();
    await app.mail(inbox.address);
    await app.untilDeliveries(webhook.id, ([one]) => one?.attempts.length === 1);
    await app.clock.advance(6_000);
    await app.untilDeliveries(webhook.id, ([one]) => one?.attempts.length === 2);
    status = 204;
    await app.clock.advance(36_000);
    const [delivery] = await app.untilDeliveries(webhook.id, ([one]) => one?.state === 'delivered');
    expect(delivery.attempts.map((attempt: { status: number }) => attempt.status)).toEqual([500, 500, 204]);
    expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-id']))).toEqual(
      new Set([delivery.eventId]),
    );
    for (const request of receiver.requests) verified(webhook.secret, request);
  });
});
