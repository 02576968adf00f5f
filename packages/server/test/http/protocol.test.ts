import { readFileSync } from 'node:fs';
import { METHODS } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { AppError } from '../../src/errors.ts';
import { OPENAPI_FILE } from '../../src/http/routes/reference.ts';
import { everyOperation } from './openapi/operations.ts';
import { startHttp, type TestInbox, useHttp } from './start-http.ts';

describe('the HTTP listener', () => {
  const http = useHttp();
  let inbox: TestInbox;
  beforeAll(async () => {
    inbox = await http.createInbox();
  });

  /** Bytes in, everything that comes back until the server closes. */
  const exchange = (bytes: string): Promise<string> => {
    const socket: Socket = connect(http.port, '127.0.0.1');
    socket.write(bytes);
    return text(socket);
  };

  const ask = (line: string, headers = '', body = ''): Promise<string> =>
    exchange(`${line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers}\r\n${body}`);

  it.each([
    ['GET', '//v1/inboxes', 404, 'not_found'],
    ['GET', '/v1//inboxes', 404, 'not_found'],
    ['GET', '/V1/inboxes', 404, 'not_found'],
    ['GET', '/v1/inboxes/x/messages/y/z', 404, 'not_found'],
    ['GET', '/%zz', 400, 'invalid_request'],
    ['PUT', '/v1/inboxes', 405, 'method_not_allowed'],
    ['PUT', '/v1/inboxes/x/messages', 405, 'method_not_allowed'],
    ['GET', '/v1/addresses/generate', 405, 'method_not_allowed'],
    ['OPTIONS', '/v1/inboxes', 405, 'method_not_allowed'],
    ['DELETE', '/healthz', 405, 'method_not_allowed'],
  ])('answers %s %s with a problem: %i %s', async (method, path, status, code) => {
    const answer = await http.api(method, path);
    expect([answer.status, answer.body.code]).toEqual([status, code]);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    if (status === 405) expect(answer.headers.get('allow')).toMatch(/^[A-Z, ]+$/);
  });

  it('answers every operation that is sent a Content-Type and no body', async () => {
    const { keys } = await http.newAccounts();
    const headers = `Authorization: Bearer ${keys.own}\r\nContent-Type: application/json\r\n`;
    const answers = everyOperation().operations.map(async ({ id, method, path }) => {
      const line = `${method} ${path.replaceAll(/\{\w+\}/g, 'x')}`;
      return [id, path.endsWith('/events') ? 'a stream' : await ask(line, headers)];
    });
    for (const [id, answer] of await Promise.all(answers))
      expect([id, answer]).toEqual([id, expect.stringMatching(/^HTTP\/1\.1 [234]\d\d |^a stream$/)]);
  });

  it('answers every method that HTTP has: 405 with Allow where the path is known, 404 where it is not', async () => {
    const others = METHODS.filter((one) => !['CONNECT', 'DELETE', 'GET', 'HEAD', 'POST'].includes(one));
    for (const method of others) {
      for (const body of ['', 'Content-Type: text/x\r\nContent-Length: 1\r\n']) {
        const known = await ask(`${method} /v1/inboxes`, body, body && 'x');
        expect([method, known]).toEqual([method, expect.stringMatching(/^HTTP\/1\.1 405 /)]);
        expect(known).toMatch(/\r\nallow: DELETE, GET, HEAD, POST\r\n/i);
        const unknown = await ask(`${method} /nothing`, body, body && 'x');
        expect([method, unknown]).toEqual([method, expect.stringMatching(/^HTTP\/1\.1 404 /)]);
      }
    }
    expect(await exchange('CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 404 [\s\S]*"code":"not_found"/,
    );
  });

  it('lists the methods of the path itself, also where it could be an id in another one', async () => {
    expect(await ask('OPTIONS /v1/inboxes/import')).toMatch(/^HTTP\/1\.1 405 [\s\S]*\r\nallow: POST\r\n/i);
  });

  const askHost = (host: string): Promise<string> =>
    exchange(`GET /healthz HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);

  it.each([
    ...['x\r\nhost: x', 'x\r\nhost: y', 'x, y', 'x,y', 'x@y/<script>', 'x y', 'x/y', '<b>', 'x:port'],
    ...[':80', '[::1', 'x?y', 'x%20y', 'é'],
  ])('refuses the Host %s with 400', async (host) => {
    expect(await askHost(host)).toMatch(
      /^HTTP\/1\.1 400 [\s\S]*The Host header is[\s\S]*"code":"invalid_request"/,
    );
  });

  const HOSTS = ['', 'x', 'x:8025', 'mayfly_api:80', 'a.b-c.example.', '192.0.2.1:1', '[::1]:8025', 'x:'];
  it.each(HOSTS)('takes the Host %j', async (host) => {
    expect(await askHost(host)).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('asks for the same credential however a path is written', async () => {
    const written = ['', '?', '#x', '?limit=1'].map((end) => `/v1/inboxes${end}`);
    for (const path of [...written, '/%761/inboxes', '/v1/%69nboxes']) {
      const credentials = [null, inbox.token, http.keys.own];
      const answers = await Promise.all(credentials.map((as) => http.api('GET', path, { as })));
      expect([path, answers.map(({ status }) => status)]).toEqual([path, [401, 403, 200]]);
    }
    const other = await http.createInbox();
    const sneaky = [
      `/v1/inboxes/${inbox.id}%2f..%2f${other.id}`,
      `/v1/inboxes/${inbox.id}%2fmessages`,
      `/v1/inboxes/${inbox.id}/..%2f${other.id}/messages`,
      `/v1/inboxes/${other.id}%00`,
      `/v1/inboxes/${inbox.id};${other.id}/messages`,
    ];
    for (const path of sneaky) {
      const answer = await ask(`GET ${path}`, `Authorization: Bearer ${inbox.token}\r\n`);
      expect([path, answer]).toEqual([path, expect.stringMatching(/^HTTP\/1\.1 404 /)]);
    }
  });

  const POST = 'POST /v1/inboxes HTTP/1.1\r\nHost: x\r\n';
  it.each([
    ['not HTTP at all', 'EHLO mx.example.org\r\n\r\n', 400],
    ['a broken header', 'GET / HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n', 400],
    ['two lengths', `${POST}Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}`, 400],
    ['length and chunks', `${POST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, 400],
    ['no Host', 'GET /v1/inboxes HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    ['headers beyond measure', `GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
  ])('answers %s with a problem and closes', async (_what, bytes, status) => {
    const answer = await exchange(bytes);
    expect(answer.startsWith(`HTTP/1.1 ${status} `)).toBe(true);
    expect(answer.toLowerCase()).toContain('content-type: application/problem+json');
    const body = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4));
    expect(body).toMatchObject({ status, code: expect.any(String), requestId: expect.any(String) });
  });

  it('gives every answer an id of its own, and headers that browsers heed', async () => {
    const paths = ['/v1/inboxes', '/x', '/%zz'];
    const answers = await Promise.all(paths.map((path) => http.api('GET', path)));
    expect(new Set(answers.map(({ headers }) => headers.get('x-request-id'))).size).toBe(3);
    for (const { headers } of answers) {
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('content-security-policy')).toContain("default-src 'none'");
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('cache-control')).toMatch(/no-store|no-cache/);
      expect(headers.get('access-control-allow-origin')).toBe(null);
    }
  });

  it('says that it is alive and ready, and 503 with Retry-After when the storage does not answer', async () => {
    for (const path of ['/healthz', '/readyz'])
      expect((await http.api('GET', path, { as: null })).status).toBe(200);
    using find = vi.spyOn(http.store.inboxes, 'find');
    using ping = vi.spyOn(http.store, 'ping');
    // Also where the storage failed during the request, so that its outcome is unknown.
    for (const code of ['unavailable', 'outcome_unknown'] as const) {
      for (const method of [find, ping])
        method.mockRejectedValue(new AppError(code, 'The storage does not respond.'));
      for (const path of ['/readyz', `/v1/inboxes/${inbox.id}`]) {
        const { status, headers, body } = await http.api('GET', path);
        expect([status, body.code]).toEqual([503, 'unavailable']);
        expect(body.type).toBe('urn:problem-type:mayfly:unavailable');
        expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
      }
    }
    expect((await http.api('GET', '/healthz')).status).toBe(200);
  });

  it('answers a defect with 500 and no word of it, and logs it once under the request id', async () => {
    using _find = vi.spyOn(http.store.inboxes, 'find').mockRejectedValue(new Error('the secret is in here'));
    const answer = await http.api('GET', `/v1/inboxes/${inbox.id}`);
    expect([answer.status, answer.body.code]).toEqual([500, 'internal_error']);
    expect(JSON.stringify(answer.body)).not.toContain('secret');
    const lines = http.logged.filter(
      (line) => line.includes(answer.body.requestId) && line.includes('A request failed'),
    );
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('the secret is in here');
  });

  it('logs one line a request with its remote address, account, key and inbox, and no credential or body in any', async () => {
    const secret = 'a-label-value-of-a-body';
    const before = http.logged.length;
    const made = await http.api('POST', '/v1/inboxes', { body: { labels: { secret } } });
    await http.api('GET', `/v1/inboxes/${made.body.id}/messages?subject=${secret}`, { as: made.body.token });
    const lines = http.logged.slice(before).map((line) => JSON.parse(line));
    const both = { remoteAddress: '127.0.0.1', accountId: http.accountId, requestId: expect.any(String) };
    const keyId = expect.stringMatching(/^key_/);
    expect(lines).toMatchObject([
      { ...both, method: 'POST', route: '/v1/inboxes', status: 201, keyId },
      { ...both, method: 'GET', route: '/v1/inboxes/:id/messages', status: 200, inboxId: made.body.id },
    ]);
    const all = http.logged.join('');
    for (const word of [secret, made.body.token, inbox.token, ...Object.values(http.keys)])
      expect(all).not.toContain(word);
  });

  it('serves the document and its reference pages, which load nothing from elsewhere', async () => {
    const served = await http.api('GET', '/openapi.json', { as: null });
    expect(Buffer.from(served.bytes)).toEqual(readFileSync(OPENAPI_FILE));
    const root = await http.api('GET', '/', { as: null });
    expect([root.status, root.headers.get('location')]).toEqual([302, '/docs']);
    const page = await http.api('GET', '/docs', { as: null });
    expect(page.status).toBe(200);
    expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'self';/);
    const loaded = [...String(page.body).matchAll(/(?:src|href)="([^"#]+)"/g)];
    expect(loaded.length).toBeGreaterThan(3);
    for (const [, target = ''] of loaded) {
      const { origin, pathname } = new URL(target, `${http.url}/docs`);
      const { status } = await http.api('GET', pathname, { as: null });
      expect([origin, pathname, status]).toEqual([http.url, pathname, 200]);
    }
    const { body: code } = await http.api('GET', '/docs/static/page.js', { as: null });
    expect(code).not.toMatch(/https?:\/\//);
  });
});

