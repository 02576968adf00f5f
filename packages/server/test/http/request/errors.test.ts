import { connect } from 'node:net';
import { afterAll, describe, expect, it } from 'vitest';
import { newPlace } from '../openapi/operations.ts';
import { startHttp } from '../start-http.ts';

const http = await startHttp();
const place = await newPlace(http);
afterAll(() => http.stop());

const detail = async (method: string, path: string, body?: unknown, headers = {}): Promise<string> =>
  (await http.api(method, path, { ...(body === undefined ? {} : { body }), headers })).body.detail;

describe('an unknown name', () => {
  it.each([
    ['/v1/inboxes', { ttl: 5 }, '"ttl" is not a known field. Did you mean "ttlMinutes"?'],
    ['/v1/inboxes', { ttlSeconds: 5 }, '"ttlSeconds" is not a known field. Did you mean "ttlMinutes"?'],
    ['/v1/inboxes', { webhook: 'x' }, '"webhook" is not a known field. Did you mean "webhookUrl"?'],
    ['/v1/keys', { name: 'x', expires: 'y' }, '"expires" is not a known field. Did you mean "expiresAt"?'],
  ])('of a body field gets the nearest known one: POST %s %j', async (path, body, expected) => {
    expect(await detail('POST', path, body)).toBe(expected);
  });

  it('within an object names the object', async () => {
    const body = { match: { subjct: 'x', link: { kinds: 'verify' } } };
    expect(await detail('POST', `/v1/inboxes/${place.inbox.id}/wait`, body)).toBe(
      '"subjct" is not a known field of "match". Did you mean "subject"? "kinds" is not a known field of "match.link". Did you mean "kind"?',
    );
  });

  it.each([
    ['?labels=x', '"labels" is not a known query parameter. Did you mean "label.NAME"?'],
    ['?page=2', '"page" is not a known query parameter. Known query parameters are '],
  ])('of a query parameter gets the nearest known one, or all: %s', async (query, expected) => {
    expect(await detail('GET', `/v1/inboxes${query}`)).toContain(expected);
  });

  it('of a query parameter is its path, as it was written', async () => {
    const { body } = await http.api('GET', '/v1/inboxes?a%2Fb~c=1');
    expect(body.errors).toMatchObject([
      { path: 'a/b~c', message: expect.stringMatching(/^"a\/b~c" is not/) },
    ]);
  });

  it('of a query parameter that belongs in the body says so', async () => {
    expect(await detail('POST', '/v1/inboxes?ttlMinutes=5', {})).toBe(
      '"ttlMinutes" is not a known query parameter: this operation takes none. Send fields in the JSON body.',
    );
  });

  it('is one of at most 20 that are reported, and costs little', async () => {
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`ttl${index}`, 1]));
    const answer = await http.api('POST', '/v1/inboxes', { body: many });
    expect(answer.body.errors).toHaveLength(20);
    expect(answer.body.detail).toMatch(/4980 more places are invalid\.$/);
    expect(answer.bytes.length).toBeLessThan(10_000);
  });
});

describe('a path that does not exist', () => {
  it.each([
    '/',
    '/x',
    '/v1',
    '/v1/emails',
    '/metrics/x',
    `/${'a/'.repeat(2_000)}`,
    '/%E0%A4%A',
    '/\u202e',
    '/%22%0a',
    '/v1/inboxes/',
    '/api/v1/inboxes',
  ])('is named, and where the API is described: %s', async (path) => {
    const { status, body } = await http.api('PUT', path, { as: null });
    if (status === 404) expect(body.detail).toMatch(/^Nothing is at the path "[ -~…]{1,150}"\. The API is/);
    else expect([400, 405]).toContain(status);
  });

  it('with that method names the methods that it has', async () => {
    expect(await detail('PUT', '/v1/inboxes/inb_1')).toBe(
      'The path "/v1/inboxes/inb_1" does not support "PUT". Use DELETE, GET, HEAD, PATCH.',
    );
  });
});

