import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { openStream } from '../../support/event-stream.ts';
import { type Answer, httpOfTest, useHttp } from '../start-http.ts';

const PUBLIC = 'https://mail.example.com';
const http = useHttp({ console: 'on', devKey: 'on', publicUrl: PUBLIC, corsOrigins: ['*'] });

const usage = (headers: Record<string, string> = {}): Promise<Answer> =>
  http.api('GET', '/v1/usage', { as: 'dev', headers });

/** Sends a request byte for byte. @returns the status */
async function forHost(host: string, version = '1.1'): Promise<number> {
  const socket = connect(http.port, '127.0.0.1');
  const request = `GET /v1/usage HTTP/${version}\r\nHost: ${host}\r\nAuthorization: Bearer dev\r\n`;
  socket.end(`${request}Connection: close\r\n\r\n`);
  return Number((await text(socket)).split(' ')[1]);
}

describe('the development key', () => {
  it('is the first account, for everything that an API key may do', async () => {
    const { status, body } = await http.api('POST', '/v1/inboxes', { as: 'dev' });
    expect(status).toBe(201);
    expect((await http.api('GET', `/v1/inboxes/${body.id}`)).status).toBe(200);
    const key = await http.api('POST', '/v1/keys', { as: 'dev', body: { name: 'ci', scope: 'full' } });
    expect((await http.api('DELETE', `/v1/keys/${key.body.id}`, { as: 'dev' })).status).toBe(204);
    expect((await http.api('DELETE', `/v1/inboxes/${body.id}`, { as: 'dev' })).status).toBe(204);
  });

  it('makes links to previews, which no credential is needed for', async () => {
    const inbox = await http.createInbox();
    const id = await http.deliverRaw(inbox, 'Content-Type: text/html\r\n\r\n<p>Hello there</p>\r\n');
    const path = `/v1/inboxes/${inbox.id}/messages/${id}/preview`;
    const { body: link } = await http.api('POST', path, { as: 'dev', body: {} });
    const shown = await http.api('GET', new URL(link.url).pathname, { as: null });
    expect([shown.status, String(shown.body).includes('Hello there')]).toEqual([200, true]);
  });

  it('sees nothing of another account', async () => {
    const { id } = await http.createInbox({}, http.keys.foreign);
    for (const path of ['', '/messages', '/export'])
      expect((await http.api('GET', `/v1/inboxes/${id}${path}`, { as: 'dev' })).status).toBe(404);
    const { inboxes } = (await http.api('GET', '/v1/inboxes', { as: 'dev' })).body;
    expect(inboxes.map((one: { id: string }) => one.id)).not.toContain(id);
  });

  it('is not among the keys, and cannot be revoked', async () => {
    const { keys } = (await http.api('GET', '/v1/keys', { as: 'dev' })).body;
    expect(JSON.stringify(keys)).not.toContain('development');
    expect((await http.api('DELETE', '/v1/keys/key_dev', { as: 'dev' })).status).toBe(404);
  });

  it('holds a stream for longer than keys are checked again', async () => {
    const reader = await openStream(`${http.url}/v1/events`, { as: 'dev' });
    await reader.next();
    await http.recheckHeld();
    const inbox = await http.createInbox();
    await http.deliver(inbox);
    while ((await reader.nextEvent())?.data.inboxId !== inbox.id);
    reader.close();
  });

  it('signs in to the console', async () => {
    const { headers } = await http.api('POST', '/console/session', { as: 'dev' });
    const cookie = headers.get('set-cookie')?.split(';')[0] ?? '';
    const sent = { cookie, 'sec-fetch-site': 'same-origin' };
    const { status, body } = await http.api('GET', '/console/session', { as: null, headers: sent });
    expect([status, body.account.id, body.key.name]).toEqual([200, http.accountId, 'development key']);
  });

  const LOCAL = ['localhost', 'localhost:8025', '127.0.0.1:8025', '[::1]:8025', 'mail.example.com'];
  it.each(LOCAL)('is accepted for the host %s', async (host) => {
    expect(await forHost(host)).toBe(200);
  });

  it.each([
    ...['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', '192.168.0.7:8025'],
    ...['0.0.0.0:8025', '169.254.169.254', ''],
  ])('is refused for the host "%s", whose name may be rebound to this machine', async (host) => {
    expect(await forHost(host)).toBe(403);
  });

  it('is refused for a host that is no host at all, and over HTTP/1.0, which nginx sends without any field that names it', async () => {
    expect(await forHost('127.0.0.1@evil.example')).toBe(400);
    expect(await forHost('127.0.0.1:8025', '1.0')).toBe(403);
  });

  it.each([
    ['x-forwarded-for', '203.0.113.7'],
    ['x-forwarded-host', 'localhost'],
    ['x-forwarded-proto', 'https'],
    ['x-real-ip', '127.0.0.1'],
    ['forwarded', 'for=203.0.113.7'],
    ['via', '1.1 proxy.example'],
  ])('is refused with %s: %s, which a proxy adds', async (name, value) => {
    const { status, body } = await usage({ [name]: value });
    expect([status, body.code]).toEqual([403, 'cross_site_request']);
    expect(body.detail).toBe(
      `A request with the header "${name}" of a proxy cannot use the development key, which is for programs of this machine. Send an API key: set MAYFLY_API_KEY for the server and for the client.`,
    );
  });

  it.each([
    ['origin', 'https://evil.example'],
    ['origin', 'http://localhost:3000'],
    ['origin', 'null'],
    ['sec-fetch-site', 'cross-site'],
    ['sec-fetch-site', 'same-site'],
    ['sec-fetch-site', 'none'],
  ])('is refused with %s: %s, also where CORS allows every origin', async (name, value) => {
    const { status, body } = await usage({ [name]: value });
    expect([status, body.code]).toEqual([403, 'cross_site_request']);
    expect((await http.api('GET', '/v1/usage', { headers: { [name]: value } })).status).toBe(200);
  });

  it('is accepted from pages of the server itself', async () => {
    const own = { origin: http.url };
    for (const headers of [own, { ...own, 'sec-fetch-site': 'same-origin' }, { origin: PUBLIC }])
      expect((await usage(headers)).status).toBe(200);
  });

  it.each([
    ['application/x-www-form-urlencoded', 'authorization=Bearer+dev&access_token=dev'],
    ['text/plain', '{"authorization": "Bearer dev"}'],
    [
      'multipart/form-data; boundary=x',
      '--x\r\nContent-Disposition: form-data; name="key"\r\n\r\ndev\r\n--x--',
    ],
  ])('counts in no form of the type %s, which a page may post anywhere', async (type, body) => {
    const headers = { 'content-type': type };
    const path = '/v1/inboxes?authorization=Bearer%20dev&api_key=dev';
    // A browser makes this of a user name in a URL.
    const basic = { ...headers, authorization: `Basic ${btoa('dev:dev')}` };
    for (const sent of [headers, basic])
      expect((await http.api('POST', path, { as: null, headers: sent, body })).status).toBe(401);
  });

  it('is unknown to a server that was not started for development, with what to do', async () => {
    const served = await httpOfTest();
    const { status, body } = await served.api('GET', '/v1/usage', { as: 'dev' });
    expect([status, body.code]).toEqual([401, 'unauthorized']);
    expect(body.detail).toMatch(/only "mayfly dev" accepts.*set MAYFLY_API_KEY/);
  });
});