describe('a stop', () => {
  it('closes connections that are idle or have not asked anything, lets an answer finish, and then ends', async () => {
    const http = await startHttp();
    const inbox = await http.createInbox();
    const id = await http.deliver(inbox, { raw: new Uint8Array(8_000_000) });
    const silent = connect(http.port, '127.0.0.1');
    await new Promise((resolve) => silent.once('connect', resolve));
    const ended = text(silent);
    const slow = await fetch(`${http.url}/v1/inboxes/${inbox.id}/messages/${id}/raw`, {
      headers: { authorization: `Bearer ${inbox.token}` },
    });
    const stopping = http.stop(600_000);
    expect((await slow.arrayBuffer()).byteLength).toBe(8_000_000);
    await ended;
    await stopping;
  });

  it('cuts what is not finished at its deadline', async () => {
    const http = await startHttp();
    const half = connect(http.port, '127.0.0.1');
    half.on('error', () => undefined);
    half.write('POST /v1/inboxes HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n');
    half.write(`Content-Length: 50\r\nAuthorization: Bearer ${http.keys.own}\r\n\r\n{`);
    const closed = new Promise((resolve) => half.once('close', resolve));
    // The server has read the half request when it answers one that came later.
    await http.api('GET', '/healthz', { headers: { connection: 'close' } });
    const stopping = http.stop(5_000);
    await http.clock.untilSleeping();
    await http.clock.advance(5_000);
    await closed;
    await stopping;
  });
});
