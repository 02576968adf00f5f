import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Parse from '@sendgrid/inbound-mail-parser';
import { describe, expect, it } from 'vitest';
import { MAILGUN } from '../../../providers/src/mailgun/index.ts';
import { POSTMARK } from '../../../providers/src/postmark/index.ts';
import type {
  InboundMail,
  Outcome,
  OutcomeEvent,
  Posting,
  Provider,
} from '../../../providers/src/provider.ts';
import { RESEND } from '../../../providers/src/resend/index.ts';
import { SENDGRID } from '../../../providers/src/sendgrid/index.ts';
import { SES } from '../../../providers/src/ses/index.ts';
import { useFolder } from '../support/folder.ts';
import { IS_SIGNED } from './sdks.ts';

/* What providers post for outcomes and replies, read and verified by their own libraries. */

const AT = Date.UTC(2026, 2, 4, 5, 6, 7);
const ID = '<id-1@acme.example>';

const outcomeOf = (outcome: Outcome, given: Record<string, unknown>): OutcomeEvent => ({
  ...{ id: '6f0f7a34-6a0e-4b0e-9d0c-3f1f8f8c1a11', outcome, recipient: 'ada@example.com', at: AT },
  sending: {
    ...{ providerId: ID, mailFrom: 'shop@acme.example', subject: 'Hellö', sentAt: AT - 5000 },
    ...{ given, recipients: ['ada@example.com', 'bob@example.com'] },
  },
});

const [LINE, PICTURE] = [Buffer.from('attached\r\n'), Buffer.from([0, 13, 10, 255])];
/** A reply with what breaks forms that are written carelessly. */
const MAIL: InboundMail = {
  ...{ id: '6f0f7a34-6a0e-4b0e-9d0c-3f1f8f8c1a12', at: AT },
  ...{ mailFrom: 'ada@example.com', rcptTo: 'help+17@acme.example' },
  raw: Buffer.from('From: Ada <ada@example.com>\r\nSubject: Re: Hellö\r\n\r\nGrüße\r\n'),
  from: { name: 'Lovelace, "Ada"', address: 'ada@example.com' },
  to: [{ name: 'Help', address: 'help+17@acme.example' }],
  cc: [{ name: '', address: 'bob@example.com' }],
  ...{ subject: 'Re: Hellö', text: 'Grüße\r\n--x\r\n\r\n> quoted', html: '<p>Grüße</p>', reply: 'Grüße' },
  messageId: '<m@example.com>',
  headers: [
    { name: 'From', value: 'Ada <ada@example.com>' },
    { name: 'Date', value: 'Wed, 04 Mar 2026 05:06:07 +0000' },
    { name: 'In-Reply-To', value: '<id-1@acme.example>' },
  ],
  attachments: [
    { filename: 'a "b"\r\nX: y.txt', contentType: 'text/plain', contentId: '', content: LINE },
    { filename: 'logo.png', contentType: 'image/png', contentId: 'logo', content: PICTURE },
  ],
};

async function signingOf(provider: Provider) {
  const url = 'https://app.test/hook';
  return { secrets: await provider.makeSecrets(), now: AT, baseUrl: 'https://mayfly.test', url };
}
const bodyOf = ({ body }: Posting) => JSON.parse(Buffer.from(body).toString());
const formOf = ({ headers, body }: Posting): Promise<FormData> =>
  new Response(new Uint8Array(body), { headers }).formData();
function made(posting: Posting | undefined): Posting {
  if (!posting) throw new Error('no posting');
  return posting;
}

interface Events {
  provider: Provider;
  /** What the application gave with the mail. */
  given: Record<string, unknown>;
  /** @returns what the posting says of the mail and its recipient */
  dataOf(posting: Posting): unknown;
  /** What it says whatever the outcome, and of each outcome; nothing where the provider has no event. */
  always: object;
  outcomes: Partial<Record<Outcome, object>>;
}

