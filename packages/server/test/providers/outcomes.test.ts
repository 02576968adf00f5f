import { once } from 'node:events';
import { request } from 'node:http';
import { createServer, globalAgent } from 'node:https';
import type { AddressInfo } from 'node:net';
import { SESv2Client, SendEmailCommand } from '@aws-sdk/client-sesv2';
import MessageValidator from 'sns-validator';
import { afterAll, describe, expect, it } from 'vitest';
import { selfSignedCertificate } from '../../src/smtp/tls.ts';
import { apiClient, type Body } from '../support/api-client.ts';
import { freePort } from '../support/ports.ts';
import { startApp, TEST_KEY } from '../support/start-app.ts';
import { useReceiver } from '../webhooks/receivers.ts';
import { awsOptions, IS_SIGNED, SDKS, type SdkName } from './sdks.ts';

/** As in production, TLS ends before the server: verifiers of SNS fetch its certificate by HTTPS only. */
const proxy = createServer((incoming, outgoing) => {
  const onward = request(`${server}${incoming.url}`, { method: incoming.method }, (response) => {
    outgoing.writeHead(response.statusCode ?? 500, response.headers);
    response.pipe(outgoing);
  });
  incoming.pipe(onward);
});
const pair = selfSignedCertificate('localhost', Date.now());
proxy.setSecureContext(pair);
globalAgent.options.ca = pair.cert;
await once(proxy.listen(0, '127.0.0.1'), 'listening');

const port = await freePort();
const server = `http://127.0.0.1:${port}`;
const api = apiClient(server, TEST_KEY);
const app = await startApp({
  MAYFLY_HTTP_PORT: String(port),
  MAYFLY_DOMAINS: 'mayfly.test',
  MAYFLY_WEBHOOK_ALLOW: '127.0.0.1/32',
  MAYFLY_PUBLIC_URL: `https://localhost:${(proxy.address() as AddressInfo).port}`,
});
const receiver = useReceiver();
afterAll(async () => {
  await app.stop();
  delete globalAgent.options.ca;
  proxy.close();
});

const createInbox = async (): Promise<Body> => (await api('POST', '/v1/inboxes', { body: {} })).body;

/** By SDK: what the application gives with a mail to be told again. */
const GIVEN: [SdkName, object][] = [
  ['sendgrid', { customArgs: { n: '1' } }],
  ['postmark', { Metadata: { n: '1' } }],
  ['mailgun', { 'v:n': '1' }],
  ['resend', { tags: [{ name: 'n', value: '1' }] }],
];

/** The next request to the application, which has taken `seen` of them. */
async function nextPosting(seen: number): Promise<string> {
  await expect.poll(() => receiver.requests.length).toBeGreaterThan(seen);
  return String(receiver.requests[seen]?.body);
}

it.each(GIVEN)(
  'an outcome of a mail that came by %s is told once, by a signed event with the id of the response and what the application gave',
  async (name, given) => {
    const inbox = await createInbox();
    const settings = { webhookUrl: `http://127.0.0.1:${receiver.port}/events` };
    const { verification } = (await api('PUT', `/v1/providers/${name}`, { body: settings })).body;
    await api('PUT', `/v1/inboxes/${inbox.id}/outcomes`, { body: { rules: [{ outcome: 'bounce' }] } });
    const send = () => SDKS[name].send(server, TEST_KEY, { [SDKS[name].to]: inbox.address, ...given });
    const id = String(await send());
    await send();
    const body = await nextPosting(0);
    expect(receiver.requests).toHaveLength(1);
    expect(receiver.requests.map((request) => IS_SIGNED[name]?.(request, verification))).toEqual([true]);
    expect(body).toContain(inbox.address);
    expect(body).toContain(id.replaceAll(/[<>]/g, ''));
    expect(body).toContain('"n":"1"'.replace('"1"', name === 'mailgun' ? '1' : '"1"'));
    const { body: sent } = await api('GET', `/v1/inboxes/${inbox.id}/sent`);
    expect(sent.sent).toHaveLength(1);
  },
);

