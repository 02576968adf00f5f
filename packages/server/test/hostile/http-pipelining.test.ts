import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createListener } from '../../src/http/server.ts';
import { httpOfTest, type TestHttp } from '../http/start-http.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { rawClient } from '../support/raw-client.ts';

const get = (path: string, headers = ''): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;
const RAW = '/v1/inboxes/:id/messages/:messageId/raw';

/** One `request` line is logged for each finished response. */
const finishedRequests = (http: TestHttp, route: string): number =>
  http.logged.filter((line) => line.includes(`"route":"${route}"`)).length;

describe('pipelined requests', () => {
  let http: TestHttp;
  beforeEach(async () => {
    http = await httpOfTest();
  });

  const client = (localAddress?: string) => {
    const made = rawClient(http.port, localAddress);
    onTestFinished(() => void made.socket.destroy());
    return made;
  };

  it('do not stop others, half a megabyte of GET /openapi.json that nobody reads', async () => {
    const { socket } = client('127.0.0.2');
    socket.pause();
    socket.write(get('/openapi.json').repeat(Math.ceil(500_000 / get('/openapi.json').length)));
    for (let request = 0; request < 20; request++)
      expect((await http.api('GET', '/healthz', { as: null })).status).toBe(200);
    expect(finishedRequests(http, '/openapi.json')).toBeLessThanOrEqual(100);
  });

  it('are answered in order, up to the limit of unanswered ones', async () => {
    const { socket, text } = client();
    const paths = Array.from({ length: 20 }, (_, index) => `/nothing-${index}`);
    socket.write(paths.map((path) => get(path)).join(''));
    socket.write(get('/healthz', 'Connection: close\r\n'));
    await once(socket, 'end');
    const answered = [...text().matchAll(/nothing-(\d+)/g)].map(([, index]) => Number(index));
    expect(answered).toEqual(paths.map((_, index) => index));
    expect(text()).toContain('"alive"');
  });

  it('beyond that limit close the connection, and others are answered', async () => {
    const { socket, closed } = client('127.0.0.2');
    socket.write(get('/healthz').repeat(1_000));
    await closed();
    expect((await http.api('GET', '/healthz', { as: null })).status).toBe(200);
  });

  it('are begun one after the other: the next one when the client has taken the last response', async () => {
    const inbox = await http.createInbox();
    const message = await http.deliverRaw(inbox, `Subject: Large\r\n\r\n${'text\r\n'.repeat(250_000)}`);
    const { socket } = client();
    socket.pause();
    const authorization = `Authorization: Bearer ${inbox.token}\r\n`;
    socket.write(get(`/v1/inboxes/${inbox.id}/messages/${message}/raw`, authorization).repeat(20));
    for (let request = 0; request < 20; request++) await http.api('GET', '/healthz', { as: null });
    await expect.poll(() => finishedRequests(http, RAW)).toBeGreaterThan(0);
    // The system's buffers hold some; the rest would be 20 times a megabyte and a half.
    expect(finishedRequests(http, RAW)).toBeLessThan(10);
  });

  it('get static responses that were prepared once, compressed as the client accepts', async () => {
    const ask = (headers: Record<string, string>) => http.api('GET', '/openapi.json', { as: null, headers });
    const plain = await ask({ 'accept-encoding': 'identity' });
    expect(plain.headers.get('vary')).toMatch(/accept-encoding/i);
    for (const [accept, encoding] of [
      ['identity', null],
      ['gzip;q=0, br', null],
      ['gzip', 'gzip'],
      ['*', 'gzip'],
      ['br;q=1, gzip;q=0.5', 'gzip'],
    ] as const) {
      const answer = await fetch(`${http.url}/openapi.json`, { headers: { 'accept-encoding': accept } });
      expect([accept, answer.headers.get('content-encoding')]).toEqual([accept, encoding]);
      expect(await answer.json()).toEqual(plain.body);
      const most = plain.bytes.length / (encoding ? 4 : 1);
      expect(Number(answer.headers.get('content-length'))).toBeLessThanOrEqual(most);
    }
    const tag = plain.headers.get('etag') ?? '';
    const again = await ask({ 'if-none-match': tag, 'accept-encoding': 'identity' });
    expect([tag === '', again.status, again.bytes.length]).toEqual([false, 304, 0]);
  });
});

describe('requests that arrive together on many connections', () => {
  const CONNECTIONS = 100;
  /** What Node reads of a connection at once. */
  const READ_BYTES = 64 * 1024;
  /** A server that says OK; counts the requests of each address that were parsed in each turn of the event loop. */
  async function listen() {
    const turns: Record<string, number>[] = [];
    let turn: Record<string, number> | undefined;
    const clock = new FakeClock();
    const { server } = createListener((_request, response) => response.end(), clock);
    server.on('request', ({ socket }) => {
      if (!turn) {
        turn = {};
        turns.push(turn);
        globalThis.setImmediate(() => {
          turn = undefined;
        });
      }
      const address = socket.remoteAddress ?? '';
      turn[address] = (turn[address] ?? 0) + 1;
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const open = async (address: string) => {
      const client = rawClient(port, address);
      onTestFinished(() => void client.socket.destroy());
      await once(client.socket, 'connect');
      return client;
    };
    return { turns, clock, open };
  }

  it('are parsed in turns of 500 for each address', async () => {
    const { turns, clock, open } = await listen();
    const clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => open('127.0.0.2')));
    for (const { socket } of clients) socket.write(get('/healthz').repeat(20));
    const answers = () => clients.reduce((count, { text }) => count + text().split('200 OK').length - 1, 0);
    while (answers() < 20 * CONNECTIONS) {
      await setImmediate();
      await clock.advance(1);
    }
    expect(Math.max(...turns.map((turn) => turn['127.0.0.2'] ?? 0))).toBeLessThanOrEqual(520);
  });

  it('are parsed no further than one read of one connection where each has too many', async () => {
    const { turns, open } = await listen();
    const clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => open('127.0.0.2')));
    const other = await open('127.0.0.3');
    for (const { socket } of clients) socket.write(get('/healthz').repeat(2_000));
    other.socket.write(get('/healthz'));
    await expect.poll(other.text).toContain('200 OK');
    const most = Math.max(...turns.map((turn) => turn['127.0.0.2'] ?? 0));
    expect(most).toBeLessThanOrEqual(Math.ceil(READ_BYTES / get('/healthz').length));
  });

  it('leave others their time: until then nothing more of that address is read, on new connections either', async () => {
    const { clock, open } = await listen();
    const hostile = await open('127.0.0.2');
    hostile.socket.write(get('/healthz').repeat(2_000));
    await hostile.closed();
    const again = await open('127.0.0.2');
    again.socket.write(get('/healthz'));
    const other = await open('127.0.0.3');
    for (let count = 1; count <= 20; count++) {
      other.socket.write(get('/healthz'));
      await expect.poll(() => other.text().split('200 OK').length - 1, { interval: 1 }).toBe(count);
    }
    expect(again.text()).toBe('');
    await clock.advance(1);
    await expect.poll(again.text).toContain('200 OK');
  });
});