const EVENTS: Events[] = [
  {
    provider: SENDGRID,
    given: {
      categories: ['sign-up'],
      customArgs: { order: '17', event: 'mine' },
      messageId: '<m@acme.example>',
    },
    dataOf: (posting) => bodyOf(posting)[0],
    always: {
      ...{ email: 'ada@example.com', timestamp: AT / 1000, 'smtp-id': '<m@acme.example>', order: '17' },
      ...{ category: ['sign-up'], sg_event_id: expect.any(String) },
      sg_message_id: expect.stringContaining('id-1'),
    },
    outcomes: {
      bounce: { event: 'bounce', type: 'bounce', status: '5.1.1' },
      'soft-bounce': { event: 'bounce', type: 'blocked', status: '4.2.2' },
      complaint: { event: 'spamreport' },
      delay: { event: 'deferred', response: expect.stringMatching(/^4/) },
      unsubscribe: { event: 'unsubscribe' },
    },
  },
  {
    provider: MAILGUN,
    given: { tags: ['sign-up'], variables: { order: 17 } },
    dataOf: (posting) => bodyOf(posting)['event-data'],
    always: {
      ...{ recipient: 'ada@example.com', tags: ['sign-up'], 'user-variables': { order: 17 } },
      message: { headers: { 'message-id': 'id-1@acme.example', subject: 'Hellö' } },
      timestamp: AT / 1000,
    },
    outcomes: {
      bounce: { event: 'failed', severity: 'permanent', 'delivery-status': { code: 550 } },
      'soft-bounce': { event: 'failed', severity: 'temporary', 'delivery-status': { code: 452 } },
      delay: { event: 'failed', severity: 'temporary', 'delivery-status': { code: 451 } },
      complaint: { event: 'complained' },
      unsubscribe: { event: 'unsubscribed' },
    },
  },
  {
    provider: POSTMARK,
    given: { tag: 'sign-up', metadata: { order: '17' }, stream: 'outbound' },
    dataOf: ({ headers, body }) => {
      const { Email, Recipient, BouncedAt, ChangedAt, ...others } = bodyOf({ headers, body });
      return { ...others, Email: Email ?? Recipient, BouncedAt: BouncedAt ?? ChangedAt };
    },
    always: {
      ...{ Email: 'ada@example.com', Tag: 'sign-up', Metadata: { order: '17' }, MessageID: ID },
      BouncedAt: '2026-03-04T05:06:07.000Z',
    },
    outcomes: {
      bounce: {
        ...{ RecordType: 'Bounce', Type: 'HardBounce', TypeCode: 1, Inactive: true },
        ...{ Subject: 'Hellö', ID: expect.any(Number) },
      },
      'soft-bounce': {
        ...{ RecordType: 'Bounce', Type: 'SoftBounce', TypeCode: 4096, Inactive: false },
        ...{ Subject: 'Hellö', ID: expect.any(Number) },
      },
      delay: { RecordType: 'Bounce', Type: 'Transient', TypeCode: 2, Subject: 'Hellö' },
      complaint: { RecordType: 'SpamComplaint', Type: 'SpamComplaint', Subject: 'Hellö' },
      unsubscribe: { RecordType: 'SubscriptionChange', SuppressSending: true },
    },
  },
  {
    provider: RESEND,
    given: {
      ...{ from: 'Shop <shop@acme.example>', message_id: '<id-1@acme.example>', created_at: '2026' },
      tags: [{ name: 'category', value: 'welcome' }],
    },
    dataOf: (posting) => {
      const { type, data } = bodyOf(posting);
      return { type, ...data };
    },
    always: {
      ...{ email_id: ID, to: ['ada@example.com'], subject: 'Hellö', tags: { category: 'welcome' } },
      from: 'Shop <shop@acme.example>',
    },
    outcomes: {
      bounce: { type: 'email.bounced', bounce: { type: 'Permanent' } },
      'soft-bounce': { type: 'email.bounced', bounce: { type: 'Transient' } },
      complaint: { type: 'email.complained' },
      delay: { type: 'email.delivery_delayed' },
    },
  },
];

describe.each(EVENTS)('events of $provider.title', ({ provider, given, dataOf, always, outcomes }) => {
  it.each(Object.entries(outcomes) as [Outcome, object][])(
    'tell a %s, signed with what the settings show, and with no other secret',
    async (outcome, fields) => {
      // Verifiers of Resend refuse signatures that are older than five minutes.
      const signing = { ...(await signingOf(provider)), now: provider === RESEND ? Date.now() : AT };
      const posting = made(provider.event(outcomeOf(outcome, given), signing));
      expect(dataOf(posting)).toMatchObject({ ...always, ...fields });
      const isSigned = (request: Posting, secrets = signing.secrets) =>
        IS_SIGNED[provider.name]?.(request, provider.shown(secrets));
      expect(isSigned(posting)).toBe(true);
      expect(isSigned(posting, await provider.makeSecrets())).toBe(false);
      // Mailgun signs its token only, and Postmark sends a password.
      if (provider === SENDGRID || provider === RESEND)
        expect(isSigned({ ...posting, body: Buffer.from('{}') })).toBe(false);
      expect(provider.shown(signing.secrets)).not.toHaveProperty('privateKey');
    },
  );
});

