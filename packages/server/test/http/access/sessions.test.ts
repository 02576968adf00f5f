import { describe, expect, it } from 'vitest';
import { type Answer, httpOfTest, useHttp } from '../start-http.ts';

const HOUR = 60 * 60_000;
/** What a browser adds to the requests of the console. */
const FROM_CONSOLE = { 'sec-fetch-site': 'same-origin' };

const http = useHttp({ console: 'on' });

/** The Cookie header of later requests. */
const cookieOf = ({ status, headers }: Answer): string => {
  expect(status).toBe(204);
  return headers.get('set-cookie')?.split(';')[0] ?? '';
};
const signIn = async (as: string) => cookieOf(await http.api('POST', '/console/session', { as }));

/** A request with a session, as the console sends it. */
const withCookie = (
  cookie: string,
  method: string,
  path: string,
  headers: object = FROM_CONSOLE,
  body?: object,
) => http.api(method, path, { as: null, headers: { cookie, ...headers }, ...(body && { body }) });

describe('a session of the console', () => {
  it('is a cookie that scripts cannot read and other sites do not send', async () => {
    const { headers } = await http.api('POST', '/console/session');
    const cookie = headers.get('set-cookie') ?? '';
    expect(cookie).toMatch(/^mayfly-\d+=mfs_\w{33}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=604800$/);
    expect(cookie).not.toContain(http.keys.own);
  });

  it('is sent over HTTPS only, unless the server is on loopback', async () => {
    const secure = await httpOfTest({ console: 'on', publicUrl: 'https://mail.example.com' });
    const { headers } = await secure.api('POST', '/console/session');
    expect(headers.get('set-cookie')).toMatch(/^__Host-mayfly=mfs_\w+; .*; Secure$/);
  });

  it('shows what its key may do, and no more', async () => {
    const own = await signIn(http.keys.own);
    const inbox = (await withCookie(own, 'POST', '/v1/inboxes', FROM_CONSOLE, {})).body;
    expect(inbox.address).toMatch(/@mayfly\.test$/);
    expect((await withCookie(own, 'GET', '/console/session')).body).toMatchObject({
      scope: 'full',
      account: { id: http.accountId, plan: 'unlimited' },
      inbox: null,
      server: { domains: ['mayfly.test', 'second.test'] },
    });

    const reader = await signIn(http.keys.readOnly);
    expect((await withCookie(reader, 'GET', '/v1/inboxes')).body.inboxes).toHaveLength(1);
    expect(await withCookie(reader, 'POST', '/v1/inboxes', FROM_CONSOLE, {})).toMatchObject({
      status: 403,
      body: { code: 'insufficient_scope' },
    });

    const foreign = await signIn(http.keys.foreign);
    expect((await withCookie(foreign, 'GET', `/v1/inboxes/${inbox.id}`)).status).toBe(404);
  });

  it('of a read token reads that inbox and nothing else', async () => {
    const inbox = await http.createInbox();
    const other = await http.createInbox();
    const cookie = await signIn(inbox.token);
    expect((await withCookie(cookie, 'GET', '/console/session')).body).toMatchObject({
      scope: 'inbox',
      account: null,
      inbox: { id: inbox.id },
    });
    expect((await withCookie(cookie, 'GET', `/v1/inboxes/${inbox.id}/messages`)).status).toBe(200);
    expect((await withCookie(cookie, 'GET', `/v1/inboxes/${other.id}`)).status).toBe(404);
    expect((await withCookie(cookie, 'GET', '/v1/inboxes')).status).toBe(403);
    expect((await withCookie(cookie, 'DELETE', `/v1/inboxes/${inbox.id}`)).status).toBe(403);
    await http.api('DELETE', `/v1/inboxes/${inbox.id}`);
    expect((await withCookie(cookie, 'GET', '/console/session')).status).toBe(401);
  });

  it.each([
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['another port or subdomain of the same site', { 'sec-fetch-site': 'same-site' }],
    ['a page with another origin', { origin: 'http://evil.example' }],
    ['a page on another port', { origin: 'http://127.0.0.1:1' }],
    ['a page without an origin', { origin: 'null' }],
  ])('is refused for every request from %s', async (_, headers) => {
    const cookie = await signIn(http.keys.own);
    const requests = ['POST /v1/inboxes', 'DELETE /console/session', 'GET /v1/inboxes', 'GET /v1/events'];
    for (const request of requests) {
      const [method = '', path = ''] = request.split(' ');
      const { status, body } = await withCookie(cookie, method, path, headers);
      expect([request, status, body.code]).toEqual([request, 403, 'cross_site_request']);
    }
  });

  it('needs a sign that the console sent a request that changes something', async () => {
    const cookie = await signIn(http.keys.own);
    expect((await withCookie(cookie, 'POST', '/v1/inboxes', {})).status).toBe(403);
    expect((await withCookie(cookie, 'POST', '/v1/inboxes', { 'sec-fetch-site': 'none' })).status).toBe(403);
    expect((await withCookie(cookie, 'POST', '/v1/inboxes', { origin: http.url })).status).toBe(201);
    // A link that the user opened, such as a download.
    expect((await withCookie(cookie, 'GET', '/v1/inboxes', { 'sec-fetch-site': 'none' })).status).toBe(200);
  });

  it('does not count beside an Authorization header', async () => {
    const cookie = await signIn(http.keys.own);
    const headers = { cookie, ...FROM_CONSOLE };
    expect((await http.api('GET', '/v1/inboxes', { as: 'mfk_wrong', headers })).status).toBe(401);
    const evil = { cookie, 'sec-fetch-site': 'cross-site' };
    expect((await http.api('GET', '/v1/inboxes', { headers: evil })).status).toBe(200);
  });

  it('is no bearer credential, and makes no further session', async () => {
    const cookie = await signIn(http.keys.own);
    expect((await http.api('GET', '/v1/inboxes', { as: cookie.split('=')[1] ?? '' })).status).toBe(401);
    expect((await withCookie(cookie, 'POST', '/console/session')).status).toBe(401);
  });

  it('ends with signing out, and a stream that it holds open ends too', async () => {
    const cookie = await signIn(http.keys.own);
    const stream = await fetch(`${http.url}/v1/events`, { headers: { cookie, ...FROM_CONSOLE } });
    expect(stream.status).toBe(200);
    const text = stream.text();
    const out = await withCookie(cookie, 'DELETE', '/console/session');
    expect([out.status, out.headers.get('set-cookie')]).toEqual([204, expect.stringContaining('Max-Age=0')]);
    expect(await text).toContain('unknown, revoked or expired');
    expect((await withCookie(cookie, 'GET', '/v1/inboxes')).status).toBe(401);
  });

  it('ends when its key is revoked', async () => {
    const { body: key } = await http.api('POST', '/v1/keys', { body: { name: 'to revoke' } });
    const cookie = await signIn(key.key);
    expect((await withCookie(cookie, 'GET', '/v1/inboxes')).status).toBe(200);
    await http.api('DELETE', `/v1/keys/${key.id}`);
    expect((await withCookie(cookie, 'GET', '/v1/inboxes')).status).toBe(401);
  });

  it('ends after 12 hours without a request, and after 7 days with them', async () => {
    const idle = await signIn(http.keys.own);
    const busy = await signIn(http.keys.own);
    const status = async (cookie: string) => (await withCookie(cookie, 'GET', '/console/session')).status;
    for (let hours = 0; hours < 7 * 24 - 11; hours += 11) {
      expect([hours, await status(busy)]).toEqual([hours, 200]);
      if (hours === 11) expect(await status(idle)).toBe(200);
      http.clock.advance(11 * HOUR);
    }
    expect(await status(idle)).toBe(401);
    http.clock.advance(11 * HOUR);
    expect(await status(busy)).toBe(401);
  });
});

