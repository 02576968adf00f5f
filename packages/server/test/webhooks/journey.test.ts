import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { newId } from '../../src/ids.ts';
import type { Body } from '../support/api-client.ts';
import { useFolder } from '../support/folder.ts';
import { startedOnce } from '../support/started.ts';
import { startHttp, useReceiver } from './receivers.ts';
import { bodyOf, startWebhookApp, verified } from './start-webhooks.ts';

const HOUR = 60 * 60_000;
const DAY = 24 * HOUR;

describe('a webhook', () => {
  const app = startedOnce(() => startWebhookApp({ MAYFLY_METRICS: 'on' }));
  /** What the receiver answers. */
  let answer: { status: number; headers?: Record<string, string> };
  const receiver = useReceiver((response) => response.writeHead(answer.status, answer.headers).end('thanks'));
  beforeEach(() => {
    answer = { status: 200 };
    app.logged.length = 0;
  });
  afterEach(async () => {
    const { webhooks } = bodyOf(await app.api('GET', '/v1/webhooks'));
    for (const { id } of webhooks) await app.api('DELETE', `/v1/webhooks/${id}`);
  });
  const received = async (count: number) => {
    await expect.poll(() => receiver.requests.length).toBeGreaterThanOrEqual(count);
    return receiver.requests;
  };
  const attempted = async (id: string, count: number): Promise<Body> =>
    (await app.untilDeliveries(id, ([one]) => one?.attempts.length === count))[0];
  const ended = async (id: string): Promise<Body> =>
    (await app.untilDeliveries(id, ([one]) => one && one.state !== 'pending'))[0];

  it('brings a new message at once, signed, with the names of the API', async () => {
    const webhook = await app.register(receiver.port);
    const inbox = await app.createInbox({ labels: { run: '7' } });
    await app.mail(inbox.address, 'Your code is 482910');
    const [request] = await received(1);
    const event = verified(webhook.secret, request, app.clock.now());
    const [summary] = await app.messages(inbox);
    const data = { inbox: { id: inbox.id, address: inbox.address, labels: { run: '7' } }, message: summary };
    expect(event).toMatchObject({ type: 'message.received', timestamp: summary.receivedAt, data });
    expect(event).not.toHaveProperty('test');
    expect(event.data.message.url).toBe(`/v1/inboxes/${inbox.id}/messages/${summary.id}`);
    const userAgent = expect.stringMatching(/^Mayfly\//);
    const headers = { 'webhook-id': event.id, 'content-type': 'application/json', 'user-agent': userAgent };
    expect(request?.headers).toMatchObject(headers);
    const delivery = await ended(webhook.id);
    expect(delivery).toMatchObject({ state: 'delivered', eventId: event.id, messageId: summary.id });
    expect(delivery.attempts).toMatchObject([{ status: 200, error: null, responseStart: 'thanks' }]);
    const metric = /mayfly_webhook_deliveries_total\{outcome="delivered"\} [1-9]/;
    expect((await app.api('GET', '/metrics')).body).toMatch(metric);
  });

  it('is tried eight times at the published times with one id and one body, then no more', async () => {
    answer = { status: 500 };
    const webhook = await app.register(receiver.port);
    await app.mail((await app.createInbox({ ttlMinutes: 43_200 })).address);
    for (const [index, seconds] of [5, 30, 120, 600, 1800, 7200, 21_600].entries()) {
      const delivery = await attempted(webhook.id, index + 1);
      const wait = Date.parse(delivery.nextAttemptAt) - app.clock.now();
      expect(wait).toBeGreaterThanOrEqual(seconds * 800);
      expect(wait).toBeLessThanOrEqual(seconds * 1200);
      await app.clock.leap(wait - 1);
      expect(receiver.requests).toHaveLength(index + 1);
      await app.clock.advance(1);
    }
    const delivery = await ended(webhook.id);
    expect(delivery).toMatchObject({ state: 'failed', reason: 'All attempts failed.', nextAttemptAt: null });
    expect(delivery.attempts).toHaveLength(8);
    expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(new Set(receiver.requests.map(({ body }) => body.toString())).size).toBe(1);
    const times = receiver.requests.map(({ headers }) => Number(headers['webhook-timestamp']));
    expect(times).toEqual(times.toSorted());
    expect(new Set(times).size).toBe(8);
  });

  it('is attempted within a second when no event told of it', async () => {
    const webhook = await app.register(receiver.port);
    // As another process would: nothing in this one is published.
    const store = await app.openStore();
    const owner = await store.accounts.findFirst();
    const now = app.clock.now();
    const ids = { deliveryId: newId('dlv', now), eventId: newId('evt', now) };
    await store.deliveries.addTest(owner?.id ?? '', webhook.id, ids, now);
    await store.close();
    await app.clock.untilSleeping();
    await app.clock.advance(1_000);
    await received(1);
    expect(receiver.requests[0]?.headers['webhook-id']).toBe(ids.eventId);
  });

  it('answered 410 is disabled at once, and the log and the webhook say why', async () => {
    answer = { status: 410 };
    const webhook = await app.register(receiver.port);
    const inbox = await app.createInbox();
    await app.mail(inbox.address);
    const delivery = await ended(webhook.id);
    expect(delivery).toMatchObject({ state: 'failed', reason: 'The endpoint answered 410 Gone.' });
    const path = `/v1/webhooks/${webhook.id}`;
    const disabled = { enabled: false, disabledReason: 'The endpoint answered 410 Gone.' };
    await expect.poll(async () => bodyOf(await app.api('GET', path))).toMatchObject(disabled);
    await app.mail(inbox.address);
    answer = { status: 200 };
    await app.clock.advance(1);
    bodyOf(await app.api('PATCH', path, { body: { enabled: true } }));
    await app.mail(inbox.address);
    const log = await app.untilDeliveries(webhook.id, ([one]) => one?.state === 'delivered');
    expect(log.map(({ state }) => state)).toEqual(['delivered', 'failed']);
  });

  it('with nothing but failures for five days is disabled, and what is pending ends', async () => {
    // Two deliveries that take turns every ten hours: the clock stands while an attempt is under way.
    answer = { status: 503, headers: { 'retry-after': String((20 * HOUR) / 1_000) } };
    const webhook = await app.register(receiver.port);
    const inbox = await app.createInbox({ ttlMinutes: 43_200 });
    const path = `/v1/webhooks/${webhook.id}`;
    for (let attempts = 1; attempts <= 12; attempts++) {
      if (attempts <= 2) await app.mail(inbox.address);
      await app.untilDeliveries(webhook.id, (all) => all.flatMap((one) => one.attempts).length === attempts);
      expect(bodyOf(await app.api('GET', path))).toMatchObject({ enabled: true });
      await app.clock.leap(10 * HOUR);
    }
    const log = await app.untilDeliveries(webhook.id, (all) => all.every(({ state }) => state !== 'pending'));
    const disabledReason = 'Nothing but failures for five days.';
    expect(bodyOf(await app.api('GET', path))).toMatchObject({ enabled: false, disabledReason });
    const cancelled = { state: 'cancelled', reason: `The webhook was disabled. ${disabledReason}` };
    expect(log).toMatchObject([cancelled, cancelled]);
    expect(receiver.requests).toHaveLength(13);
  });

  it('sends a test event that says so, signed and logged like any other', async () => {
    const webhook = await app.register(receiver.port);
    const queued = bodyOf(await app.api('POST', `/v1/webhooks/${webhook.id}/test`), 202);
    const [request] = await received(1);
    const event = verified(webhook.secret, request, app.clock.now());
    const data = { inbox: { id: 'inb_test' }, message: { id: 'msg_test', subject: 'Mayfly test event' } };
    expect(event).toMatchObject({ id: queued.eventId, type: 'message.received', test: true, data });
    expect(await ended(webhook.id)).toMatchObject({ id: queued.id, state: 'delivered', messageId: null });
  });

  it('verifies with both secrets while a rotation lasts, with the new one alone after a day', async () => {
    const webhook = await app.register(receiver.port);
    const { secret } = bodyOf(await app.api('POST', `/v1/webhooks/${webhook.id}/rotate-secret`));
    const test = async () => {
      const before = receiver.requests.length;
      await app.api('POST', `/v1/webhooks/${webhook.id}/test`);
      await received(before + 1);
      return receiver.requests.at(-1);
    };
    const during = await test();
    const event = verified(webhook.secret, during, app.clock.now());
    expect(event).toEqual(verified(secret, during, app.clock.now()));
    await app.clock.leap(DAY);
    const after = await test();
    expect(after?.headers['webhook-signature']?.split(' ')).toHaveLength(1);
    expect(verified(secret, after, app.clock.now())).toMatchObject({ test: true });
    expect(() => verified(webhook.secret, after, app.clock.now())).toThrow(/signature/i);
  });

  it.each(['deleted', 'emptied'])('sends nothing of what was %s, also when it is replayed', async (how) => {
    answer = { status: 500 };
    const webhook = await app.register(receiver.port);
    const inbox = await app.createInbox();
    await app.mail(inbox.address);
    const { id, messageId } = await attempted(webhook.id, 1);
    const path = `/v1/inboxes/${inbox.id}/messages`;
    bodyOf(await app.api('DELETE', how === 'deleted' ? `${path}/${messageId}` : path), 204);
    await app.clock.advance(6_000);
    const cancelled = { state: 'cancelled', reason: 'The message was deleted.' };
    expect(await ended(webhook.id)).toMatchObject(cancelled);
    bodyOf(await app.api('POST', `/v1/webhooks/${webhook.id}/deliveries/${id}/replay`), 202);
    expect(await ended(webhook.id)).toMatchObject(cancelled);
    expect(receiver.requests).toHaveLength(1);
  });

  it('leaves one line an attempt in the log of the server: ids and the outcome, no URL, secret or mail', async () => {
    const webhook = await app.register(receiver.port);
    await app.mail((await app.createInbox()).address, 'confidential');
    const delivery = await ended(webhook.id);
    const lines = () => app.logged.filter((line) => line.includes('A webhook attempt ended'));
    const { id: deliveryId, eventId, messageId } = delivery;
    const ids = { deliveryId, webhookId: webhook.id, eventId, messageId };
    const line = { ...ids, attempt: 1, status: 200, next: 'delivered' };
    await expect.poll(() => lines().map((one) => JSON.parse(one))).toMatchObject([line]);
    const all = app.logged.join('');
    for (const word of ['whsec_', webhook.secret.slice(8, 24), 'confidential', '/hook', 'thanks']) {
      expect(all).not.toContain(word);
    }
  });
});

describe('a stop of the server', () => {
  const folder = useFolder();

  it('cuts an attempt that gets no answer; the next start makes it again at once, with the same id', async () => {
    let silent = true;
    const receiver = await startHttp((response) => {
      if (!silent) response.end();
    });
    onTestFinished(() => receiver.close());
    const received = (count: number) => expect.poll(() => receiver.requests.length).toBe(count);
    const first = await startWebhookApp({}, {}, folder());
    const webhook = await first.register(receiver.port);
    await first.mail((await first.createInbox()).address);
    await received(1);
    let stopped = false;
    const stopping = first.stop().finally(() => {
      stopped = true;
    });
    for (; !stopped; await nextTurn()) await first.clock.advance(100);
    await stopping;

    silent = false;
    const second = await startWebhookApp({}, {}, folder());
    await received(2);
    const [delivery] = await second.untilDeliveries(webhook.id, ([one]) => one.state === 'delivered');
    // What we cut ourselves says nothing about the endpoint.
    expect(delivery.attempts).toHaveLength(1);
    const ids = receiver.requests.map(({ headers }) => headers['webhook-id']);
    expect(ids).toEqual([delivery.eventId, delivery.eventId]);
    await second.stop();
  });
});