describe('an outcome of a mail that came by ses', () => {
  const validate = (body: string): Promise<Record<string, string>> =>
    new Promise((resolve, reject) => {
      new MessageValidator(/^localhost:\d+$/).validate(JSON.parse(body), (error, valid) =>
        error ? reject(error) : resolve(valid ?? {}),
      );
    });

  it.each(['1', '2'])(
    'is told after its URL was confirmed, signed as SNS signs by version %s',
    async (version) => {
      const settings = { webhookUrl: `http://127.0.0.1:${receiver.port}/events?SignatureVersion=${version}` };
      const { body: set } = await api('PUT', '/v1/providers/ses', { body: settings });
      expect(set.verification.certificate).toContain('BEGIN CERT');
      const asked = await validate(await nextPosting(0));
      expect(asked.Type).toBe('SubscriptionConfirmation');
      const { pathname, search } = new URL(asked.SubscribeURL ?? '');
      const confirmed = await api('GET', `${pathname}${search}`, { as: null });
      expect([confirmed.status, confirmed.body]).toEqual([200, expect.stringContaining('SubscriptionArn')]);

      const inbox = await createInbox();
      await api('PUT', `/v1/inboxes/${inbox.id}/outcomes`, { body: { rules: [{ outcome: 'bounce' }] } });
      const client = new SESv2Client(awsOptions(server, TEST_KEY));
      const { MessageId } = await client.send(
        new SendEmailCommand({
          ...{ FromEmailAddress: 'Shop <shop@acme.example>', ConfigurationSetName: 'main' },
          Destination: { ToAddresses: [inbox.address] },
          EmailTags: [{ Name: 'campaign', Value: 'spring' }],
          Content: { Simple: { Subject: { Data: 'Hi' }, Body: { Text: { Data: 'x' } } } },
        }),
      );
      client.destroy();
      const posting = await nextPosting(1);
      await expect(validate(posting.replaceAll('spring', 'autumn'))).rejects.toThrow('signature is invalid');
      const event = await validate(posting);
      expect(event.SignatureVersion).toBe(version);
      expect(JSON.parse(event.Message ?? '')).toMatchObject({
        ...{ eventType: 'Bounce', bounce: { bouncedRecipients: [{ emailAddress: inbox.address }] } },
        mail: {
          ...{ messageId: MessageId, source: 'Shop <shop@acme.example>', commonHeaders: { subject: 'Hi' } },
          tags: { 'ses:configuration-set': ['main'], campaign: ['spring'] },
        },
      });
    },
  );
});

describe('scheduled mail', () => {
  const inAnHour = () => new Date(Date.now() + 3_600_000);
  const subjects = async ({ id }: Body) =>
    (await api('GET', `/v1/inboxes/${id}/messages`)).body.messages.map(({ subject }: Body) => subject);

  it.each<[string, SdkName, () => object]>([
    ['send_at of SendGrid', 'sendgrid', () => ({ sendAt: Math.floor(inAnHour().getTime() / 1000) })],
    ['o:deliverytime of Mailgun', 'mailgun', () => ({ 'o:deliverytime': inAnHour().toUTCString() })],
  ])('by %s is held until its time or an advance', async (_what, sdk, scheduled) => {
    const inbox = await createInbox();
    await SDKS[sdk].send(server, TEST_KEY, { to: inbox.address, ...scheduled() });
    expect(await subjects(inbox)).toEqual([]);
    const advance = async (minutes: number) =>
      (await api('POST', `/v1/inboxes/${inbox.id}/advance`, { body: { minutes } })).body;
    expect(await advance(30)).toEqual({ released: 0 });
    expect(await advance(31)).toEqual({ released: 1 });
    await expect.poll(() => subjects(inbox)).toEqual(['Hi']);
  });
});
