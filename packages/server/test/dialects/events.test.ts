import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type Answer,
  Api,
  type Asked,
  type Change,
  createWebSockets,
  Mailbox,
  sendEvents,
} from '@mayfly/dialects';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startApp, TEST_KEY, useApp } from '../support/start-app.ts';

interface Event {
  Type: string;
  Data: Record<string, unknown> | null;
}

const SETTINGS = { MAYFLY_DIALECT: 'mailpit', MAYFLY_SINK: 'on' };
const app = useApp(SETTINGS);

const basic = (password: string) => `Basic ${Buffer.from(`any:${password}`).toString('base64')}`;

/** Follows events with a client that knows nothing of Mayfly. */
async function follow(password: string, from = app, fields: Record<string, string> = {}) {
  const url = `${from.url.replace('http', 'ws')}/api/events`;
  const socket = new WebSocket(url, { headers: { authorization: basic(password), ...fields } });
  onTestFinished(() => socket.close());
  const events: Event[] = [];
  let heard = Promise.withResolvers<void>();
  socket.addEventListener('message', ({ data }) => {
    events.push(JSON.parse(String(data)));
    heard.resolve();
    heard = Promise.withResolvers();
  });
  await once(socket, 'open');
  const seen = (type: string) => events.filter(({ Type }) => Type === type).map(({ Data }) => Data);
  return {
    socket,
    seen,
    /** Resolves with the data of all events of a type, as soon as there are so many. */
    async until(type: string, count = 1) {
      while (seen(type).length < count) await heard.promise;
      return seen(type);
    },
  };
}

const UPGRADE = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': Buffer.alloc(16).toString('base64'),
};

/** Mayfly's API, for a mailbox outside of the server. */
async function throughHttp({ method, path, signal }: Asked): Promise<Answer> {
  const { status, headers, bytes } = await app.api(method, path, signal ? { signal } : {});
  return { status, headers: Object.fromEntries(headers), body: Buffer.from(bytes) };
}

/** The status of what is answered instead of an upgrade. */
async function statusOf(path: string, headers: Record<string, string>): Promise<number | undefined> {
  const asked = request(`${app.url}${path}`, { headers: { ...UPGRADE, ...headers } }).end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  return answer.resume().statusCode;
}

const call = (method: string, path: string, body?: unknown, password = TEST_KEY) =>
  app.api(method, path, { as: null, headers: { authorization: basic(password) }, body });
const MAIL = { from: 'shop@example.com', to: 'ada@example.org', text: 'x' };

