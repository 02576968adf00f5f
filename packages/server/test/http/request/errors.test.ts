import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, it } from 'vitest';
import { parseJsonBody } from '../../../src/http/request/inputs.ts';
import { newPlace } from '../openapi/operations.ts';
import { startHttp } from '../start-http.ts';

const http = await startHttp();
const place = await newPlace(http);
afterAll(() => http.stop());

const INBOX = `/v1/inboxes/${place.inbox.id}`;
const detail = async (method: string, path: string, body?: unknown, headers = {}): Promise<string> =>
  (await http.api(method, path, { ...(body === undefined ? {} : { body }), headers })).body.detail;

describe('an unknown name', () => {
  it.each([
    ['POST', '/v1/inboxes', { ttl: 5 }, '"ttl" is not a known field. Did you mean "ttlMinutes"?'],
    [
      'POST',
      '/v1/inboxes',
      { ttlSeconds: 5 },
      '"ttlSeconds" is not a known field. Did you mean "ttlMinutes"?',
    ],
    [
      'POST',
      `${INBOX}/wait`,
      { match: { subjct: 'x', link: { kinds: 'verify' } } },
      '"subjct" is not a known field of "match". Did you mean "subject"? "kinds" is not a known field of "match.link". Did you mean "kind"?',
    ],
    [
      'POST',
      `${INBOX}/wait`,
      { match: { link: { url: 'x' } } },
      '"url" is not a known field of "match.link". Known fields are "kind", "href", "text".',
    ],
    [
      'GET',
      '/v1/inboxes?labels=x',
      undefined,
      '"labels" is not a known query parameter. Did you mean "label.NAME"?',
    ],
    [
      'GET',
      '/v1/inboxes?page=2',
      undefined,
      '"page" is not a known query parameter. Known query parameters are "q", "address", "limit", "before", "label.NAME".',
    ],
    [
      'POST',
      '/v1/inboxes?ttlMinutes=5',
      {},
      '"ttlMinutes" is not a known query parameter: this operation takes none. Send fields in the JSON body.',
    ],
  ])('gets the nearest known one, or where it belongs: %s %s %j', async (method, path, body, expected) => {
    expect(await detail(method, path, body)).toBe(expected);
  });

  it('of a query parameter is its path, as it was written', async () => {
    const { body } = await http.api('GET', '/v1/inboxes?a%2Fb~c=1');
    expect(body.errors).toMatchObject([
      { path: 'a/b~c', message: expect.stringMatching(/^"a\/b~c" is not/) },
    ]);
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
        expect([status, body.detail]).toEqual([
          404,
          '"ada+x@mayfly.test" is an address, not the id of an inbox. Look up the id with GET /v1/inboxes?address=ada%2Bx%40mayfly.test.',
        ]);
      }
    },
  );

  it.each([
    [
      'GET',
      `/v1/inboxes/${place.messageId}`,
      /^"msg_\w+" is the id of a message, not of an inbox\. List the inboxes of the account with GET \/v1\/inboxes\.$/,
    ],
    [
      'GET',
      `${INBOX}/messages/${place.inbox.id}`,
      /is the id of an inbox, not of a message\. List the messages/,
    ],
    [
      'GET',
      '/v1/inboxes/x',
      /^No inbox with the id "x" is visible to this credential: it may have been deleted/,
    ],
    ['GET', `${INBOX}/messages/x`, /^No message with the id "x" .* List the messages/],
    ['GET', '/v1/webhooks/x', /^No webhook with the id "x" is visible .* GET \/v1\/webhooks\.$/],
    ['DELETE', '/v1/keys/x', /^No key with the id "x" is visible .* GET \/v1\/keys\.$/],
  ])('is named, and where to find the right one: %s %s', async (method, path, expected) => {
    expect(await detail(method, path)).toMatch(expected);
  });

  it('that is too long is treated as any unknown one', async () => {
    expect((await http.api('GET', `/v1/inboxes/inb_${'0'.repeat(5_000)}`)).body.code).toBe('not_found');
  });

  it('never repeats a credential', async () => {
    for (const secret of [http.keys.own, place.inbox.token]) {
      const requests: [string, string, object?][] = [
        ['GET', `/v1/inboxes/${secret}`],
        ['GET', `/v1/${secret}`],
        ['GET', `/v1/inboxes?${secret}=1`],
        ['GET', `/v1/inboxes?limit=${secret}`],
        ['GET', `${INBOX}/messages?since=${secret}`],
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

  it.each([
    [
      'read token',
      place.inbox.token,
      'A read token can only read its own inbox. Use an API key for this operation.',
    ],
    [
      'key that only reads',
      http.keys.readOnly,
      'This API key has the scope "read". Use one with the scope "full" for this operation.',
    ],
  ])('403 for a %s names the credential to use', async (_what, as, expected) => {
    expect((await http.api('DELETE', INBOX, { as })).body.detail).toBe(expected);
  });

  it('415 names the header to send', async () => {
    expect(await detail('POST', '/v1/inboxes', '{}', { 'content-type': 'text/plain' })).toBe(
      'The Content-Type "text/plain" is not supported. Send the header "Content-Type: application/json".',
    );
    const socket = connect(http.port, '127.0.0.1');
    socket.write(
      `POST /v1/inboxes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${http.keys.own}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`,
    );
    expect(await text(socket)).toContain('The body has no Content-Type. Send the header');
  });

  const labels = Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`k${index}`, 'v']));
  const filters = Object.keys(labels).map((name) => `label.${name}=v`);
  it.each([
    [
      'GET',
      `${INBOX}/messages?wait=61&limit=0`,
      undefined,
      '"limit" must be from 1 to 200 entries, not 0. "wait" must be from 0 to 60 seconds, not 61.',
    ],
    [
      'POST',
      `${INBOX}/wait`,
      { timeoutSeconds: 61, count: -1 },
      '"count" must be from 0 to 50 messages, not -1. "timeoutSeconds" must be from 0 to 60 seconds, not 61.',
    ],
    ['POST', `${INBOX}/wait`, { match: { subject: '' } }, '"match.subject" must not be empty.'],
    [
      'POST',
      `${INBOX}/wait`,
      { match: { link: 5 } },
      '"match.link" must be true or false or an object, not 5.',
    ],
    [
      'POST',
      `${INBOX}/wait`,
      { match: { link: { kind: 'x', href: '' } } },
      '"match.link.kind" must be one of "verify", "reset", "sign-in", "unsubscribe", "other", not the string "x". "match.link.href" must not be empty.',
    ],
    [
      'POST',
      '/v1/keys',
      { name: 'x'.repeat(101), expiresAt: 'tomorrow' },
      '"name" must have at most 100 characters; it has 101. "expiresAt" must be an RFC 3339 time such as "2026-03-04T05:06:07Z", not the string "tomorrow".',
    ],
    ['POST', '/v1/inboxes', [], 'The body must be a JSON object, not an array.'],
    ['POST', '/v1/inboxes', { labels }, '"labels" must have at most 16 entries; it has 17.'],
    [
      'DELETE',
      `/v1/inboxes?${filters.join('&')}`,
      undefined,
      'The query must have at most 16 entries; it has 17.',
    ],
    [
      'GET',
      '/v1/inboxes?label.run=1&label.run=2',
      undefined,
      'The query parameter "label.run" is given 2 times. Give it once.',
    ],
    [
      'GET',
      `${INBOX}/messages?since=1772600767`,
      undefined,
      '"since" is 1772600767, which looks like seconds since 1970. Send milliseconds: 1772600767000.',
    ],
  ])('400 for %s %s %j', async (method, path, body, expected) => {
    const answer = await http.api(method, path, { ...(body && { body }) });
    expect([answer.status, answer.body.detail]).toEqual([400, expected]);
    for (const error of answer.body.errors ?? []) {
      expect(expected).toContain(error.message);
      // The message names the field that the path leads to.
      const name = error.path.replace(/^\//, '').replaceAll('/', '.');
      expect(error.message).toMatch(name === '' ? /^The (?:body|query) / : new RegExp(`"${name}"`));
    }
  });

  it.each([
    ['yesterday', /^"since" must be a cursor of this inbox .*, not "yesterday"\.$/],
    ['cur_0_aaaaaaaaaaa', /is not a cursor of this inbox\. Use the "cursor" of/],
  ])('400 for a "since" of %s', async (since, expected) => {
    expect(await detail('GET', `${INBOX}/messages?since=${since}`)).toMatch(expected);
  });

  it.each([
    ['http://10.0.0.1/hook', '10.0.0.1/32'],
    ['http://[::1]:3000/', '::1/128'],
  ])('422 for a webhook at %s names the address and the setting that allows it', async (url, address) => {
    expect(await detail('POST', '/v1/webhooks', { url })).toContain(
      `with MAYFLY_WEBHOOK_ALLOW, for instance ${address}.`,
    );
  });
});

describe('a body that is not JSON', () => {
  const utf8 = (body: string): Uint8Array => new TextEncoder().encode(body);
  const errorOf = (body: Uint8Array): string => {
    try {
      parseJsonBody(body);
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
    return 'valid';
  };

  it.each([
    ['{"ttlMinutes": 5,}', 'Expected double-quoted property name in JSON at position 17 (line 1 column 18).'],
    [
      '{\n  "ttlMinutes": 5\n  "domain": "x"\n}',
      "Expected ',' or '}' after property value in JSON at position 22 (line 3 column 3).",
    ],
    ["{'a': 1}", "Expected property name or '}' in JSON at position 1 (line 1 column 2)."],
    ['{"a": True}', `Unexpected token 'T', "{"a": True}" is not valid JSON.`],
    ['{"a": "x\ny"}', 'Bad control character in string literal in JSON at position 8 (line 1 column 9).'],
    [' ', 'Unexpected end of JSON input.'],
    // Without the secret part of a credential.
    ['mfk_0123456789', `Unexpected token 'm', "mfk_…" is not valid JSON.`],
  ])('is refused with what is wrong and where: %j', (body, fault) => {
    expect(errorOf(utf8(body))).toBe(`The body is not valid JSON. ${fault}`);
  });

  it('is refused with the first byte that is not UTF-8', () => {
    const body = new Uint8Array([...utf8('{"name": "Gr\u00fc'), 0xfc, ...utf8('n"}')]);
    expect(errorOf(body)).toBe('The body is not valid UTF-8 from byte 14 on. Encode JSON in UTF-8.');
    expect(errorOf(utf8('{"a": "\u00e9').subarray(0, -1))).toMatch(/not valid UTF-8 from byte 7 on/);
  });

  it('costs no stack, however deep it is nested', () => {
    expect(errorOf(utf8(`${'['.repeat(60_000)}x`))).toMatch(/Unexpected token 'x'/);
  });
});