describe('an id that is none', () => {
  it.each(['', '/messages', '/messages/msg_1/raw', '/wait'])(
    'is recognized when it is an address: /v1/inboxes/ADDRESS%s',
    async (rest) => {
      const method = rest === '/wait' ? 'POST' : 'GET';
      for (const as of [http.keys.own, place.inbox.token, http.keys.foreign]) {
        const { status, body } = await http.api(method, `/v1/inboxes/ada+x@mayfly.test${rest}`, { as });
        expect(status).toBe(404);
        expect(body.detail).toBe(
          '"ada+x@mayfly.test" is an address, not the id of an inbox. Look up the id with GET /v1/inboxes?address=ada%2Bx%40mayfly.test.',
        );
      }
    },
  );

  it('is recognized when it is the id of something else', async () => {
    expect(await detail('GET', `/v1/inboxes/${place.messageId}`)).toBe(
      `"${place.messageId}" is the id of a message, not of an inbox. List the inboxes of the account with GET /v1/inboxes.`,
    );
    const path = `/v1/inboxes/${place.inbox.id}/messages/${place.inbox.id}`;
    expect(await detail('GET', path)).toMatch(/is the id of an inbox, not of a message\. List the messages/);
  });

  it('never repeats a credential', async () => {
    for (const secret of [http.keys.own, place.inbox.token]) {
      const requests: [string, string, object?][] = [
        ['GET', `/v1/inboxes/${secret}`],
        ['GET', `/v1/${secret}`],
        ['GET', `/v1/inboxes?${secret}=1`],
        ['GET', `/v1/inboxes?limit=${secret}`],
        ['GET', `/v1/inboxes/${place.inbox.id}/messages?since=${secret}`],
        ['POST', '/v1/inboxes', { [secret]: 1 }],
        ['POST', '/v1/inboxes', { localPart: secret }],
        ['POST', '/v1/inboxes', { domain: secret }],
        ['POST', '/v1/inboxes', { labels: { run: [secret] } }],
        ['POST', '/v1/webhooks', { url: secret }],
        ['POST', '/v1/webhooks', { url: `https://x:${secret}@example.com/` }],
      ];
      for (const [method, path, body] of requests) {
        const answer = await http.api(method, path, { ...(body ? { body } : {}) });
        expect(answer.status).toBeGreaterThanOrEqual(400);
        expect(Buffer.from(answer.bytes).toString()).not.toContain(secret.slice(4, 12));
      }
    }
  });
});