describe("Mailpit's events", () => {
  it('has the row of each new mail, in order, with empty lists as lists, and then the figures', async () => {
    const { until } = await follow(TEST_KEY);
    // The first figures show that it follows.
    await until('stats');
    for (const subject of ['one', 'two', 'three']) await app.send({ ...MAIL, subject });
    const rows = await until('new', 3);
    expect(rows.map((row) => row?.Subject)).toEqual(['one', 'two', 'three']);
    const nothing = { Cc: [], Bcc: [], ReplyTo: [], Tags: [], Username: '', Read: false, Attachments: 0 };
    expect(rows[0]).toEqual({
      ...nothing,
      ID: expect.stringMatching(/^msg_\w+-inb_\w+$/),
      MessageID: expect.stringMatching(/@example\.com$/),
      From: { Name: '', Address: 'shop@example.com' },
      To: [{ Name: '', Address: 'ada@example.org' }],
      Subject: 'one',
      Created: expect.any(String),
      Size: expect.any(Number),
      Snippet: 'x',
    });
    const stats = await until('stats', 2);
    expect(stats[0]).toEqual({ Total: 0, Unread: 0, Version: 'Mayfly' });
    expect(stats.at(-1)).toMatchObject({ Unread: expect.any(Number), Version: 'Mayfly' });
  });

  it('says what other clients of the same interface mark, tag and delete', async () => {
    await call('DELETE', '/api/v1/messages');
    await app.send({ ...MAIL, subject: 'marked' });
    const { ID } = (await call('GET', '/api/v1/messages')).body.messages[0];
    const { until, seen } = await follow(TEST_KEY);
    await call('GET', `/api/v1/message/${ID}`);
    await call('PUT', '/api/v1/tags', { IDs: [ID], Tags: ['b', 'A'] });
    await call('PUT', '/api/v1/tags/b', { Name: 'c' });
    await call('DELETE', '/api/v1/messages', { IDs: [ID] });
    await call('DELETE', '/api/v1/messages');
    await until('truncate');
    expect(seen('update').slice(0, 2)).toEqual([
      { ID, Read: true },
      { ID, Tags: ['b', 'A'] },
    ]);
    expect([seen('prune'), seen('delete'), seen('truncate')]).toEqual([[null], [{ ID }], [null]]);
  });

  it('has what concerns the inbox of a read token, and nothing of others', async () => {
    const [mine, other] = [await app.createInbox(), await app.createInbox()];
    const { until, seen } = await follow(mine.token);
    await until('stats');
    await app.send({ ...MAIL, to: other.address, subject: 'not mine' });
    await call('DELETE', '/api/v1/messages', undefined, other.token);
    await app.send({ ...MAIL, to: mine.address, subject: 'mine' });
    expect((await until('new')).map((row) => row?.Subject)).toEqual(['mine']);
    await call('DELETE', '/api/v1/messages', undefined, mine.token);
    expect(await until('truncate')).toEqual([null]);
    expect(seen('delete')).toEqual([]);
  });

  it.each([
    ['no password', {}, 401],
    ['a wrong password', { authorization: basic('mfk_wrong') }, 401],
    ['a page of another origin', { authorization: basic(TEST_KEY), origin: 'https://evil.example' }, 403],
    ['another site', { authorization: basic(TEST_KEY), 'sec-fetch-site': 'cross-site' }, 403],
    ['no WebSocket', { authorization: basic(TEST_KEY), upgrade: 'h2c' }, 400],
    ['no key of a handshake', { authorization: basic(TEST_KEY), 'sec-websocket-key': 'x' }, 400],
  ])('refuses %s', async (_, headers, status) => {
    expect(await statusOf('/api/events', headers as Record<string, string>)).toBe(status);
  });

  it('answers requests for other paths that offer an upgrade as those without', async () => {
    expect(await statusOf('/livez', { upgrade: 'h2c' })).toBe(200);
  });

  it('accepts pages of this server', async () => {
    await follow(TEST_KEY, app, { origin: app.url });
  });

  it('closes the connection of a key that was revoked', async () => {
    const { body } = await app.api('POST', '/v1/keys', { body: { name: 'short-lived' } });
    const { socket, until } = await follow(body.key);
    await until('stats');
    const closed = once(socket, 'close');
    await app.api('DELETE', `/v1/keys/${body.id}`);
    const [{ code }] = (await closed) as [CloseEvent];
    expect(code).toBe(1008);
  });

  it('disconnects a client that does not read', async () => {
    let publish: (change: Change) => void = () => undefined;
    const sockets = createWebSockets();
    const server = createServer().listen(0, '127.0.0.1');
    server.on('upgrade', (asked, socket, head) => {
      sockets.handleUpgrade(asked, socket, head, (one) => {
        const subscribe = (listener: typeof publish) => {
          publish = listener;
          return () => undefined;
        };
        void sendEvents(one, new Mailbox(new Api(throughHttp), undefined), subscribe);
      });
    });
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const asked = request(`http://127.0.0.1:${port}`, { headers: UPGRADE }).end();
    const [, socket] = await once(asked, 'upgrade');
    socket.pause();
    const closed = once(socket, 'close');
    const change: Change = { Type: 'update', Data: { ID: 'one', Tags: ['x'.repeat(100_000)] } };
    // 40 MB, of which the system keeps up to 10 for a connection.
    for (let n = 0; n < 400; n++) publish(change);
    let bytes = 0;
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    socket.resume();
    await closed;
    expect(bytes).toBeLessThan(20_000_000);
    server.close();
  });

  it('is closed at once when the server stops', async () => {
    const other = await startApp(SETTINGS);
    const { socket, until } = await follow(TEST_KEY, other);
    await until('stats');
    const closed = once(socket, 'close');
    const [[{ code }]] = (await Promise.all([closed, other.stop()])) as [[CloseEvent], unknown];
    expect(code).toBe(1001);
  });
});
