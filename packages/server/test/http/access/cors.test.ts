import { describe, expect, it } from 'vitest';
import { ConfigError, parseConfig } from '../../../src/config/config.ts';
import { httpOfTest, type TestHttp, useHttp } from '../start-http.ts';

const APP = 'https://app.example.com';
const OTHER = 'https://other.example.com';

const preflight = ({ api }: TestHttp, origin: string, more: Record<string, string> = {}) => {
  const headers = { origin, 'access-control-request-method': 'POST', ...more };
  return api('OPTIONS', '/v1/inboxes', { as: null, headers });
};
const from = (
  { api, keys }: TestHttp,
  origin: string,
  method = 'GET',
  path = '/v1/inboxes',
  as: string | null = keys.own,
) => api(method, path, { as, headers: { origin } });

const corsHeaders = (headers: Headers) =>
  [...headers.keys()].filter((name) => /^access-control|^vary/.test(name));

it('requests of web pages get no CORS headers by default, and no preflight is answered', async () => {
  const off = await httpOfTest();
  expect(corsHeaders((await from(off, APP)).headers)).toEqual([]);
  const answer = await preflight(off, APP);
  expect([answer.status, corsHeaders(answer.headers)]).toEqual([405, []]);
});

const http = useHttp({ corsOrigins: [APP, 'http://localhost:5173'] });

describe('requests of web pages, with origins in MAYFLY_CORS_ORIGINS', () => {
  it('have their preflight answered without a credential, for every method and every header', async () => {
    const asked = 'authorization,idempotency-key,x-trace';
    const answer = await preflight(http, APP, { 'access-control-request-headers': asked });
    expect([answer.status, answer.bytes.length]).toEqual([204, 0]);
    const allowed = (name: string) => answer.headers.get(`access-control-allow-${name}`);
    expect(allowed('origin')).toBe(APP);
    expect(allowed('methods')).toBe('GET, HEAD, POST, PUT, PATCH, DELETE');
    expect(allowed('headers')).toBe(asked);
    expect(answer.headers.get('vary')).toBe('Origin');
    expect(Number(answer.headers.get('access-control-max-age'))).toBeGreaterThan(0);
    expect(answer.headers.get('x-quota-remaining')).toBeNull();
  });

  it('may read the response and its headers', async () => {
    const { status, headers } = await from(http, APP, 'POST');
    expect([status, headers.get('access-control-allow-origin')]).toEqual([201, APP]);
    const exposed = headers.get('access-control-expose-headers')?.split(', ');
    for (const name of ['location', 'x-request-id', 'x-quota-remaining']) {
      expect(headers.has(name)).toBe(true);
      expect(exposed).toContain(name);
    }
    expect(exposed).toEqual(expect.arrayContaining(['ratelimit', 'ratelimit-policy', 'retry-after', 'etag']));
  });

  it.each([
    ['a missing credential', 'GET', '/v1/inboxes', null, 401],
    ['an unknown path', 'GET', '/v1/nothing', undefined, 404],
    ['an unknown method', 'PUT', '/v1/inboxes', undefined, 405],
    ['a path that cannot be decoded', 'GET', '/%zz', undefined, 400],
    ['an unknown inbox', 'GET', '/v1/inboxes/inb_nothing', undefined, 404],
  ] as const)('may read an error, too: %s', async (_what, method, path, as, status) => {
    const answer = await from(http, APP, method, path, as);
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([status, APP]);
    expect(answer.headers.get('vary')).toBe('Origin');
  });

  it('may follow a stream', async () => {
    const { headers } = await from(http, 'http://localhost:5173', 'GET', '/v1/events');
    expect(headers.get('access-control-allow-origin')).toBe('http://localhost:5173');
  });

  it.each([
    ...[OTHER, 'https://app.example.com.evil.example', 'http://app.example.com'],
    ...['https://app.example.com:8443', 'null', ''],
  ])('are not allowed to the origin "%s"', async (origin) => {
    const answer = await from(http, origin);
    expect(corsHeaders(answer.headers)).toEqual(['vary']);
    const refused = await preflight(http, origin);
    expect([refused.status, corsHeaders(refused.headers)]).toEqual([405, ['vary']]);
  });

  it('that are of no page still say that they depend on the origin', async () => {
    const answer = await http.api('GET', '/v1/inboxes');
    expect([answer.status, answer.headers.get('vary')]).toEqual([200, 'Origin']);
  });
});

it.each([
  ['*', [APP, OTHER, 'null'], '*'],
  [APP, [APP], APP],
])(
  'with MAYFLY_CORS_ORIGINS=%s requests of %j are allowed, without cookies',
  async (setting, origins, allowed) => {
    const open = await httpOfTest({ corsOrigins: [setting] });
    for (const origin of origins) {
      for (const { headers } of [await preflight(open, origin), await from(open, origin)]) {
        expect(headers.get('access-control-allow-origin')).toBe(allowed);
        expect(headers.get('access-control-allow-credentials')).toBeNull();
      }
    }
  },
);

describe('MAYFLY_CORS_ORIGINS', () => {
  const parse = (value: string) => parseConfig({ MAYFLY_CORS_ORIGINS: value }).corsOrigins;
  it.each([
    ['', []],
    ['*', ['*']],
    [`${APP}, http://localhost:5173`, [APP, 'http://localhost:5173']],
    ['http://[::1]:3000', ['http://[::1]:3000']],
    ['chrome-extension://abc,capacitor://x', ['chrome-extension://abc', 'capacitor://x']],
  ])('may be "%s"', (value, origins) => {
    expect(parse(value)).toEqual(origins);
  });

  it.each([
    ['https://app.example.com/', / Did you mean "https:\/\/app\.example\.com"\?/],
    ['https://app.example.com/login', / Did you mean "https:\/\/app\.example\.com"\?/],
    ['https://app.example.com:443', / Did you mean "https:\/\/app\.example\.com"\?/],
    ['https://App.example.com', / Did you mean "https:\/\/app\.example\.com"\?/],
    ['app.example.com', /"app\.example\.com" is not an origin/],
    ['https://*.example.com', /is not an origin/],
    [`*, ${APP}`, /"\*" is not an origin/],
    ['null', /"null" is not an origin/],
  ])('may not be "%s", and the error says what may', (value, message) => {
    expect(() => parse(value)).toThrow(ConfigError);
    expect(() => parse(value)).toThrow(message);
  });
});
