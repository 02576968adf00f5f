import { createHmac } from 'node:crypto';
import { SESClient, SendEmailCommand as SendEmailV1 } from '@aws-sdk/client-ses';
import { SESv2Client, SendEmailCommand as SendEmailV2 } from '@aws-sdk/client-sesv2';
import sgClient from '@sendgrid/client';
import { EventWebhook, EventWebhookHeader } from '@sendgrid/eventwebhook';
import sgMail from '@sendgrid/mail';
import Mailgun from 'mailgun.js';
import { ServerClient } from 'postmark';
import { Resend } from 'resend';
import { Webhook } from 'svix';
import { expect } from 'vitest';
import type { Body } from '../support/api-client.ts';
import type { TestApp } from '../support/start-app.ts';

/* The SDKs as an application sets them up, with the one option for the address, and inboxes for what they send. */

export const mailgunSdk = (url: string, key: string) =>
  new Mailgun(FormData).client({ username: 'api', key, url: `${url}/providers/mailgun` });

export const postmarkSdk = (url: string, token: string): ServerClient =>
  new ServerClient(token, { requestHost: `${new URL(url).host}/providers/postmark`, useHttps: false });

export const resendSdk = (url: string, key: string): Resend =>
  new Resend(key, { baseUrl: `${url}/providers/resend` });

export const awsOptions = (url: string, accessKeyId: string, region = 'us-east-1') => ({
  ...{ endpoint: `${url}/providers/ses`, region },
  credentials: { accessKeyId, secretAccessKey: 'any' },
});

// The types of the SDK do not say that the classes are there.
const { Client } = sgClient as unknown as { Client: new () => typeof sgClient };
const { MailService } = sgMail as unknown as { MailService: new () => typeof sgMail };

export function sendgridSdk(url: string, key: string): { mail: typeof sgMail; client: typeof sgClient } {
  const client = new Client();
  client.setApiKey(`SG.${key}`);
  client.setDefaultRequest('baseUrl', `${url}/providers/sendgrid/`);
  const mail = new MailService();
  mail.setClient(client);
  return { mail, client };
}

type Fields = Record<string, unknown>;

/** One SDK: it sends a small mail with these fields, in its own names, in place of or beside those of the mail. */
interface Sdk {
  to: string;
  /** @returns the id in the answer */
  send(url: string, key: string, fields: Fields): Promise<unknown>;
  /** What an application sees of the error that `send` throws. */
  seen(error: Body): Fields;
}

const MAIL = { from: 'The Shop <shop@example.com>', to: 'ada@mayfly.test', subject: 'Hi', text: 'Hi' };
const TEXT = { Subject: { Data: 'Hi' }, Body: { Text: { Data: 'Hi' } } };
const to = ({ to: address = MAIL.to }: Fields) => ({ Destination: { ToAddresses: [String(address)] } });
const ofAws = ({ name, message, $metadata }: Body): Fields => ({
  ...{ status: $metadata?.httpStatusCode, name, message },
});

