import { connect, type Socket } from 'node:net';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startHttp, type TestHttp } from '../http/start-http.ts';

/** A raw client; what arrives is kept as text unless it is paused. */
function rawClient(port: number): { socket: Socket; text(): string; closed: Promise<void> } {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.on('data', (bytes) => {
    text += bytes.toString('latin1');
  });
  socket.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  return { socket, text: () => text, closed };
}

const get = (path: string, headers = ''): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;
const BUNDLE = '/docs/static/swagger-ui-bundle.js';

/** One `request` line is logged for each finished response. */
const finishedRequests = (http: TestHttp, route: string): number =>
  http.logged.filter((line) => line.includes(`"route":"${route}"`)).length;

describe('pipelined requests without a credential', () => {
  let http: TestHttp;
  const clients: Socket[] = [];
  beforeEach(async () => {
    http = await startHttp();
  });
  afterEach(async () => {
    for (const socket of clients.splice(0)) socket.destroy();
    await http.stop();
  });

  const client = () => {
    const made = rawClient(http.port);
    clients.push(made.socket);
    return made;
  };

  it('do not stop others, half a megabyte of GET /openapi.json that nobody reads', async () => {
    const { socket } = client();
    socket.pause();
    socket.write(get('/openapi.json').repeat(Math.ceil(500_000 / get('/openapi.json').length)));
    for (let request = 0; request < 20; request++) {
      const answer = await http.api('GET', '/healthz', { as: null });
      expect(answer.status).toBe(200);
    }
    expect(finishedRequests(http, '/openapi.json')).toBeLessThanOrEqual(100);
  });

  it('are answered in order, up to the limit of unanswered ones', async () => {
    const { socket, text } = client();
    const paths = Array.from({ length: 99 }, (_, index) => `/nothing-${index}`);
    socket.write(paths.map((path) => get(path)).join(''));
    socket.write(get('/healthz', 'Connection: close\r\n'));
    await new Promise((resolve) => socket.once('end', resolve));
    const answered = [...text().matchAll(/nothing-(\d+)/g)].map(([, index]) => Number(index));
    expect(answered).toEqual(paths.map((_, index) => index));
    expect(text()).toContain('"alive"');
  });

  it('beyond that limit are ignored: those before are answered, then the connection is closed', async () => {
    const { socket, closed, text } = client();
    const paths = Array.from({ length: 1_000 }, (_, index) => `/nothing-${index}`);
    socket.write(paths.map((path) => get(path)).join(''));
    await closed;
    const answered = [...text().matchAll(/nothing-(\d+)/g)].map(([, index]) => Number(index));
    expect(answered).toEqual(Array.from({ length: 101 }, (_, index) => index));
    expect(text().match(/connection: close/gi)).toHaveLength(1);
    expect((await http.api('GET', '/healthz', { as: null })).status).toBe(200);
  });

  it('of many connections beyond the limit close them without the responses that are owed', async () => {
    const many = Array.from({ length: 10 }, () => client());
    for (const { socket } of many) {
      socket.pause();
      socket.write(get('/readyz').repeat(1_500));
    }
    const answer = await http.api('GET', '/healthz', { as: null });
    expect(answer.status).toBe(200);
    for (const { socket } of many) socket.resume();
    await Promise.all(many.map(({ closed }) => closed));
    const counts = many.map(({ text }) => text().split('HTTP/1.1 ').length - 1);
    expect(Math.max(...counts)).toBeLessThanOrEqual(101);
    expect(Math.min(...counts)).toBeLessThan(101);
  });

  it('are begun one after the other: the next one when the client has taken the last response', async () => {
    await http.api('GET', BUNDLE, { as: null });
    const before = finishedRequests(http, '/docs/static/*');
    const { socket } = client();
    socket.pause();
    socket.write(get(BUNDLE).repeat(50));
    for (let request = 0; request < 20; request++) await http.api('GET', '/healthz', { as: null });
    // The system's buffers hold some; the rest would be 50 times a megabyte and a half.
    expect(finishedRequests(http, '/docs/static/*') - before).toBeLessThan(10);
  });

  it('get static responses that were prepared once, compressed as the client accepts', async () => {
    const plain = await http.api('GET', '/openapi.json', {
      as: null,
      headers: { 'accept-encoding': 'identity' },
    });
    expect(plain.headers.get('content-encoding')).toBe(null);
    expect(plain.headers.get('vary')).toMatch(/accept-encoding/i);
    for (const [encoding, decompress] of [
      ['br', brotliDecompressSync],
      ['gzip', gunzipSync],
    ] as const) {
      const { socket, text } = client();
      socket.write(get('/openapi.json', `Accept-Encoding: ${encoding}\r\nConnection: close\r\n`));
      await new Promise((resolve) => socket.once('end', resolve));
      const [head = '', body = ''] = text().split(/\r\n\r\n([\s\S]*)/);
      expect(head.toLowerCase()).toContain(`content-encoding: ${encoding}`);
      expect(JSON.parse(decompress(Buffer.from(body, 'latin1')).toString())).toEqual(plain.body);
      expect(body.length).toBeLessThan(plain.bytes.length / 4);
    }
    const tag = plain.headers.get('etag') ?? '';
    const again = await http.api('GET', '/openapi.json', {
      as: null,
      headers: { 'if-none-match': tag, 'accept-encoding': 'identity' },
    });
    expect([tag === '', again.status, again.bytes.length]).toEqual([false, 304, 0]);
    for (const [accept, encoding] of [
      ['gzip;q=0, br;q=0', null],
      ['*', 'br'],
      ['gzip;q=1, br;q=0.5', 'gzip'],
    ] as const) {
      const { socket, text } = client();
      socket.write(get('/openapi.json', `Accept-Encoding: ${accept}\r\nConnection: close\r\n`));
      await new Promise((resolve) => socket.once('end', resolve));
      const found = /\r\ncontent-encoding: (\w+)/i.exec(text())?.[1] ?? null;
      expect([accept, found]).toEqual([accept, encoding]);
    }
  });
});
