import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { useApp } from '../support/start-app.ts';

const app = useApp({
  MAYFLY_DIALECT: 'mailpit',
  MAYFLY_SINK: 'on',
  MAYFLY_DEV_KEY: 'open',
  MAYFLY_HTTP_HOST: '0.0.0.0',
  MAYFLY_HOSTS: 'mail.example.com',
});

async function statusOf(headers: Record<string, string>, path = '/api/v1/messages', method = 'GET') {
  const asked = request(app.url.replace('0.0.0.0', '127.0.0.1') + path, { method, headers }).end();
  const [answer] = await once(asked, 'response');
  return answer.resume().statusCode;
}

describe('a dialect that is open to everyone who reaches the port', () => {
  it.each([
    'localhost',
    'localhost:8025',
    'mailpit:8025',
    'my_mail-1',
    '172.18.0.4:8025',
    '[fd00::4]:8025',
    'MAIL.example.com',
  ])('needs no credential for the host %s', async (host) => {
    expect(await statusOf({ host })).toBe(200);
  });

  it.each(['evil.example', 'mailpit.evil.example:8025', '172.18.0.4.evil.example', 'example.com'])(
    'refuses the host %s, which a page may rebind to this server',
    async (host) => {
      expect(await statusOf({ host })).toBe(403);
      const authorization = `Basic ${Buffer.from('any:dev').toString('base64')}`;
      expect(await statusOf({ host, authorization })).toBe(403);
    },
  );

  it.each([
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'x-forwarded-for': '203.0.113.7' },
  ])('refuses a request of a foreign page or a proxy: %j', async (headers) => {
    const sent = { host: 'mailpit:8025', ...headers } as Record<string, string>;
    expect(await statusOf(sent)).toBe(403);
    expect(await statusOf(sent, '/api/v1/messages', 'DELETE')).toBe(403);
  });

  it('refuses HTTP/1.0, which proxies speak', async () => {
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
    socket.end('GET /api/v1/messages HTTP/1.0\r\nHost: mailpit\r\n\r\n');
    expect(await text(socket)).toMatch(/^HTTP\/1.1 403/);
  });

  it('serves a proxy whose host is named', async () => {
    const headers = { host: 'mail.example.com', 'x-forwarded-for': '203.0.113.7' };
    expect(await statusOf(headers)).toBe(200);
    expect(await statusOf({ ...headers, origin: 'https://evil.example' })).toBe(403);
  });

  it('opens an address that the user typed, and changes nothing for it', async () => {
    const typed = { host: 'localhost:8025', 'sec-fetch-site': 'none' };
    expect(await statusOf(typed)).toBe(200);
    expect(await statusOf(typed, '/api/v1/messages', 'DELETE')).toBe(403);
  });

  it('opens nothing of our own API, and no console', async () => {
    for (const path of ['/v1/messages', '/v1/inboxes', '/v1/keys', '/console/session']) {
      expect(await statusOf({ host: 'mailpit' }, path)).toBe(401);
      expect(await statusOf({ host: 'localhost', authorization: 'Bearer dev' }, path)).toBe(401);
    }
  });

  it('shows mail to every address', async () => {
    const recipients = [
      ...['someone@a-shop.example', 'root@localhost', 'postmaster@example.org', 'postmaster@mayfly.test'],
      ...[
        'noreply@sub.mayfly.test',
        'user@[192.0.2.1]',
        '"quoted local"@example.net',
        'grüße@bücher.example',
      ],
    ];
    for (const address of recipients)
      await app.send({ from: 'a@example.com', to: { name: '', address }, subject: address, text: 'x' });
    const answer = await fetch(`${app.url.replace('0.0.0.0', 'localhost')}/api/v1/messages`);
    const { messages } = (await answer.json()) as { messages: { Subject: string }[] };
    expect(messages.map(({ Subject }) => Subject).toReversed()).toEqual(recipients);
  });
});
