import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { HttpDeps } from '../../src/http/context.ts';
import { httpOfTest, type TestHttp } from '../http/start-http.ts';
import { rawClient } from '../support/raw-client.ts';

const MIB = 1024 * 1024;

describe('connections', () => {
  let http: TestHttp;
  const start = async (limits: HttpDeps['limits'] = {}) => {
    http = await httpOfTest({ limits });
  };

  const open = (options: { allowHalfOpen?: boolean; localAddress?: string } = {}): Socket => {
    const socket = connect({ port: http.port, host: '127.0.0.1', ...options });
    socket.on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
    return socket;
  };
  const connected = (socket: Socket) => once(socket, 'connect');
  const closed = (socket: Socket) => new Promise((resolve) => socket.once('close', resolve));
  /** The response to a request on a connection of its own. */
  const askHealth = (localAddress = '127.0.0.1') => {
    const socket = open({ localAddress });
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    return text(socket);
  };
  /** Begins a request with a body of twenty bytes. */
  const upload = (headers = '') => {
    const socket = open();
    socket.write(
      `POST /v1/inboxes HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 20\r\nAuthorization: Bearer ${http.keys.own}\r\n${headers}\r\n`,
    );
    return socket;
  };

  it('of one address are limited: a new one takes the place of one that never sent a request', async () => {
    await start({ maxConnectionsPerAddress: 20 });
    const used = open();
    used.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(used, 'data');
    const silent = Array.from({ length: 19 }, () => open());
    await Promise.all(silent.map(connected));
    const [oldest = used] = silent;
    const oldestGone = closed(oldest.resume());
    expect(await askHealth()).toMatch(/^HTTP\/1\.1 200 /);
    await oldestGone;
    expect([used.destroyed, silent.filter((socket) => socket.destroyed).length]).toEqual([false, 1]);
  });

  it('of one address that all have requests in progress are the limit: the next one gets 429', async () => {
    await start({ maxConnectionsPerAddress: 20 });
    const uploads = Array.from({ length: 20 }, () => upload('Expect: 100-continue\r\n'));
    // Each has its 100 response, so its request is in progress.
    await Promise.all(uploads.map((socket) => once(socket, 'data')));
    const rejected = /^HTTP\/1\.1 429 [\s\S]*Retry-After: 1\r\n[\s\S]*"code":"rate_limited"/;
    expect(await askHealth()).toMatch(rejected);
    expect(await askHealth('127.0.0.2')).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('of many addresses make room for a new address when the server is full', async () => {
    await start({ maxConnections: 30, maxConnectionsPerAddress: 20 });
    const silent = [2, 3].flatMap((host) =>
      Array.from({ length: 15 }, () => open({ localAddress: `127.0.0.${host}` })),
    );
    await Promise.all(silent.map(connected));
    expect((await http.api('GET', '/healthz', { as: null })).status).toBe(200);
  });

  it('that ask nothing get 408 and are destroyed, also when the client keeps its end open', async () => {
    await start({ headersTimeoutMs: 200 });
    const silent = open({ allowHalfOpen: true });
    const gone = closed(silent);
    expect(await text(silent)).toMatch(/^HTTP\/1\.1 408 /);
    // The server has let go of it: what is written now is rejected by its system.
    const writing = setInterval(() => silent.write('x'), 20);
    await gone;
    clearInterval(writing);
  });

  it.each([
    ['a 401', 'POST /v1/inboxes/x/messages HTTP/1.1', ''],
    ['a 401 to an expectation that is unknown', 'POST /v1/inboxes HTTP/1.1', 'Expect: 200-ok\r\n'],
    [
      'a 401 to an expectation of HTTP/1.0',
      'POST /v1/inboxes HTTP/1.0',
      'Connection: keep-alive\r\nExpect: 100-continue\r\n',
    ],
    ['a 400 to a path that cannot be decoded', 'POST /v1/%zz HTTP/1.1', ''],
  ])('are read no further than a small bound after %s', async (_name, line, headers) => {
    await start();
    const sender = open();
    const gone = closed(sender);
    sender.write(
      `${line}\r\nHost: x\r\nAuthorization: Bearer mfk_unknown\r\n${headers}Content-Type: application/json\r\nContent-Length: ${200 * MIB}\r\n\r\n`,
    );
    const piece = Buffer.alloc(64 * 1024);
    const send = () => {
      while (!sender.destroyed && sender.write(piece));
    };
    sender.on('drain', send);
    send();
    await gone;
    // Most of it is in the buffers of the system.
    expect(sender.bytesWritten).toBeLessThan(24 * MIB);
  });

  it('stay open after a 401 to a request with a small body', async () => {
    await start();
    const { socket, until } = rawClient(http.port);
    onTestFinished(() => void socket.destroy());
    const body = JSON.stringify({ ttlMinutes: 1 });
    const head = `POST /v1/inboxes HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
    socket.write(`${head}\r\n${body}`);
    expect(await until(/\}$/)).toMatch(/^HTTP\/1\.1 401 /);
    socket.write(`${head}Authorization: Bearer ${http.keys.own}\r\n\r\n${body}`);
    expect(await until(/ 201 /)).toMatch(/\}HTTP\/1\.1 201 /);
  });

  it('with a request that is not complete after 60 seconds (here 0.4) get 408 and are closed', async () => {
    await start({ requestTimeoutMs: 400, headersTimeoutMs: 300 });
    const socket = upload();
    socket.write('{');
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 408 [\s\S]*"code":"request_timeout"/);
    await expect.poll(() => http.connections()).toBe(0);
  });
});
