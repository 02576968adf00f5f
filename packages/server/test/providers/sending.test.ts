import { SESClient, SendEmailCommand as SendEmailV1 } from '@aws-sdk/client-ses';
import { SESv2Client, SendEmailCommand as SendEmailV2 } from '@aws-sdk/client-sesv2';
import { createTransport } from 'nodemailer';
import { afterAll, expect, it } from 'vitest';
import type { Body } from '../support/api-client.ts';
import { startApp, TEST_KEY } from '../support/start-app.ts';
import { awsOptions, mailgunSdk, newInbox, postmarkSdk, resendSdk, sendgridSdk } from './sdks.ts';

const app = await startApp({ MAYFLY_DOMAINS: 'mayfly.test' });
const ses = new SESClient(awsOptions(app.url, TEST_KEY));
const sesv2 = new SESv2Client(awsOptions(app.url, TEST_KEY));
afterAll(async () => {
  ses.destroy();
  sesv2.destroy();
  await app.stop();
});

const FROM = 'Größe & Söhne <shop@acme.example>';
const SUBJECT = 'Grüße 👋 & <more>';
const TEXT = 'Your code is 482913';
const HTML = '<p>Your code is 482913 <img src="cid:logo.png"></p>';
const MAIL = { from: FROM, subject: SUBJECT, text: TEXT, html: HTML };
const HELP = 'help@acme.example';
const TERMS = Buffer.from('The terms');
const PNG = Buffer.from('89504e470d0a1a0a', 'hex');
const INLINE = { disposition: 'inline', contentId: 'logo.png' };
const base64 = (content: string | Buffer) => Buffer.from(content as string).toString('base64');
const UUID = '[0-9a-f]{8}-[0-9a-f-]{27}';
const SES_ID = new RegExp(`^0100[0-9a-f]{12}-${UUID}-000000$`);
const SIMPLE = { Subject: { Data: SUBJECT }, Body: { Text: { Data: TEXT }, Html: { Data: HTML } } };

/** Addresses as an application gives them: `to` is `email` with a name. */
interface To {
  email: string;
  to: string;
  bcc: string;
  cc: string;
}
type Sent = [id: unknown, answer: unknown, expected: unknown];

