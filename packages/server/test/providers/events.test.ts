import { once } from 'node:events';
import { createServer, globalAgent } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Resend } from 'resend';
import MessageValidator from 'sns-validator';
import { Webhook } from 'svix';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { InboundMail, Outcome, OutcomeEvent, Posting } from '../../../providers/src/provider.ts';
import { RESEND } from '../../../providers/src/resend/index.ts';
import { SES } from '../../../providers/src/ses/index.ts';
import { selfSignedCertificate } from '../../src/smtp/tls.ts';

const AT = Date.UTC(2026, 2, 4, 5, 6, 7);
const ID = '6f0f7a34-6a0e-4b0e-9d0c-3f1f8f8c1a11';

const outcomeOf = (outcome: Outcome, given: Record<string, unknown>): OutcomeEvent => ({
  ...{ id: ID, outcome, recipient: 'ada@example.com', at: AT + 5_000 },
  sending: {
    ...{ providerId: 'id-1', mailFrom: 'shop@acme.example', given, subject: 'Hellö', sentAt: AT },
    recipients: ['ada@example.com', 'bob@example.com'],
  },
});

const MAIL: InboundMail = {
  ...{ id: ID, at: AT, mailFrom: 'ada@example.com', rcptTo: 'help@acme.example' },
  raw: Buffer.from('From: Ada <ada@example.com>\r\nSubject: Re: Hellö\r\n\r\nGrüße\r\n'),
  from: { name: 'Ada', address: 'ada@example.com' },
  to: [{ name: '', address: 'help@acme.example' }],
  ...{ cc: [], subject: 'Re: Hellö', text: 'Grüße\n', html: '', reply: 'Grüße', messageId: '<m@x>' },
  headers: [{ name: 'From', value: 'Ada <ada@example.com>' }],
  attachments: [{ filename: 'a.txt', contentType: 'text/plain', contentId: '', content: Buffer.from('a') }],
};

const bodyOf = ({ body }: Posting) => JSON.parse(Buffer.from(body).toString());

describe('events of Resend', () => {
  const given = {
    ...{ from: 'Shop <shop@acme.example>', message_id: '<id-1@acme.example>', created_at: '2026' },
    tags: [{ name: 'category', value: 'welcome' }],
  };
  const signing = async () => ({
    ...{ secrets: await RESEND.makeSecrets(), now: Date.now(), baseUrl: 'https://x', url: 'https://y' },
  });

  it.each([
    ['bounce', 'email.bounced', { bounce: { type: 'Permanent' } }],
    ['soft-bounce', 'email.bounced', { bounce: { type: 'Transient' } }],
    ['complaint', 'email.complained', {}],
    ['delay', 'email.delivery_delayed', {}],
  ] as const)('a %s is %s, verified by svix and by resend', async (outcome, type, data) => {
    const with_ = await signing();
    const posting = RESEND.event(outcomeOf(outcome, given), with_);
    if (!posting) throw new Error('no event');
    const secret = RESEND.shown(with_.secrets).signingSecret ?? '';
    const body = Buffer.from(posting.body).toString();
    const expected = {
      type,
      data: {
        ...{ email_id: 'id-1', to: ['ada@example.com'], subject: 'Hellö', tags: { category: 'welcome' } },
        ...{ from: 'Shop <shop@acme.example>', ...data },
      },
    };
    // Throws for what is not valid, and returns nothing.
    new Webhook(secret).verify(body, posting.headers);
    const headers = {
      id: posting.headers['svix-id'] ?? '',
      timestamp: posting.headers['svix-timestamp'] ?? '',
      signature: posting.headers['svix-signature'] ?? '',
    };
    const verify = (payload: string) =>
      new Resend('re_x').webhooks.verify({ payload, headers, webhookSecret: secret });
    expect(verify(body)).toMatchObject(expected);
    expect(() => verify(body.replace('ada', 'eve'))).toThrow();
  });

  it('has none for an unsubscription, since Resend has none', async () => {
    expect(RESEND.event(outcomeOf('unsubscribe', given), await signing())).toBeUndefined();
  });

  it('a reply is email.received, with its attachments by their ids', async () => {
    const with_ = await signing();
    const posting = RESEND.inbound(MAIL, with_);
    const secret = RESEND.shown(with_.secrets).signingSecret ?? '';
    new Webhook(secret).verify(Buffer.from(posting.body).toString(), posting.headers);
    expect(bodyOf(posting)).toMatchObject({
      type: 'email.received',
      data: {
        ...{ email_id: ID, from: 'Ada <ada@example.com>', received_for: ['help@acme.example'] },
        attachments: [{ id: '1', filename: 'a.txt', content_disposition: 'attachment', content_id: null }],
      },
    });
  });
});

