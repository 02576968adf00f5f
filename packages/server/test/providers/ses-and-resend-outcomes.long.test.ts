import { once } from 'node:events';
import { request } from 'node:http';
import { createServer, globalAgent } from 'node:https';
import type { AddressInfo } from 'node:net';
import { SESv2Client, SendEmailCommand } from '@aws-sdk/client-sesv2';
import { Resend } from 'resend';
import MessageValidator from 'sns-validator';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { selfSignedCertificate } from '../../src/smtp/tls.ts';
import { apiClient } from '../support/api-client.ts';
import { freePort } from '../support/ports.ts';
import { startApp, TEST_KEY } from '../support/start-app.ts';
import { startHttp } from '../webhooks/receivers.ts';

const MINUTES_A_DAY = 24 * 60;

/** As in production, TLS ends before the server: verifiers of SNS fetch its certificate by HTTPS only. */
const proxy = createServer((incoming, outgoing) => {
  const onward = request(`${server}${incoming.url}`, { method: incoming.method }, (response) => {
    outgoing.writeHead(response.statusCode ?? 500, response.headers);
    response.pipe(outgoing);
  });
  incoming.pipe(onward);
});

const { key, cert } = await selfSignedCertificate('localhost', Date.now());
proxy.setSecureContext({ key, cert });
globalAgent.options.ca = cert;
await once(proxy.listen(0, '127.0.0.1'), 'listening');
const receiver = await startHttp((response) => response.writeHead(200).end());
const port = await freePort();
const server = `http://127.0.0.1:${port}`;
const api = apiClient(server, TEST_KEY);
const app = await startApp({
  MAYFLY_HTTP_PORT: String(port),
  MAYFLY_WEBHOOK_ALLOW: '127.0.0.1/32',
  MAYFLY_PUBLIC_URL: `https://localhost:${(proxy.address() as AddressInfo).port}`,
});
afterAll(async () => {
  await app.stop();
  await receiver.close();
  delete globalAgent.options.ca;
  proxy.close();
});

const until = <T>(check: () => T | Promise<T>) => vi.waitFor(check, { timeout: 20_000, interval: 50 });

/** The next request to the application, which has taken `seen` of them. */
async function nextPosting(seen: number) {
  await until(() => expect(receiver.requests.length).toBeGreaterThan(seen));
  const posted = receiver.requests[seen];
  if (!posted) throw new Error('no request');
  return { headers: posted.headers as Record<string, string>, body: posted.body.toString() };
}

const createInbox = async () => (await api('POST', '/v1/inboxes', { body: {} })).body;
const webhook = (name: string, settings: object) => api('PUT', `/v1/providers/${name}`, { body: settings });
const url = () => `http://127.0.0.1:${receiver.port}/hook`;
const useOutcome = (id: string, outcome: string) =>
  api('PUT', `/v1/inboxes/${id}/outcomes`, { body: { rules: [{ outcome }] } });

describe('Amazon SES', () => {
  const validate = (body: string): Promise<Record<string, string>> =>
    new Promise((resolve, reject) => {
      new MessageValidator(/^localhost:\d+$/).validate(JSON.parse(body), (error, valid) =>
        error ? reject(error) : resolve(valid ?? {}),
      );
    });

  it('asks the application to confirm its URL, and then posts what becomes of a mail', async () => {
    const seen = receiver.requests.length;
    expect((await webhook('ses', { webhookUrl: url() })).body.verification.certificate).toContain(
      'BEGIN CERT',
    );
    const asked = await validate((await nextPosting(seen)).body);
    expect(asked.Type).toBe('SubscriptionConfirmation');
    const { pathname, search } = new URL(asked.SubscribeURL ?? '');
    const confirmed = await fetch(`${server}${pathname}${search}`);
    expect([confirmed.status, await confirmed.text()]).toEqual([
      200,
      expect.stringContaining('SubscriptionArn'),
    ]);

    const inbox = await createInbox();
    await useOutcome(inbox.id, 'bounce');
    const client = new SESv2Client({
      ...{ endpoint: `${server}/providers/ses`, region: 'us-east-1' },
      credentials: { accessKeyId: TEST_KEY, secretAccessKey: 'any' },
    });
    const { MessageId } = await client.send(
      new SendEmailCommand({
        ...{ FromEmailAddress: 'Shop <shop@acme.example>', ConfigurationSetName: 'main' },
        Destination: { ToAddresses: [inbox.address] },
        EmailTags: [{ Name: 'campaign', Value: 'spring' }],
        Content: { Simple: { Subject: { Data: 'Hi' }, Body: { Text: { Data: 'x' } } } },
      }),
    );
    client.destroy();
    const event = await validate((await nextPosting(seen + 1)).body);
    expect(JSON.parse(event.Message ?? '')).toMatchObject({
      ...{ eventType: 'Bounce', bounce: { bouncedRecipients: [{ emailAddress: inbox.address }] } },
      mail: {
        ...{ messageId: MessageId, source: 'Shop <shop@acme.example>', commonHeaders: { subject: 'Hi' } },
        tags: { 'ses:configuration-set': ['main'], campaign: ['spring'] },
      },
    });
  });
});