/** Sends one mail with all its fields. @returns the id of the mail, and the answer with what it should be */
const SENDS: Record<string, (to: To) => Promise<Sent>> = {
  async 'sendgrid, @sendgrid/mail'({ email, bcc }) {
    const [{ statusCode, body, headers }] = await sendgridSdk(app.url, TEST_KEY).mail.send({
      ...{ ...MAIL, to: { email, name: 'Lovelace, Ada' }, bcc, replyTo: HELP },
      ...{ categories: ['sign-up'], customArgs: { order: '17' }, headers: { 'X-Order': '17' } },
      attachments: [
        { content: base64(TERMS), filename: 'terms.txt', type: 'text/plain' },
        { ...INLINE, content: base64(PNG), filename: 'logo.png', type: 'image/png' },
      ],
    });
    return [headers['x-message-id'], [statusCode, body], [202, '']];
  },
  async 'postmark, postmark'({ to, bcc }) {
    const answer = await postmarkSdk(app.url, TEST_KEY).sendEmail({
      ...{ From: FROM, To: to, Bcc: bcc, ReplyTo: HELP, Subject: SUBJECT, TextBody: TEXT, HtmlBody: HTML },
      ...{ Tag: 'sign-up', Metadata: { order: '17' }, Headers: [{ Name: 'X-Order', Value: '17' }] },
      Attachments: [
        { Name: 'terms.txt', Content: base64(TERMS), ContentType: 'text/plain', ContentID: '' },
        { Name: 'logo.png', Content: base64(PNG), ContentType: 'image/png', ContentID: 'cid:logo.png' },
      ],
    });
    const expected = {
      ...{ To: to, Bcc: bcc, ErrorCode: 0, Message: 'OK' },
      MessageID: expect.stringMatching(new RegExp(`^${UUID}$`)),
      SubmittedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    };
    return [answer.MessageID, answer, expected];
  },
  async 'mailgun, mailgun.js'({ to, bcc }) {
    const answer = await mailgunSdk(app.url, TEST_KEY).messages.create('acme.example', {
      ...{ ...MAIL, to: [to], bcc, 'h:Reply-To': HELP, 'h:X-Order': '17' },
      ...{ 'o:tag': ['sign-up', 'code'], 'v:order': '17' },
      attachment: { data: TERMS, filename: 'terms.txt', contentType: 'text/plain' },
      inline: { data: PNG, filename: 'logo.png' },
    });
    const id = expect.stringMatching(new RegExp(`^<${UUID}@acme\\.example>$`));
    return [answer.id, answer, { status: 200, message: 'Queued. Thank you.', id }];
  },
  async 'resend, resend'({ to, bcc }) {
    const { data, error } = await resendSdk(app.url, TEST_KEY).emails.send({
      ...{ ...MAIL, to: [to], bcc: [bcc], replyTo: HELP, headers: { 'X-Order': '17' } },
      tags: [{ name: 'category', value: 'confirm_email' }],
      attachments: [
        { filename: 'terms.txt', content: TERMS },
        { filename: 'logo.png', content: base64(PNG), contentId: 'logo.png' },
      ],
    });
    return [data?.id, [data?.id, error], [expect.stringMatching(new RegExp(`^${UUID}$`)), null]];
  },
  async 'ses, @aws-sdk/client-ses'({ to, cc, bcc }) {
    const { MessageId } = await ses.send(
      new SendEmailV1({
        ...{ Source: FROM.replace(/^(.*) </, (_, name) => `=?UTF-8?B?${base64(name)}?= <`), Message: SIMPLE },
        Destination: { ToAddresses: [to], CcAddresses: [cc], BccAddresses: [bcc] },
        ...{ ReplyToAddresses: [HELP], Tags: [{ Name: 'campaign', Value: 'welcome' }] },
        ConfigurationSetName: 'any',
      }),
    );
    return [MessageId, MessageId, expect.stringMatching(SES_ID)];
  },
  async 'ses, @aws-sdk/client-sesv2'({ to, cc, bcc }) {
    const { MessageId } = await sesv2.send(
      new SendEmailV2({
        ...{ FromEmailAddress: FROM, ReplyToAddresses: [HELP] },
        Destination: { ToAddresses: [to], CcAddresses: [cc], BccAddresses: [bcc] },
        Content: {
          Simple: {
            ...{ ...SIMPLE, Headers: [{ Name: 'X-Order', Value: '17' }] },
            Attachments: [
              { FileName: 'terms.txt', RawContent: TERMS, ContentType: 'text/plain' },
              {
                ...{ FileName: 'logo.png', RawContent: PNG, ContentType: 'image/png' },
                ...{ ContentId: 'logo.png', ContentDisposition: 'INLINE' },
              },
            ],
          },
        },
        EmailTags: [{ Name: 'a', Value: 'b' }],
      }),
    );
    return [MessageId, MessageId, expect.stringMatching(SES_ID)];
  },
  async 'ses, nodemailer'({ to, bcc }) {
    const SES = { sesClient: sesv2, SendEmailCommand: SendEmailV2 };
    const transport = createTransport({ SES });
    expect(await transport.verify()).toBe(true);
    const { messageId } = await transport.sendMail({
      ...{ ...MAIL, to, bcc, replyTo: HELP, headers: { 'X-Order': '17' } },
      attachments: [
        { filename: 'terms.txt', content: TERMS },
        { filename: 'logo.png', content: PNG, cid: 'logo.png' },
      ],
    });
    const id = /^<(.+)@email\.amazonses\.com>$/.exec(messageId)?.[1];
    return [id, id, expect.stringMatching(SES_ID)];
  },
};

it.each(Object.keys(SENDS))('%s sends a mail with all its fields, and gets the answer', async (name) => {
  const [inbox, copy, open] = await Promise.all([newInbox(app), newInbox(app), newInbox(app)]);
  const { address: email } = inbox;
  const others = { cc: open.address, bcc: copy.address };
  const sent = await SENDS[name]?.({ email, to: `"Lovelace, Ada" <${email}>`, ...others });
  const [id, answer, expected] = sent ?? [];
  expect(answer).toEqual(expected);
  const message = await inbox.only();
  const via = name.split(',')[0];
  expect(message).toMatchObject({
    ...{ subject: SUBJECT, text: expect.stringContaining(TEXT), codes: [{ value: '482913' }] },
    from: { name: 'Größe & Söhne', address: 'shop@acme.example' },
    to: [{ name: 'Lovelace, Ada', address: inbox.address }],
    replyTo: [{ address: HELP }],
    envelope: { via, providerMessageId: id, mailFrom: 'shop@acme.example' },
  });
  expect((await copy.only()).to).toMatchObject([{ address: inbox.address }]);
  expect(await copy.raw()).not.toContain(copy.address.split('@')[0]);
  if (name.startsWith('ses, @aws-sdk'))
    expect((await open.only()).cc).toMatchObject([{ address: open.address }]);
  if (via === 'ses') expect(message.rfcMessageId).toBe(`<${id}@email.amazonses.com>`);
  // Version 1 of the API has neither further headers nor attachments but in raw mails.
  if (name === 'ses, @aws-sdk/client-ses') return;
  expect(message.headers).toContainEqual({ name: 'X-Order', value: '17' });
  const files = message.attachments.toSorted((one: Body, two: Body) =>
    one.filename < two.filename ? -1 : 1,
  );
  expect(files).toMatchObject([{ filename: 'logo.png', disposition: 'inline' }, { filename: 'terms.txt' }]);
});