it('Resend has no event for an unsubscription', async () => {
  expect(RESEND.event(outcomeOf('unsubscribe', {}), await signingOf(RESEND))).toBeUndefined();
});

describe('events of Amazon SES', () => {
  const ADA = { emailAddress: 'ada@example.com' };
  const given = {
    ...{ from: 'Shop <shop@acme.example>', to: ['ada@example.com'], subject: 'Hellö' },
    ...{ messageId: '<id-1@email.amazonses.com>', tags: { campaign: ['spring'] }, headersTruncated: false },
    headers: [{ name: 'X-Order', value: '7' }],
  };
  /** Confirmations and signatures are in outcomes.test.ts. */
  const messageOf = async (posting: Posting | undefined) => {
    expect(posting?.headers['x-amz-sns-message-type']).toBe('Notification');
    return JSON.parse(bodyOf(made(posting)).Message);
  };
  const eventOf = async (outcome: Outcome, of: Record<string, unknown>) =>
    SES.event(outcomeOf(outcome, of), await signingOf(SES));

  it.each([
    ['bounce', 'Bounce', { bounce: { bounceType: 'Permanent', bouncedRecipients: [{ status: '5.1.1' }] } }],
    ['soft-bounce', 'Bounce', { bounce: { bounceType: 'Transient' } }],
    ['complaint', 'Complaint', { complaint: { complainedRecipients: [ADA] } }],
  ] as const)('a %s is a feedback notification, or an event of its configuration set', async (...row) => {
    const [outcome, type, detail] = row;
    const mail = {
      ...{ messageId: ID, source: 'Shop <shop@acme.example>', timestamp: '2026-03-04T05:06:02.000Z' },
      headers: [{ name: 'X-Order', value: '7' }],
      ...{ destination: ['ada@example.com', 'bob@example.com'], commonHeaders: { subject: 'Hellö' } },
    };
    const feedback = await messageOf(await eventOf(outcome, given));
    expect(feedback).toMatchObject({ notificationType: type, mail, ...detail });
    expect(feedback.mail.tags).toBeUndefined();
    const withSet = { ...given, configurationSet: 'main' };
    const tags = { 'ses:configuration-set': ['main'], campaign: ['spring'] };
    const event = await messageOf(await eventOf(outcome, withSet));
    expect(event).toMatchObject({ eventType: type, mail: { ...mail, tags }, ...detail });
  });

  it('a delay is DeliveryDelay, and an unsubscription from a contact list is Subscription', async () => {
    const delay = await messageOf(await eventOf('delay', given));
    expect(delay).toMatchObject({ eventType: 'DeliveryDelay', deliveryDelay: { delayedRecipients: [ADA] } });
    expect(await eventOf('unsubscribe', given)).toBeUndefined();
    const listed = { ...given, contactList: 'news', topic: 'weekly' };
    const topicSubscriptionStatus = [{ topicName: 'weekly', subscriptionStatus: 'OptOut' }];
    const subscription = { contactList: 'news', newTopicPreferences: { topicSubscriptionStatus } };
    const message = await messageOf(await eventOf('unsubscribe', listed));
    expect(message).toMatchObject({ eventType: 'Subscription', subscription });
  });

  it('a reply is a notification of a receipt rule with the mail in it', async () => {
    const message = await messageOf(SES.inbound(MAIL, await signingOf(SES)));
    expect(message).toMatchObject({
      notificationType: 'Received',
      mail: { source: MAIL.mailFrom, commonHeaders: { subject: MAIL.subject } },
      receipt: { recipients: [MAIL.rcptTo], action: { type: 'SNS' } },
    });
    const encoding = message.receipt.action.encoding === 'BASE64' ? 'base64' : 'utf8';
    const content = Buffer.from(message.content, encoding);
    expect(content.equals(Buffer.from(MAIL.raw))).toBe(true);
  });
});