describe('Resend', () => {
  let resend: Resend;
  let webhookSecret: string;
  beforeAll(async () => {
    resend = new Resend(TEST_KEY, { baseUrl: `${server}/providers/resend` });
    const { body } = await webhook('resend', { webhookUrl: url(), inboundUrl: url() });
    webhookSecret = body.verification.signingSecret;
  });

  const verified = async (seen: number) => {
    const { headers, body: payload } = await nextPosting(seen);
    const [id = '', timestamp = '', signature = ''] = ['svix-id', 'svix-timestamp', 'svix-signature'].map(
      (name) => headers[name],
    );
    return resend.webhooks.verify({ payload, headers: { id, timestamp, signature }, webhookSecret });
  };
  const mailTo = (to: string, subject: string) => ({
    from: 'Shop <shop@acme.example>',
    to,
    subject,
    text: 'x',
  });
  const subjectsOf = async ({ id }: { id: string }, wait = 0) =>
    (await api('GET', `/v1/inboxes/${id}/messages?wait=${wait}`)).body.messages.map(
      ({ subject }: { subject: string }) => subject,
    );

  it('posts what becomes of a mail', async () => {
    const seen = receiver.requests.length;
    const inbox = await createInbox();
    await useOutcome(inbox.id, 'complaint');
    const tags = [{ name: 'category', value: 'welcome' }];
    const { data } = await resend.emails.send({ ...mailTo(inbox.address, 'Hi'), tags });
    expect(await verified(seen)).toMatchObject({
      type: 'email.complained',
      data: { email_id: data?.id, to: [inbox.address], subject: 'Hi', tags: { category: 'welcome' } },
    });
  });

  it('holds a scheduled mail, which can be moved, cancelled, and brought by advancing the inbox', async () => {
    const inbox = await createInbox();
    const send = async (subject: string) => {
      const mail = { ...mailTo(inbox.address, subject), scheduledAt: 'in 3 days' };
      return (await resend.emails.send(mail)).data?.id ?? '';
    };
    const [kept, moved, gone] = [await send('kept'), await send('moved'), await send('gone')];
    expect((await resend.emails.get(kept)).data?.last_event).toBe('scheduled');
    expect((await resend.emails.update({ id: moved, scheduledAt: 'in 20 days' })).error).toBeNull();
    expect((await resend.emails.cancel(gone)).error).toBeNull();
    expect((await resend.emails.get(gone)).data?.last_event).toBe('canceled');
    expect((await resend.emails.cancel(gone)).error).toMatchObject({ name: 'validation_error' });
    expect(await subjectsOf(inbox)).toEqual([]);
    await api('POST', `/v1/inboxes/${inbox.id}/advance`, { body: { minutes: 4 * MINUTES_A_DAY } });
    expect(await subjectsOf(inbox, 10)).toEqual(['kept']);
    expect((await resend.emails.update({ id: kept, scheduledAt: 'in 5 days' })).error).not.toBeNull();
    await api('POST', `/v1/inboxes/${inbox.id}/advance`, { body: { minutes: 20 * MINUTES_A_DAY } });
    await until(async () => expect(await subjectsOf(inbox)).toEqual(['moved', 'kept']));
  });

  it('posts a reply as email.received, whose text and attachments the application fetches', async () => {
    const seen = receiver.requests.length;
    const inbox = await createInbox();
    await resend.emails.send(mailTo(inbox.address, 'Your ticket'));
    const [{ id }] = (await api('GET', `/v1/inboxes/${inbox.id}/messages?wait=5`)).body.messages;
    const attachments = [{ filename: 'a.txt', contentType: 'text/plain', content: 'aGVsbG8=' }];
    const body = { text: 'It works now.', attachments };
    const replied = await api('POST', `/v1/inboxes/${inbox.id}/messages/${id}/reply`, { body });
    expect(replied.status).toBe(201);
    const event = await verified(seen);
    expect(event).toMatchObject({
      type: 'email.received',
      data: { from: expect.stringContaining(inbox.address), subject: 'Re: Your ticket', cc: [] },
    });
    const { email_id: emailId } = event.data as { email_id: string };
    const { data: mail } = await resend.emails.receiving.get(emailId);
    expect(mail).toMatchObject({
      text: expect.stringMatching(/^It works now\.[\s\S]*> x/),
      attachments: [{ filename: 'a.txt', content_type: 'text/plain', size: 5 }],
    });
    const { data: listed } = await resend.emails.receiving.attachments.list({ emailId });
    const link = listed?.data[0]?.download_url ?? '';
    expect(await (await fetch(link)).text()).toBe('hello');
    expect((await resend.emails.receiving.get('out_0')).error?.name).toBe('not_found');
    const token = new Resend(inbox.token, { baseUrl: `${server}/providers/resend` });
    expect((await token.emails.receiving.get(emailId)).data?.subject).toBe('Re: Your ticket');
    const other = new Resend((await createInbox()).token, { baseUrl: `${server}/providers/resend` });
    expect((await other.emails.receiving.get(emailId)).error?.name).toBe('not_found');
  });
});
