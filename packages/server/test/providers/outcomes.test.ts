import { createHmac } from 'node:crypto';
import { EventWebhook } from '@sendgrid/eventwebhook';
import { afterAll, describe, expect, it, vi } from 'vitest';
import type { Body } from '../support/api-client.ts';
import { startApp, TEST_KEY } from '../support/start-app.ts';
import { startHttp } from '../webhooks/receivers.ts';
import { mailgunSdk, postmarkSdk, sendgridSdk } from './sdks.ts';

const app = await startApp({ MAYFLY_DOMAINS: 'mayfly.test', MAYFLY_WEBHOOK_ALLOW: '127.0.0.1/32' });
const receiver = await startHttp((response) => response.writeHead(200).end());
afterAll(async () => {
  await receiver.close();
  await app.stop();
});

const { mail: sendgrid } = sendgridSdk(app.url, TEST_KEY);
const postmark = postmarkSdk(app.url, TEST_KEY);
const mailgun = mailgunSdk(app.url, TEST_KEY);

/** Sends with the SDK and resolves with the id in its response. */
const SENDS: Record<string, (to: string) => Promise<unknown>> = {
  async sendgrid(to) {
    const mail = { to, from: 'a@b.example', subject: 'Hi', text: 'Hi', customArgs: { n: '1' } };
    const [answer] = await sendgrid.send(mail);
    return answer.headers['x-message-id'];
  },
  async postmark(to) {
    const mail = { To: to, From: 'a@b.example', Subject: 'Hi', TextBody: 'Hi', Metadata: { n: '1' } };
    return (await postmark.sendEmail(mail)).MessageID;
  },
  async mailgun(to) {
    const mail = { to, from: 'a@b.example', subject: 'Hi', text: 'Hi', 'v:n': '1' };
    return (await mailgun.messages.create('b.example', mail)).id;
  },
};

type Verify = (body: string, headers: Record<string, unknown>, verification: Body) => boolean;
const VERIFIES: Record<string, Verify> = {
  sendgrid(body, headers, { publicKey }) {
    const webhook = new EventWebhook();
    const [signature, timestamp] = ['signature', 'timestamp'].map((name) =>
      String(headers[`x-twilio-email-event-webhook-${name}`]),
    );
    return webhook.verifySignature(
      webhook.convertPublicKeyToECDSA(publicKey),
      body,
      signature ?? '',
      timestamp ?? '',
    );
  },
  postmark: (_body, headers, { username, password }) =>
    headers.authorization === `Basic ${btoa(`${username}:${password}`)}`,
  mailgun(body, _headers, { signingKey }) {
    const { timestamp, token, signature } = JSON.parse(body).signature;
    return (
      createHmac('sha256', signingKey)
        .update(timestamp + token)
        .digest('hex') === signature
    );
  },
};

describe.each(['sendgrid', 'postmark', 'mailgun'])('an outcome of a mail that came by %s', (name) => {
  it('is told once, by a signed event with the id of the response and what the application gave', async () => {
    receiver.requests.length = 0;
    const inbox = await app.createInbox();
    const settings = { webhookUrl: `http://127.0.0.1:${receiver.port}/events` };
    const { body: set } = await app.api('PUT', `/v1/providers/${name}`, { body: settings });
    await app.api('PUT', `/v1/inboxes/${inbox.id}/outcomes`, { body: { rules: [{ outcome: 'bounce' }] } });
    const id = String(await SENDS[name]?.(inbox.address));
    await SENDS[name]?.(inbox.address);
    await vi.waitFor(() => expect(receiver.requests).toHaveLength(1), { timeout: 20_000, interval: 50 });
    const [request] = receiver.requests;
    const body = String(request?.body);
    expect(VERIFIES[name]?.(body, request?.headers ?? {}, set.verification)).toBe(true);
    expect(body).toContain(inbox.address);
    expect(body).toContain(id.replaceAll(/[<>]/g, ''));
    expect(body).toContain('"n":"1"'.replace('"1"', name === 'mailgun' ? '1' : '"1"'));
    const { body: sent } = await app.api('GET', `/v1/inboxes/${inbox.id}/sent`);
    expect(sent.sent).toHaveLength(1);
  });
});

describe('scheduled mail', () => {
  const inAnHour = (): number => Date.now() + 3_600_000;
  const subjects = async ({ id }: { id: string }) =>
    (await app.api('GET', `/v1/inboxes/${id}/messages`)).body.messages.map(({ subject }: Body) => subject);

  it.each([
    [
      'send_at of SendGrid',
      (to: string) => {
        const sendAt = Math.floor(inAnHour() / 1000);
        return sendgrid.send({ to, from: 'a@b.example', subject: 'Later', text: 'Hi', sendAt });
      },
    ],
    [
      'o:deliverytime of Mailgun',
      (to: string) => {
        const time = { 'o:deliverytime': new Date(inAnHour()).toUTCString() };
        return mailgun.messages.create('b.example', {
          to,
          from: 'a@b.example',
          subject: 'Later',
          text: 'Hi',
          ...time,
        });
      },
    ],
  ])('by %s is held until its time or an advance', async (_what, send) => {
    const inbox = await app.createInbox();
    await send(inbox.address);
    expect(await subjects(inbox)).toEqual([]);
    const early = await app.api('POST', `/v1/inboxes/${inbox.id}/advance`, { body: { minutes: 30 } });
    expect(early.body).toEqual({ released: 0 });
    const { body } = await app.api('POST', `/v1/inboxes/${inbox.id}/advance`, { body: { minutes: 31 } });
    expect(body).toEqual({ released: 1 });
    await vi.waitFor(async () => expect(await subjects(inbox)).toEqual(['Later']), {
      timeout: 20_000,
      interval: 50,
    });
  });
});
