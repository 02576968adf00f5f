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

/** Sends a request such as `POST INBOX/wait {"count": 1}`, where INBOX is the path of an inbox. */
function send(request: string, as?: string) {
  const [, method = '', path = '', body] = /^(\S+) (\S+)(?: (.*))?$/.exec(request) ?? [];
  const headers = body === undefined ? {} : { 'content-type': 'application/json' };
  const target = path.replace('INBOX', INBOX).replace('MESSAGE', place.messageId);
  return http.api(method, target, { headers, ...(body && { body }), ...(as && { as }) });
}
const detail = async (request: string, as?: string): Promise<string> => (await send(request, as)).body.detail;

const many = (count: number, one: (n: number) => string) => Array.from({ length: count }, (_, n) => one(n));
const LABELS = many(17, (n) => `"k${n}": "v"`).join();
const LABEL_FILTERS = many(17, (n) => `label.k${n}=v`).join('&');

describe('a request that is invalid is rejected with 400, and each place with what it must be', () => {
  it.each(
    Object.entries({
      'POST /v1/inboxes {"ttl": 5}': '"ttl" is not a known field. Did you mean "ttlMinutes"?',
      'POST /v1/inboxes {"ttlSeconds": 5}': '"ttlSeconds" is not a known field. Did you mean "ttlMinutes"?',
      'POST INBOX/wait {"match": {"subjct": "x", "link": {"kinds": "verify"}}}':
        '"subjct" is not a known field of "match". Did you mean "subject"? "kinds" is not a known field of "match.link". Did you mean "kind"?',
      'POST INBOX/wait {"match": {"link": {"url": "x"}}}':
        '"url" is not a known field of "match.link". Known fields are "kind", "href", "text".',
      'GET /v1/inboxes?labels=x': '"labels" is not a known query parameter. Did you mean "label.NAME"?',
      'GET /v1/inboxes?page=2':
        '"page" is not a known query parameter. Known query parameters are "q", "address", "limit", "before", "label.NAME".',
      'GET /v1/inboxes?a%2Fb~c=1':
        '"a/b~c" is not a known query parameter. Known query parameters are "q", "address", "limit", "before", "label.NAME".',
      'POST /v1/inboxes?ttlMinutes=5 {}':
        '"ttlMinutes" is not a known query parameter: this operation takes none. Send fields in the JSON body.',
      'GET INBOX/messages?wait=61&limit=0':
        '"limit" must be from 1 to 200 entries, not 0. "wait" must be from 0 to 60 seconds, not 61.',
      'POST INBOX/wait {"timeoutSeconds": 61, "count": -1}':
        '"count" must be from 0 to 50 messages, not -1. "timeoutSeconds" must be from 0 to 60 seconds, not 61.',
      'POST INBOX/wait {"match": {"subject": ""}}': '"match.subject" must not be empty.',
      'POST INBOX/wait {"match": {"link": 5}}': '"match.link" must be true or false or an object, not 5.',
      'POST INBOX/wait {"match": {"link": {"kind": "x", "href": ""}}}':
        '"match.link.kind" must be one of "verify", "reset", "sign-in", "unsubscribe", "other", not the string "x". "match.link.href" must not be empty.',
      [`POST /v1/keys {"name": "${'x'.repeat(101)}", "expiresAt": "tomorrow"}`]:
        '"name" must have at most 100 characters; it has 101. "expiresAt" must be an RFC 3339 time such as "2026-03-04T05:06:07Z", not the string "tomorrow".',
      'POST /v1/inboxes []': 'The body must be a JSON object, not an array.',
      [`POST /v1/inboxes {"labels": {${LABELS}}}`]: '"labels" must have at most 16 entries; it has 17.',
      [`DELETE /v1/inboxes?${LABEL_FILTERS}`]: 'The query must have at most 16 entries; it has 17.',
      'GET /v1/inboxes?label.run=1&label.run=2':
        'The query parameter "label.run" is given 2 times. Give it once.',
      'GET INBOX/messages?since=1772600767':
        '"since" is 1772600767, which looks like seconds since 1970. Send milliseconds: 1772600767000.',
    }),
  )('%s', async (request, expected) => {
    const { status, body } = await send(request);
    expect([status, body.detail]).toEqual([400, expected]);
    for (const error of body.errors ?? []) {
      expect(expected).toContain(error.message);
      // The message names the field that the path leads to; a query parameter is its own path.
      const last = request.startsWith('POST') ? error.path.split('/').at(-1) : error.path;
      expect(error.message).toMatch(last ? new RegExp(`[".]${last}"`) : /^The (?:body|query) /);
    }
  });

  it('reports at most 20 places, and costs little', async () => {
    const { body, bytes } = await send(`POST /v1/inboxes {${many(5_000, (n) => `"ttl${n}": 1`).join()}}`);
    expect(body.errors).toHaveLength(20);
    expect(body.detail).toMatch(/4980 more places are invalid\.$/);
    expect(bytes.length).toBeLessThan(10_000);
  });
});

describe('a path that does not exist', () => {
  it.each([
    ...['/', '/x', '/v1', '/v1/emails', '/metrics/x', `/${'a/'.repeat(2_000)}`, '/%E0%A4%A', '/\u202e'],
    ...['/%22%0a', '/v1/inboxes/', '/api/v1/inboxes'],
  ])('is named, and where the API is described: %s', async (path) => {
    const { status, body } = await http.api('PUT', path, { as: null });
    if (status === 404) expect(body.detail).toMatch(/^Nothing is at the path "[ -~…]{1,150}"\. The API is/);
    else expect([400, 405]).toContain(status);
  });

  it('with that method names the methods that it has', async () => {
    expect(await detail('PUT /v1/inboxes/inb_1')).toBe(
      'The path "/v1/inboxes/inb_1" does not support "PUT". Use DELETE, GET, HEAD, PATCH.',
    );
  });
});

