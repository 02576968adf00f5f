/*
 * The application under test: it knows nothing of Mayfly. It sends its mail through Resend, and Resend posts to it what
 * becomes of that mail, and the replies of customers. Its address of Resend is RESEND_BASE_URL, as in any application.
 */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { Resend } from 'resend';

const FROM = 'Helpdesk <help@shop.example>';

/**
 * @param options `apiKey` of Resend, and `webhookSecret()` with which it signs its webhooks
 * @returns the server, which listens on 127.0.0.1
 */
export async function start({ apiKey, webhookSecret, port = 0 }) {
  const resend = new Resend(apiKey);
  /** By address: { code, isConfirmed, isReachable }. */
  const accounts = new Map();
  /** By the Message-ID of our first mail: { number, email, comments }. */
  const tickets = new Map();

  const send = async (to, subject, body) => {
    const { data, error } = await resend.emails.send({ from: FROM, to, subject, text: body });
    if (error) throw new Error(`${error.name}: ${error.message}`);
    return data.id;
  };

  const routes = {
    'POST /signup': async ({ email }) => {
      const code = String(randomInt(100_000, 1_000_000));
      accounts.set(email, { code, isConfirmed: false, isReachable: true });
      await send(email, 'Please confirm your account', `Your confirmation code is ${code}.`);
    },
    'POST /confirm': ({ email, code }) => {
      const account = accounts.get(email);
      if (account?.code === code) account.isConfirmed = true;
      return account;
    },
    'POST /account': ({ email }) => accounts.get(email),
    'POST /tickets': async ({ email, question }) => {
      const number = tickets.size + 1;
      const id = await send(email, `[#${number}] We got your question`, `You wrote: ${question}`);
      const { data } = await resend.emails.get(id);
      tickets.set(data.message_id, { number, email, comments: [question] });
      return { number };
    },
    'POST /ticket': ({ number }) => [...tickets.values()].find((ticket) => ticket.number === number),
    'POST /webhooks/resend': async (_body, payload, headers) => {
      const [id, timestamp, signature] = ['svix-id', 'svix-timestamp', 'svix-signature'].map(
        (n) => headers[n],
      );
      const { type, data } = resend.webhooks.verify({
        ...{ payload, headers: { id, timestamp, signature } },
        webhookSecret: webhookSecret(),
      });
      if (type === 'email.bounced') for (const to of data.to) accounts.get(to).isReachable = false;
      if (type === 'email.received') {
        const { data: mail } = await resend.emails.receiving.get(data.email_id);
        tickets.get(mail.headers['in-reply-to'])?.comments.push(mail.text.split('\nOn ')[0].trim());
      }
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