export const SDKS = {
  sendgrid: {
    to: 'to',
    async send(url, key, fields) {
      const [answer] = await sendgridSdk(url, key).mail.send({ ...MAIL, ...fields });
      return answer.headers['x-message-id'];
    },
    seen: ({ code, response }) => ({ status: code, ...response.body.errors[0] }),
  },
  postmark: {
    to: 'To',
    async send(url, key, fields) {
      const mail = { From: MAIL.from, To: MAIL.to, Subject: 'Hi', TextBody: 'Hi', ...fields };
      return (await postmarkSdk(url, key).sendEmail(mail)).MessageID;
    },
    seen: ({ name, code, statusCode, message }) => ({ status: statusCode, name, code, message }),
  },
  mailgun: {
    to: 'to',
    send: async (url, key, fields) =>
      (await mailgunSdk(url, key).messages.create('mg.example.com', { ...MAIL, ...fields })).id,
    seen: ({ status, details }) => ({ status, message: details }),
  },
  resend: {
    to: 'to',
    async send(url, key, fields) {
      const { data, error } = await resendSdk(url, key).emails.send({ ...MAIL, ...fields });
      if (error) throw error;
      return data?.id;
    },
    seen: ({ statusCode, name, message }) => ({ status: statusCode, name, message }),
  },
  ses: {
    to: 'to',
    async send(url, key, fields) {
      const client = new SESClient({ ...awsOptions(url, key), maxAttempts: 1 });
      const mail = { Source: MAIL.from, Message: TEXT, ...to(fields) };
      return (await client.send(new SendEmailV1(mail)).finally(() => client.destroy())).MessageId;
    },
    seen: ofAws,
  },
  sesv2: {
    to: 'to',
    async send(url, key, fields) {
      const client = new SESv2Client({ ...awsOptions(url, key), maxAttempts: 1 });
      const mail = { FromEmailAddress: MAIL.from, Content: { Simple: TEXT }, ...to(fields) };
      return (await client.send(new SendEmailV2(mail)).finally(() => client.destroy())).MessageId;
    },
    seen: ofAws,
  },
} satisfies Record<string, Sdk>;
export type SdkName = keyof typeof SDKS;

interface Signed {
  headers: Record<string, string>;
  body: Uint8Array;
}

/** Whether a request of a provider is signed with what its settings show, by the provider's library where there is one. */
export const IS_SIGNED: Record<string, (request: Signed, shown: Record<string, string>) => boolean> = {
  sendgrid({ body, headers }, { publicKey = '' }) {
    const webhook = new EventWebhook();
    const field = (name: string) => headers[name.toLowerCase()] ?? '';
    const signature = field(EventWebhookHeader.SIGNATURE());
    const key = webhook.convertPublicKeyToECDSA(publicKey);
    const text = Buffer.from(body).toString();
    return webhook.verifySignature(key, text, signature, field(EventWebhookHeader.TIMESTAMP()));
  },
  postmark: ({ headers }, { username, password }) =>
    headers.authorization === `Basic ${btoa(`${username}:${password}`)}`,
  mailgun({ body }, { signingKey = '' }) {
    const { timestamp, token, signature } = JSON.parse(Buffer.from(body).toString()).signature;
    const hmac = createHmac('sha256', signingKey).update(timestamp + token);
    return token.length === 50 && hmac.digest('hex') === signature;
  },
  resend({ body, headers }, { signingSecret = '' }) {
    const payload = Buffer.from(body).toString();
    const field = (name: string) => headers[`svix-${name}`] ?? '';
    const fields = { id: field('id'), timestamp: field('timestamp'), signature: field('signature') };
    const given = { payload, headers: fields, webhookSecret: signingSecret };
    try {
      new Webhook(signingSecret).verify(payload, headers);
      new Resend('re_x').webhooks.verify(given);
      return true;
    } catch {
      return false;
    }
  },
};

/** A new inbox for what an SDK sends. */
export async function newInbox(app: TestApp, body: object = {}) {
  const inbox = await app.createInbox(body);
  const path = `/v1/inboxes/${inbox.id}`;
  const get = async (below: string): Promise<Body> => (await app.api('GET', path + below)).body;
  /** All its messages in full, newest first. */
  const messages = async () =>
    Promise.all((await app.messages(inbox)).map(({ id }) => get(`/messages/${id}`)));
  const only = async (): Promise<Body> => {
    const all = await messages();
    expect(all).toHaveLength(1);
    return all[0];
  };
  return {
    ...inbox,
    messages,
    only,
    raw: async () => String(await get(`/messages/${(await only()).id}/raw`)),
    /** The next request that sends to it meets a rate limit with this text. */
    async limitOnce(text: string): Promise<void> {
      const rules = [{ at: 'api', reply: { code: 429, text }, times: 1 }];
      expect((await app.api('PUT', `${path}/faults`, { body: { rules } })).status).toBe(200);
    },
  };
}
