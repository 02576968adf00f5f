import sgClient from '@sendgrid/client';
import sgMail from '@sendgrid/mail';
import Mailgun from 'mailgun.js';
import { ServerClient } from 'postmark';
import { expect } from 'vitest';
import type { Body } from '../support/api-client.ts';
import type { TestApp } from '../support/start-app.ts';

/* The SDKs as an application sets them up, with the one option for the address, and inboxes for what they send. */

export const mailgunSdk = (url: string, key: string) =>
  new Mailgun(FormData).client({ username: 'api', key, url: `${url}/providers/mailgun` });

export const postmarkSdk = (url: string, token: string): ServerClient =>
  new ServerClient(token, { requestHost: `${new URL(url).host}/providers/postmark`, useHttps: false });

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

/** A new inbox for what an SDK sends. */
export async function newInbox(app: TestApp) {
  const inbox = await app.createInbox();
  const path = `/v1/inboxes/${inbox.id}`;
  const get = async (below: string): Promise<Body> => (await app.api('GET', path + below)).body;
  /** All its messages in full, newest first. */
  const messages = async (): Promise<Body[]> => {
    const list = await get('/messages');
    return Promise.all(list.messages.map(({ id }: Body) => get(`/messages/${id}`)));
  };
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