describe('an id that is none', () => {
  it.each(['GET ', 'GET /messages', 'GET /messages/msg_1/raw', 'POST /wait'])(
    'is recognized when it is an address: %s',
    async (operation) => {
      const request = operation.replace(' ', ' /v1/inboxes/ada+x@mayfly.test');
      for (const as of [http.keys.own, place.inbox.token, http.keys.foreign]) {
        const { status, body } = await send(request, as);
        expect([status, body.detail]).toEqual([
          404,
          '"ada+x@mayfly.test" is an address, not the id of an inbox. Look up the id with GET /v1/inboxes?address=ada%2Bx%40mayfly.test.',
        ]);
      }
    },
  );

  it.each(
    Object.entries({
      'GET /v1/inboxes/MESSAGE':
        /^"msg_\w+" is the id of a message, not of an inbox\. List the inboxes of the account with GET \/v1\/inboxes\.$/,
      [`GET INBOX/messages/${place.inbox.id}`]: /is the id of an inbox, not of a message\. List the messages/,
      'GET /v1/inboxes/x':
        /^No inbox with the id "x" is visible to this credential: it may have been deleted/,
      'GET INBOX/messages/x': /^No message with the id "x" .* List the messages/,
      'GET /v1/webhooks/x': /^No webhook with the id "x" is visible .* GET \/v1\/webhooks\.$/,
      'DELETE /v1/keys/x': /^No key with the id "x" is visible .* GET \/v1\/keys\.$/,
      [`GET /v1/inboxes/inb_${'0'.repeat(1_001)}`]:
        /^The path has a part of more than 1000 characters\. No id is/,
    }),
  )('is named, and where to find the right one: %s', async (request, expected) => {
    expect(await detail(request)).toMatch(expected);
  });

  it('never repeats a credential', async () => {
    for (const secret of [http.keys.own, place.inbox.token]) {
      const requests = [
        ...[`GET /v1/inboxes/${secret}`, `GET /v1/${secret}`, `GET /v1/inboxes?${secret}=1`],
        ...[`GET /v1/inboxes?limit=${secret}`, `GET INBOX/messages?since=${secret}`],
        ...[`{"${secret}": 1}`, `{"localPart": "${secret}"}`, `{"domain": "${secret}"}`].map(
          (body) => `POST /v1/inboxes ${body}`,
        ),
        `POST /v1/inboxes {"labels": {"run": ["${secret}"]}}`,
        ...[secret, `https://x:${secret}@example.com/`].map((url) => `POST /v1/webhooks {"url": "${url}"}`),
      ];
      for (const request of requests) {
        const answer = await send(request);
        expect(answer.status).toBeGreaterThanOrEqual(400);
        expect(Buffer.from(answer.bytes).toString()).not.toContain(secret.slice(4, 12));
      }
    }
  });
});

describe('a refusal says what to do next:', () => {
  const authenticate =
    'Send "Authorization: Bearer CREDENTIAL" with an API key (mfk_…) or the read token of the inbox (mft_…).';

  it.each(
    Object.entries({
      none: `The Authorization header is missing. ${authenticate} Programs on the machine of `,
      'Basic YTpi': `The Authorization header does not have the form "Bearer CREDENTIAL". ${authenticate}`,
      mfk_x: `The word "Bearer" is missing before the credential. ${authenticate}`,
      'Bearer mfk_x':
        'The credential is incomplete or mistyped: its checksum is wrong. Copy all of it again.',
      'Bearer nobodys-chosen-key-000':
        'The API key or token is unknown, revoked or expired. A read token ends with its inbox. Programs on the machine of',
      [`Bearer ${'x'.repeat(600)}`]: 'The Authorization header is longer than 512 characters.',
    }),
  )('401 for Authorization: %s', async (authorization, expected) => {
    const headers = authorization === 'none' ? {} : { authorization };
    const { status, body } = await http.api('GET', '/v1/inboxes', { as: null, headers });
    expect(status).toBe(401);
    expect(body.detail).toContain(expected);
  });

  it.each([
    [place.inbox.token, 'A read token can only read its own inbox. Use an API key for this operation.'],
    [
      http.keys.readOnly,
      'This API key has the scope "read". Use one with the scope "full" for this operation.',
    ],
  ])('403 names the credential to use', async (as, expected) => {
    expect(await detail('DELETE INBOX', as)).toBe(expected);
  });

  it('415 names the header to send', async () => {
    const headers = { 'content-type': 'text/plain' };
    expect((await http.api('POST', '/v1/inboxes', { body: '{}', headers })).body.detail).toBe(
      'The Content-Type "text/plain" is not supported. Send the header "Content-Type: application/json".',
    );
    const socket = connect(http.port, '127.0.0.1');
    socket.write(
      `POST /v1/inboxes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${http.keys.own}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`,
    );
    expect(await text(socket)).toContain('The body has no Content-Type. Send the header');
  });

  it.each([
    ['GET INBOX/messages?since=yesterday', /^"since" must be a cursor of this inbox .*, not "yesterday"\.$/],
    ['GET INBOX/messages?since=cur_0_aaaaaaaaaaa', /is not a cursor of this inbox\. Use the "cursor" of/],
    [
      'POST /v1/webhooks {"url": "http://10.0.0.1/x"}',
      /MAYFLY_WEBHOOK_ALLOW, for instance 10\.0\.0\.1\/32\./,
    ],
    ['POST /v1/webhooks {"url": "http://[::1]:3000/"}', /MAYFLY_WEBHOOK_ALLOW, for instance ::1\/128\./],
  ])('%s', async (request, expected) => {
    expect(await detail(request)).toMatch(expected);
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
