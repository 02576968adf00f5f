import { beforeAll, describe, expect, it } from 'vitest';
import { inboxAt } from '../../store/builders.ts';
import { zipOf } from '../../support/recording-archive.ts';
import { type Answer, type Body, httpOfTest, type TestHttp, useHttp } from '../start-http.ts';
import { everyOperation, newPlace, type Place } from './operations.ts';

const NO_INDEX = await zipOf({ 'a.eml': '' });

const http = useHttp();
const limited = useHttp({}, 'free', { free: { requestsPerMonth: 150 } });
let place: Place;
let examples: Body;
beforeAll(async () => {
  place = await newPlace(http);
  const { body } = await http.api('GET', '/openapi.json', { as: null });
  examples = Object.values(body.components.examples).map((example: Body) => example.value);
});

/** What differs between a real error and its example: quoted values, numbers, times, addresses. */
const shapeOf = (detail: string): string =>
  detail.replaceAll(/"[^"]*"/g, '"…"').replaceAll(/[\d:.T-]*\d[\d:.Z]*/g, '0');

const inbox = (): string => `/v1/inboxes/${place.inbox.id}`;
const message = (): string => `${inbox()}/messages/${place.messageId}`;
const idempotent = { headers: { 'idempotency-key': 'one' } };

const MESSAGE = 'Subject: x\r\n\r\nx\r\n';

async function inject(on: TestHttp, id: string, body: string): Promise<Answer> {
  await on.clock.advance(10_000);
  const headers = { 'content-type': 'message/rfc822' };
  return on.api('POST', `/v1/inboxes/${id}/messages`, { body, headers });
}

/** Repeats a request, each so long after the one before, until it is refused. */
async function untilRefused(method: string, path: string, pauseMs: number): Promise<Answer> {
  for (;;) {
    await limited.clock.advance(pauseMs);
    const answer = await limited.api(method, path);
    if (answer.status >= 400) return answer;
  }
}

/** A request for each example of the document that a test can make fail that way. */
const PROVOKED: Record<string, () => Promise<Answer>> = {
  invalid_request: () => http.api('POST', '/v1/inboxes', { body: { ttlMinute: 5 } }),
  malformed_json: () => http.api('POST', '/v1/inboxes', { body: '{"a": 1,}' }),
  invalid_since: () => http.api('GET', `${inbox()}/messages?since=x`),
  unauthorized: () => http.api('GET', '/v1/inboxes', { as: null }),
  insufficient_scope: () => http.api('DELETE', inbox(), { as: place.inbox.token }),
  not_found: () => http.api('GET', '/v1/inboxes/inb_0'),
  inbox_expired: async () => {
    const { id } = await http.createInbox();
    await http.api('POST', `/v1/inboxes/${id}/expire`);
    return http.api('GET', `/v1/inboxes/${id}`);
  },
  inbox_full: async () => {
    const inbox = await limited.createInbox();
    for (let n = 0; n < 50; n++) await limited.deliver(inbox);
    return inject(limited, inbox.id, MESSAGE);
  },
  malformed_message: () => inject(http, place.inbox.id, ''),
  malformed_recording: () =>
    http.api('POST', '/v1/inboxes/import', {
      body: NO_INDEX,
      headers: { 'content-type': 'application/zip' },
    }),
  message_too_large: async () => {
    const { id } = await limited.createInbox();
    return inject(limited, id, `${MESSAGE}${'x'.repeat(5 * 1024 * 1024)}`);
  },
  permanent_inbox: async () => {
    const sink = inboxAt({ kind: 'sink', createdAt: http.clock.now() });
    await http.store.inboxes.create(http.accountId, sink, 1_000, null);
    return http.api('POST', `/v1/inboxes/${sink.id}/expire`);
  },
  payload_too_large: () => http.api('POST', '/v1/inboxes', { body: 'x'.repeat(70_000) }),
  unsupported_media_type: () =>
    http.api('POST', '/v1/inboxes', { body: '{}', headers: { 'content-type': 'text/plain' } }),
  range_not_satisfiable: () =>
    http.api('GET', `${message()}/attachments/${place.attachmentId}`, { headers: { range: 'bytes=999-' } }),
  address_taken: async () => {
    const body = { localPart: 'taken-by-an-example' };
    await http.api('POST', '/v1/inboxes', { body });
    return http.api('POST', '/v1/inboxes', { body });
  },
  idempotency_key_reused: async () => {
    await http.api('POST', '/v1/inboxes', { body: {}, ...idempotent });
    return http.api('POST', '/v1/inboxes', { body: { ttlMinutes: 3 }, ...idempotent });
  },
  last_key: async () => {
    const { body } = await http.api('GET', '/v1/keys', { as: http.keys.foreign });
    return http.api('DELETE', `/v1/keys/${body.keys[0].id}`, { as: http.keys.foreign });
  },
  limit_reached: () => untilRefused('POST', '/v1/inboxes', 10_000),
  rate_limited: () => untilRefused('GET', '/v1/domains', 0),
  quota_exceeded: () => untilRefused('GET', '/v1/domains', 1_000),
  webhook_disabled: async () => {
    const path = `/v1/webhooks/${place.webhookId}`;
    await http.api('PATCH', path, { body: { enabled: false } });
    return http.api('POST', `${path}/test`);
  },
  webhook_url_refused: () => http.api('POST', '/v1/webhooks', { body: { url: 'http://10.0.0.5/' } }),
};

/** Examples that no request can provoke here, with the reason. */
const NOT_PROVOKED: Record<string, string> = {
  idempotency_in_progress: 'the embedded store lets the second request wait for the first',
  internal_error: 'a defect',
  unavailable: 'the storage has to fail; test/system/durability/full-disk.long.test.ts',
  storage_damaged: 'the file has to be damaged; test/system/durability/damage.long.test.ts',
};

describe('the examples of errors in the OpenAPI document', () => {
  it('cover every code that they are made for', () => {
    const codes = new Set(examples.map(({ code }: Body) => code));
    expect([...codes].toSorted()).toEqual(Object.keys({ ...PROVOKED, ...NOT_PROVOKED }).toSorted());
  });

  it.each(Object.entries(PROVOKED))('are what the server responds: %s', async (code, provoke) => {
    const example = examples.find((one: Body) => one.code === code);
    const { status, body } = await provoke();
    expect([status, body.code, body.detail]).toEqual([body.status, code, expect.any(String)]);
    const { detail: _, requestId, errors, ...same } = body;
    for (const name of Object.keys(same).filter((one) => one !== 'expiredAt'))
      expect(example[name]).toEqual(body[name]);
    // A literal address of a webhook is refused with another beginning than a host name.
    const ends = code === 'webhook_url_refused' ? /Webhooks are sent.*/ : /.*/;
    const shape = (text: string) => shapeOf(ends.exec(text)?.[0] ?? '');
    expect(shape(example.detail)).toBe(shape(body.detail));
  });
});

it('an account with limits gets every described header, also with 429', async () => {
  const http = await httpOfTest({}, 'free');
  const { responses } = everyOperation().operations.find(({ id }) => id === 'listInboxes') ?? expect.fail();
  for (let status = 200; status === 200; ) {
    const answer = await http.api('GET', '/v1/inboxes');
    status = answer.status;
    for (const header of Object.keys(responses[status].headers))
      expect(answer.headers.get(header), `${status} ${header}`).toBeTruthy();
  }
});
