/*
 * The application under test: it knows nothing of Mayfly. It invites people by mail through SendGrid, and SendGrid posts
 * to it what becomes of that mail. Its address of SendGrid is SENDGRID_URL, which only tests set.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import client from '@sendgrid/client';
import { EventWebhook, EventWebhookHeader } from '@sendgrid/eventwebhook';
import sgMail from '@sendgrid/mail';

/**
 * @param options `apiKey` of SendGrid, and `publicKey()` with which it signs its events
 * @returns the server, which listens on 127.0.0.1
 */
export async function start({ apiKey, publicKey, port = 0 }) {
  client.setApiKey(apiKey);
  if (process.env.SENDGRID_URL) client.setDefaultRequest('baseUrl', process.env.SENDGRID_URL);
  sgMail.setClient(client);
  const webhook = new EventWebhook();
  /** By address: 'invited', 'unreachable', 'retrying' or 'unwilling'. */
  const guests = new Map();

  const isFromSendGrid = (payload, headers) =>
    webhook.verifySignature(
      webhook.convertPublicKeyToECDSA(publicKey()),
      payload,
      headers[EventWebhookHeader.SIGNATURE().toLowerCase()],
      headers[EventWebhookHeader.TIMESTAMP().toLowerCase()],
    );

  const stateAfter = ({ event, type }) => {
    if (event === 'bounce') return type === 'blocked' ? 'retrying' : 'unreachable';
    return { deferred: 'retrying', spamreport: 'unwilling', unsubscribe: 'unwilling' }[event];
  };

  const routes = {
    'POST /invite': async ({ email }) => {
      const state = guests.get(email);
      if (state === 'unreachable' || state === 'unwilling') return { sent: false, state };
      guests.set(email, 'invited');
      await sgMail.send({
        ...{ to: email, from: 'party@example.com', subject: 'You are invited' },
        ...{ text: 'Come to our party!', categories: ['invitation'], customArgs: { guest: email } },
      });
      return { sent: true, state: 'invited' };
    },
    'POST /guest': ({ email }) => ({ state: guests.get(email) }),
    'POST /webhooks/sendgrid': (events, payload, headers) => {
      if (!isFromSendGrid(payload, headers)) throw new Error('The signature is wrong.');
      for (const event of events) guests.set(event.guest, stateAfter(event) ?? guests.get(event.guest));
    },
  };

  const server = createServer(async (request, response) => {
    try {
      const payload = await text(request);
      const route = routes[`${request.method} ${request.url}`];
      const answer = await route(JSON.parse(payload), payload, request.headers);
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer ?? {}));
    } catch (error) {
      response.writeHead(500).end(String(error));
    }
  });
  await once(server.listen(port, '127.0.0.1'), 'listening');
  return server;
}