describe('a refusal says what to do next:', () => {
  const authenticate =
    'Send "Authorization: Bearer CREDENTIAL" with an API key (mfk_…) or the read token of the inbox (mft_…).';

  it.each([
    [undefined, `The Authorization header is missing. ${authenticate} Programs on the machine of `],
    ['Basic YTpi', `The Authorization header does not have the form "Bearer CREDENTIAL". ${authenticate}`],
    ['mfk_x', `The word "Bearer" is missing before the credential. ${authenticate}`],
    [
      'Bearer mfk_x',
      'The credential is incomplete or mistyped: its checksum is wrong. Copy all of it again.',
    ],
    [
      'Bearer nobodys-chosen-key-000',
      'The API key or token is unknown, revoked or expired. A read token ends with its inbox. Programs on the machine of',
    ],
    [`Bearer ${'x'.repeat(600)}`, 'The Authorization header is longer than 512 characters.'],
  ])('401 for Authorization: %s', async (authorization, expected) => {
    const { status, body } = await http.api('GET', '/v1/inboxes', {
      as: null,
      headers: authorization === undefined ? {} : { authorization },
    });
    expect(status).toBe(401);
    expect(body.detail).toContain(expected);
  });

  it('403 names the credential to use', async () => {
    const path = `/v1/inboxes/${place.inbox.id}`;
    expect((await http.api('DELETE', path, { as: place.inbox.token })).body.detail).toBe(
      'A read token can only read its own inbox. Use an API key for this operation.',
    );
    expect((await http.api('DELETE', path, { as: http.keys.readOnly })).body.detail).toBe(
      'This API key has the scope "read". Use one with the scope "full" for this operation.',
    );
  });

  it('415 names the header to send', async () => {
    const send = (type: string) => detail('POST', '/v1/inboxes', '{}', { 'content-type': type });
    expect(await send('text/plain')).toBe(
      'The Content-Type "text/plain" is not supported. Send the header "Content-Type: application/json".',
    );
    const { port } = http;
    const text = await new Promise<string>((resolve) => {
      const socket = connect(port, '127.0.0.1', () =>
        socket.end(
          `POST /v1/inboxes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${http.keys.own}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`,
        ),
      );
      socket.once('data', (data) => resolve(data.toString()));
    });
    expect(text).toContain('The body has no Content-Type. Send the header');
  });

  it('400 states ranges with their units', async () => {
    const inbox = `/v1/inboxes/${place.inbox.id}`;
    expect(await detail('GET', `${inbox}/messages?wait=-1`)).toBe(
      '"wait" must be from 0 to 60 seconds, not -1.',
    );
    expect(await detail('GET', `${inbox}/messages?wait=61&limit=0`)).toBe(
      '"limit" must be from 1 to 200 entries, not 0. "wait" must be from 0 to 60 seconds, not 61.',
    );
    expect(await detail('POST', `${inbox}/wait`, { timeoutSeconds: 61, count: -1 })).toBe(
      '"count" must be from 0 to 50 messages, not -1. "timeoutSeconds" must be from 0 to 60 seconds, not 61.',
    );
    expect(await detail('POST', '/v1/keys', { name: 'x'.repeat(101), expiresAt: 'tomorrow' })).toBe(
      '"name" must have at most 100 characters; it has 101. "expiresAt" must be an RFC 3339 time such as "2026-03-04T05:06:07Z", not the string "tomorrow".',
    );
    expect(await detail('POST', '/v1/inboxes', [])).toBe('The body must be a JSON object, not an array.');
    const labels = Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`k${index}`, 'v']));
    expect(await detail('POST', '/v1/inboxes', { labels })).toBe(
      '"labels" must have at most 16 entries; it has 17.',
    );
    const filters = Object.keys(labels).map((name) => `label.${name}=v`);
    expect(await detail('DELETE', `/v1/inboxes?${filters.join('&')}`)).toBe(
      'The query must have at most 16 entries; it has 17.',
    );
  });

  it('400 explains a wrong "since"', async () => {
    const list = (since: string) => detail('GET', `/v1/inboxes/${place.inbox.id}/messages?since=${since}`);
    expect(await list('yesterday')).toMatch(/^"since" must be a cursor of this inbox .*, not "yesterday"\.$/);
    expect(await list('1772600767')).toBe(
      '"since" is 1772600767, which looks like seconds since 1970. Send milliseconds: 1772600767000.',
    );
    expect(await list('cur_0_aaaaaaaaaaa')).toMatch(/is not a cursor of this inbox\. Use the "cursor" of/);
  });

  it('422 of a webhook names the address and the setting that allows it', async () => {
    for (const [url, address] of [
      ['http://10.0.0.1/hook', '10.0.0.1/32'],
      ['http://[::1]:3000/', '::1/128'],
    ]) {
      expect(await detail('POST', '/v1/webhooks', { url })).toContain(
        `with MAYFLY_WEBHOOK_ALLOW, for instance ${address}.`,
      );
    }
  });

  it('404 of an id names it', async () => {
    const expected: [string, string, RegExp][] = [
      [
        'GET',
        '/v1/inboxes/x',
        /^No inbox with the id "x" is visible to this credential: it may have been deleted/,
      ],
      ['GET', `/v1/inboxes/${place.inbox.id}/messages/x`, /^No message with the id "x" .* List the messages/],
      ['GET', '/v1/webhooks/x', /^No webhook with the id "x" is visible .* GET \/v1\/webhooks\.$/],
      ['DELETE', '/v1/keys/x', /^No key with the id "x" is visible .* GET \/v1\/keys\.$/],
    ];
    for (const [method, path, text] of expected) expect(await detail(method, path)).toMatch(text);
  });
});