describe('replies in the inbound formats', () => {
  const folder = useFolder();

  it('of SendGrid are parsed by @sendgrid/inbound-mail-parser', async () => {
    const form = await formOf(SENDGRID.inbound(MAIL, await signingOf(SENDGRID)));
    const files = [...form.values()].filter((value) => typeof value !== 'string');
    // As multer hands over what it received.
    const stored = await Promise.all(
      files.map(async (file, index) => {
        const path = join(folder(), String(index));
        writeFileSync(path, Buffer.from(await file.arrayBuffer()));
        return { path, originalname: file.name, mimetype: file.type };
      }),
    );
    const body = Object.fromEntries([...form].filter(([, value]) => typeof value === 'string'));
    const keys = ['from', 'to', 'cc', 'subject', 'text', 'html', 'envelope', 'headers', 'attachments'];
    const parsed = new Parse({ keys }, { body, files: stored } as never);
    expect(parsed.keyValues()).toMatchObject({
      from: '"Lovelace, \\"Ada\\"" <ada@example.com>',
      ...{ to: 'Help <help+17@acme.example>', cc: 'bob@example.com' },
      ...{ subject: 'Re: Hellö', text: MAIL.text, html: MAIL.html, attachments: '2' },
      envelope: '{"to":["help+17@acme.example"],"from":"ada@example.com"}',
      headers: expect.stringContaining('In-Reply-To: <id-1@acme.example>\n'),
    });
    const attachments = await new Promise((resolve) => parsed.attachments(resolve as never));
    const sent = [
      { type: 'text/plain', content: LINE.toString('base64') },
      { type: 'image/png', content: PICTURE.toString('base64') },
    ];
    expect(attachments).toMatchObject(sent);
    expect(JSON.parse(String(form.get('content-ids')))).toEqual({ logo: 'attachment2' });
    const url = 'https://app.test/inbound?send_raw=true';
    const raw = await formOf(SENDGRID.inbound(MAIL, { ...(await signingOf(SENDGRID)), url }));
    expect([raw.get('email'), raw.get('text')]).toEqual([Buffer.from(MAIL.raw).toString(), null]);
  });

  it('of Mailgun are a signed form, and the mail as it is for a URL that ends with mime', async () => {
    const signing = await signingOf(MAILGUN);
    const form = await formOf(MAILGUN.inbound(MAIL, signing));
    expect(Object.fromEntries([...form].filter(([, value]) => typeof value === 'string'))).toMatchObject({
      ...{ recipient: MAIL.rcptTo, sender: MAIL.mailFrom, subject: MAIL.subject, 'body-plain': MAIL.text },
      ...{ 'stripped-text': 'Grüße', 'attachment-count': '2', 'content-id-map': '{"<logo>":"attachment-2"}' },
      'In-Reply-To': '<id-1@acme.example>',
    });
    const [token, timestamp] = [form.get('token'), form.get('timestamp')];
    const hmac = createHmac('sha256', MAILGUN.shown(signing.secrets).signingKey ?? '');
    expect(form.get('signature')).toBe(hmac.update(`${timestamp}${token}`).digest('hex'));
    const raw = await formOf(MAILGUN.inbound(MAIL, { ...signing, url: 'https://app.test/inbound/mime' }));
    expect(raw.get('body-mime')).toBe(Buffer.from(MAIL.raw).toString());
    expect(raw.get('body-plain')).toBeNull();
  });

  it('of Postmark are JSON with the reply alone, the hash of the mailbox and the raw mail', async () => {
    const posting = POSTMARK.inbound(MAIL, await signingOf(POSTMARK));
    expect(bodyOf(posting)).toMatchObject({
      ...{ From: 'ada@example.com', FromName: 'Lovelace, "Ada"' },
      ...{ OriginalRecipient: MAIL.rcptTo, MailboxHash: '17' },
      ...{ ToFull: [{ Email: MAIL.rcptTo, Name: 'Help', MailboxHash: '17' }], Subject: 'Re: Hellö' },
      ...{ TextBody: MAIL.text, StrippedTextReply: 'Grüße', RawEmail: Buffer.from(MAIL.raw).toString() },
      Headers: [{ Name: 'Return-Path' }, { Name: 'In-Reply-To', Value: '<id-1@acme.example>' }],
      Attachments: [{ ContentLength: 10 }, { Name: 'logo.png', Content: 'AA0K/w==', ContentID: 'logo' }],
    });
  });
});