describe('events of Amazon SES', () => {
  let secrets: Record<string, string>;
  let baseUrl: string;
  /** The address that Mayfly has behind TLS, and what it offers there without a credential. */
  const server = createServer((request, response) => {
    const path = (request.url ?? '').split('?')[0]?.replace(/^\/providers\/ses/, '') ?? '';
    const file = SES.files?.(path, secrets);
    response.writeHead(file ? 200 : 404, { 'content-type': file?.type ?? 'text/plain' }).end(file?.body);
  });
  beforeAll(async () => {
    secrets = await SES.makeSecrets();
    const { key, cert } = await selfSignedCertificate('localhost', Date.now());
    server.setSecureContext({ key, cert });
    globalAgent.options.ca = cert;
    await once(server.listen(0, '127.0.0.1'), 'listening');
    baseUrl = `https://localhost:${(server.address() as AddressInfo).port}/providers/ses`;
  });
  afterAll(() => {
    delete globalAgent.options.ca;
    server.close();
  });

  const given = {
    ...{ from: 'Shop <shop@acme.example>', to: ['ada@example.com'], subject: 'Hellö' },
    ...{ messageId: '<id-1@email.amazonses.com>', tags: { campaign: ['spring'] }, headersTruncated: false },
    headers: [{ name: 'X-Order', value: '7' }],
  };
  const signing = (version = '1') => ({
    ...{ secrets, now: AT, baseUrl, url: `https://app.example/hook?SignatureVersion=${version}` },
  });
  const validate = (message: object): Promise<Record<string, string>> =>
    new Promise((resolve, reject) => {
      new MessageValidator(/^localhost:\d+$/).validate({ ...message }, (error, valid) =>
        error ? reject(error) : resolve(valid ?? {}),
      );
    });
  const messageOf = async (posting: Posting | undefined) => {
    if (!posting) throw new Error('no event');
    expect(posting.headers['x-amz-sns-message-type']).toBe('Notification');
    return JSON.parse((await validate(bodyOf(posting))).Message ?? '');
  };

  it('is preceded by a request to confirm the subscription, whose URL answers', async () => {
    const posting = SES.handshake?.(ID, signing());
    if (!posting) throw new Error('no handshake');
    expect(posting.headers['x-amz-sns-message-type']).toBe('SubscriptionConfirmation');
    const message = await validate(bodyOf(posting));
    expect(message.Type).toBe('SubscriptionConfirmation');
    expect(new URL(message.SubscribeURL ?? '').searchParams.get('Action')).toBe('ConfirmSubscription');
    const answer = SES.files?.('/', secrets);
    expect(answer?.body).toMatch(/<SubscriptionArn>arn:aws:sns:/);
  });

  it.each(['1', '2'])('are signed by version %s, and not valid when changed', async (version) => {
    const posting = SES.event(outcomeOf('bounce', given), signing(version));
    if (!posting) throw new Error('no event');
    expect(bodyOf(posting).SignatureVersion).toBe(version);
    await expect(validate(bodyOf(posting))).resolves.toMatchObject({ MessageId: ID });
    const changed = { ...bodyOf(posting), Message: bodyOf(posting).Message.replace('ada', 'eve') };
    await expect(validate(changed)).rejects.toThrow('signature is invalid');
  });

  it.each([
    ['bounce', 'Bounce', { bounce: { bounceType: 'Permanent', bouncedRecipients: [{ status: '5.1.1' }] } }],
    ['soft-bounce', 'Bounce', { bounce: { bounceType: 'Transient' } }],
    [
      'complaint',
      'Complaint',
      { complaint: { complainedRecipients: [{ emailAddress: 'ada@example.com' }] } },
    ],
  ] as const)('a %s is a feedback notification, or an event of its configuration set', async (...row) => {
    const [outcome, type, detail] = row;
    const mail = {
      ...{ messageId: 'id-1', source: 'Shop <shop@acme.example>', timestamp: '2026-03-04T05:06:07.000Z' },
      headers: [{ name: 'X-Order', value: '7' }],
      ...{ destination: ['ada@example.com', 'bob@example.com'], commonHeaders: { subject: 'Hellö' } },
    };
    const feedback = await messageOf(SES.event(outcomeOf(outcome, given), signing()));
    expect(feedback).toMatchObject({ notificationType: type, mail, ...detail });
    expect(feedback.mail.tags).toBeUndefined();
    const withSet = { ...given, configurationSet: 'main' };
    expect(await messageOf(SES.event(outcomeOf(outcome, withSet), signing()))).toMatchObject({
      eventType: type,
      mail: { ...mail, tags: { 'ses:configuration-set': ['main'], campaign: ['spring'] } },
      ...detail,
    });
  });

  it('a delay is DeliveryDelay, and an unsubscription from a contact list is Subscription', async () => {
    expect(await messageOf(SES.event(outcomeOf('delay', given), signing()))).toMatchObject({
      eventType: 'DeliveryDelay',
      deliveryDelay: { delayedRecipients: [{ emailAddress: 'ada@example.com' }] },
    });
    expect(SES.event(outcomeOf('unsubscribe', given), signing())).toBeUndefined();
    const listed = { ...given, contactList: 'news', topic: 'weekly' };
    expect(await messageOf(SES.event(outcomeOf('unsubscribe', listed), signing()))).toMatchObject({
      eventType: 'Subscription',
      subscription: {
        contactList: 'news',
        newTopicPreferences: {
          topicSubscriptionStatus: [{ topicName: 'weekly', subscriptionStatus: 'OptOut' }],
        },
      },
    });
  });

  it('a reply is a notification of a receipt rule with the mail in it', async () => {
    const message = await messageOf(SES.inbound(MAIL, signing()));
    expect(message).toMatchObject({
      notificationType: 'Received',
      mail: { source: 'ada@example.com', commonHeaders: { subject: 'Re: Hellö' } },
      receipt: { recipients: ['help@acme.example'], action: { type: 'SNS' } },
    });
    const content = Buffer.from(
      message.content,
      message.receipt.action.encoding === 'BASE64' ? 'base64' : 'utf8',
    );
    expect(content.equals(Buffer.from(MAIL.raw))).toBe(true);
  });
});