describe('a sign-in link', () => {
  const redeem = (code: string, headers: object = FROM_CONSOLE) =>
    http.api('POST', '/console/session/code', { as: null, headers: { ...headers }, body: { code } });

  it('signs in without a key, with the rights of the newest key', async () => {
    const cookie = cookieOf(await redeem(http.signInCodes.make(http.accountId)));
    expect((await withCookie(cookie, 'GET', '/console/session')).body.scope).toBe('full');
  });

  it('is void a minute after its first use', async () => {
    const code = http.signInCodes.make(http.accountId);
    expect((await redeem(code)).status).toBe(204);
    http.clock.advance(59_000);
    expect((await redeem(code)).status).toBe(204);
    http.clock.advance(1_000);
    expect(await redeem(code)).toMatchObject({ status: 401, body: { code: 'unauthorized' } });
  });

  it('is not redeemed by another site, nor without its whole code', async () => {
    const code = http.signInCodes.make(http.accountId);
    expect((await redeem(code, { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    expect((await redeem(code.slice(0, -1))).status).toBe(401);
    expect((await redeem('')).status).toBe(401);
  });
});

describe('the pages of the console', () => {
  it('are not there when the console is off', async () => {
    const off = await httpOfTest();
    expect((await off.api('GET', '/console/inboxes', { as: null })).status).toBe(404);
    expect((await off.api('POST', '/console/session')).status).toBe(404);
    expect((await off.api('GET', '/', { as: null })).headers.get('location')).toBe('/docs');
  });
});
