import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { buffer, text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { bodyOf } from '../../src/http/request/inputs.ts';
import { createListener } from '../../src/http/server.ts';
import { receiveRecording } from '../../src/recordings/upload.ts';

/** The server below the routes, with a handler of the test. */
async function listen(handle: RequestListener): Promise<number> {
  const { server } = createListener(handle, systemClock);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** Sends bytes and reads until the server closes the connection. */
function exchange(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.write(bytes);
  return text(socket);
}

const HEAD = 'POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n';
const chunk = (data: string): string => `${data.length.toString(16)}\r\n${data}\r\n`;

describe('a body in small chunks', () => {
  it('is read in few pieces, which are as long as many chunks', async () => {
    let pieces = 0;
    let bytes = 0;
    const port = await listen((request, response) => {
      const body = bodyOf(request);
      body.on('data', (piece: Buffer) => {
        pieces++;
        bytes += piece.length;
      });
      body.on('end', () => response.end('read'));
    });
    expect(await exchange(port, HEAD + chunk('a').repeat(100_000) + chunk(''))).toContain('read');
    expect(bytes).toBe(100_000);
    expect(pieces).toBeLessThan(1_000);
  });

  it('keeps its bytes in their order, also among large chunks and at its end', async () => {
    const port = await listen(async (request, response) => {
      response.end(await buffer(bodyOf(request)));
    });
    const data = ['a', 'b', 'c'.repeat(5_000), 'd', 'e'.repeat(511), 'f'.repeat(512), 'g'];
    const answer = await exchange(port, HEAD + data.map(chunk).join('') + chunk(''));
    expect(answer.endsWith(data.join(''))).toBe(true);
  });
});

describe('bodies in small chunks of many connections', () => {
  const CONNECTIONS = 20;
  const BODY_BYTES = 15_000;

  /** Sends a body on each connection at the same time. @returns what a handler saw, by the port of the client */
  async function sendAtOnce(addresses: readonly string[]) {
    let turn = 0;
    let isOver = false;
    const count = () => {
      turn++;
      if (!isOver) setImmediate(count);
    };
    const inTurns = new Map<number, Set<number | undefined>>();
    const bytes = new Map<number | undefined, number>();
    const ended: (string | undefined)[] = [];
    const port = await listen((request, response) => {
      const { remotePort, remoteAddress } = request.socket;
      bytes.set(remotePort, 0);
      const body = bodyOf(request);
      body.on('data', (piece: Buffer) => {
        bytes.set(remotePort, (bytes.get(remotePort) ?? 0) + piece.length);
        inTurns.set(turn, (inTurns.get(turn) ?? new Set()).add(remotePort));
      });
      body.on('end', () => {
        ended.push(remoteAddress);
        response.end('read');
      });
    });
    const sockets = addresses.map((localAddress) => connect({ port, host: '127.0.0.1', localAddress }));
    for (const socket of sockets) socket.write(HEAD);
    while (bytes.size < sockets.length) await new Promise((resolve) => setImmediate(resolve));
    setImmediate(count);
    const answers = sockets.map((socket) => {
      socket.write(chunk('a').repeat(BODY_BYTES) + chunk(''));
      return text(socket);
    });
    for (const answer of await Promise.all(answers)) expect(answer).toContain('read');
    isOver = true;
    expect([...bytes.values()]).toEqual(addresses.map(() => BODY_BYTES));
    return { most: Math.max(...[...inTurns.values()].map((seen) => seen.size)), ended };
  }

  it('are read one after the other, and not all in one turn of the event loop', async () => {
    const { most } = await sendAtOnce(Array.from({ length: CONNECTIONS }, () => '127.0.0.1'));
    expect(most).toBeLessThanOrEqual(CONNECTIONS / 4);
  });

  it('do not hold up another address', async () => {
    const many = Array.from({ length: CONNECTIONS - 1 }, () => '127.0.0.1');
    const { ended } = await sendAtOnce([...many, '127.0.0.2']);
    expect(ended.indexOf('127.0.0.2')).toBeLessThan(CONNECTIONS / 2);
  });
});

describe('an upload that cannot be stored', () => {
  /** Responds with the code of the error. */
  const store: RequestListener = (request, response) => {
    const limits = { maxBytes: 1_000, maxMessages: 1 };
    const parsing = { run: () => Promise.reject(new Error('no whole archive is sent')) };
    const type = request.headers['content-type'] ?? '';
    receiveRecording(bodyOf(request), type, limits, parsing, () => undefined).catch(
      (error: { code: string }) => response.end(error.code),
    );
  };
  const FORM = 'multipart/form-data; boundary=b';
  const file = (bytes: number) =>
    `--b\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n${'x'.repeat(bytes)}`;
  const parts = '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n'.repeat(100);

  it.each([
    ['a large archive', 'application/zip', file(100_000), 'payload_too_large'],
    ['a large file in a form', FORM, file(100_000), 'payload_too_large'],
    ['a form of many parts before its file', FORM, parts + file(1), 'malformed_recording'],
  ])('gets its error, and the server goes on: %s', async (_, type, body, code) => {
    const port = await listen(store);
    const head = HEAD.replace('\r\n\r\n', `\r\nContent-Type: ${type}\r\n\r\n`);
    for (let request = 0; request < 2; request++) {
      const answer = await exchange(port, head + chunk(body) + chunk('\r\n--b--\r\n') + chunk(''));
      expect(answer).toMatch(RegExp(`${code}$`));
    }
  });
});
