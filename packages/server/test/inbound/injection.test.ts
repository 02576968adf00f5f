import { describe, expect, it } from 'vitest';
import type { Answer, Body } from '../support/api-client.ts';
import { type RawClient, rawClient } from '../support/raw-client.ts';
import { appOfTest, TEST_KEY, useApp } from '../support/start-app.ts';

const TYPE = { 'content-type': 'message/rfc822' };
const MAX_BYTES = 3 * 1024 * 1024;
const MAX_MESSAGES = 4;
const MAIL = 'From: Shop <a@b.example>\r\nSubject: injected\r\n\r\nYour code is 482913.\r\n';

const limits = { maxMessageBytes: MAX_BYTES, maxMessagesPerInbox: MAX_MESSAGES };
const app = useApp({
  MAYFLY_SINK: 'on',
  MAYFLY_WEBHOOK_ALLOW: '127.0.0.0/8',
  MAYFLY_PLANS: JSON.stringify({ unlimited: limits }),
});

const pathOf = ({ id }: Body, query = ''): string => `/v1/inboxes/${id}/messages${query}`;
const inject = (inbox: Body, body: string | Uint8Array = MAIL, query = '', type = 'message/rfc822') =>
  app.api('POST', pathOf(inbox, query), { body, headers: { 'content-type': type } });
const listed = async (inbox: Body): Promise<Body[]> => (await app.api('GET', pathOf(inbox))).body.messages;
const outcomeOf = ({ status, body }: Answer) => `${status} ${body.code ?? ''}`.trim();

/** Writes to a connection of its own; resolves when what came back matches. */
async function begun(part: string, until: RegExp): Promise<RawClient> {
  const client = rawClient(Number(new URL(app.url).port));
  client.socket.write(part);
  await client.until(until);
  return client;
}

/** Of an upload that begins when the server says 100. */
function head(path: string, headers: Record<string, string | number>, key = TEST_KEY): string {
  const own = { host: 'localhost', authorization: `Bearer ${key}`, ...TYPE, expect: '100-continue' };
  const lines = Object.entries({ ...own, ...headers }).map(([name, value]) => `${name}: ${value}`);
  return `${[`POST ${path} HTTP/1.1`, ...lines].join('\r\n')}\r\n\r\n`;
}

describe('an injected message', () => {
  it('is answered with 201, its path and itself in full, as it is read afterwards', async () => {
    const inbox = await app.createInbox();
    const answer = await inject(inbox);
    expect(answer.status).toBe(201);
    const path = answer.headers.get('location') ?? '';
    expect(path).toBe(pathOf(inbox, `/${answer.body.id}`));
    expect(answer.body).toMatchObject({
      ...{ inboxId: inbox.id, subject: 'injected', from: { address: 'a@b.example', name: 'Shop' } },
      envelope: { mailFrom: '', rcptTo: [inbox.address], helo: '', remoteAddress: '127.0.0.1', tls: false },
      ...{ codes: [{ value: '482913' }], authentication: null, parseError: null },
    });
    expect((await app.api('GET', path)).body).toEqual(answer.body);
    expect(await listed(inbox)).toMatchObject([{ id: answer.body.id }]);
  });

  it('has the envelope that the query gives, whatever its inbox', async () => {
    const inbox = await app.createInbox();
    const query = `?mailFrom=${encodeURIComponent('App+x@Example.org')}&rcptTo=${encodeURIComponent('"a b"@elsewhere.test')}`;
    const { body } = await inject(inbox, MAIL, query);
    expect(body.envelope).toMatchObject({ mailFrom: 'App+x@Example.org', rcptTo: ['"a b"@elsewhere.test'] });
    expect((await inject(inbox, MAIL, '?mailFrom=')).body.envelope.mailFrom).toBe('');
    const found = await app.api('GET', pathOf(inbox, '?rcptTo=elsewhere'));
    expect(found.body.messages).toMatchObject([{ id: body.id }]);
  });

  it.each([
    ['line feeds only', 'Subject: x\n\nline\nline\n'],
    ['bare carriage returns and NUL', 'Subject: x\r\n\r\na\rb\0c\n.\r\n..\r\n'],
    ['no end of line at its end', 'Subject: x\r\n\r\nend'],
    ['no header', 'just words'],
    ['a line of 100,000 characters', `Subject: x\r\n\r\n${'x'.repeat(100_000)}`],
    ['bytes that are no UTF-8', Buffer.from([0x53, 0x3a, 0xff, 0xfe, 0x0a, 0x0a, 0x80, 0x0d])],
    ['one byte', 'x'],
    ['600 kB', `Subject: x\r\n\r\n${'0123456789abcdef\r\n'.repeat(35_000)}`],
  ])('keeps its bytes as they were sent, below our Received line: %s', async (_what, bytes) => {
    const inbox = await app.createInbox();
    const { status, body } = await inject(inbox, bytes);
    expect(status).toBe(201);
    const raw = Buffer.from((await app.api('GET', pathOf(inbox, `/${body.id}/raw`))).bytes);
    const ours =
      /^Received: from unknown \(\[127\.0\.0\.1\]\)\r\n\tby mayfly\.test with HTTP id [0-9a-f-]{36};\r\n\t[^\r\n]+\r\n/;
    const [line = expect.fail('no Received line')] = ours.exec(raw.toString('latin1')) ?? [];
    expect(raw.subarray(line.length).equals(Buffer.from(bytes))).toBe(true);
    expect(body.size).toBe(raw.length);
  });

  it('ends waits, is in the streams and the order of the account, and is sent to webhooks', async () => {
    const inbox: Body = await app.createInbox({ webhookUrl: 'http://127.0.0.1:9999/hook' });
    const other = await app.createInbox();
    const waiting = app.api('GET', pathOf(inbox, '?wait=20'));
    const explained = app.api('POST', `/v1/inboxes/${inbox.id}/wait`, { body: { match: { code: true } } });
    await app.send({ from: 'a@b.example', to: other.address, text: 'before' });
    const { body } = await inject(inbox);
    await app.send({ from: 'a@b.example', to: other.address, text: 'after' });
    expect((await waiting).body.messages).toMatchObject([{ id: body.id }]);
    expect((await explained).body).toMatchObject({ matched: true, messages: [{ id: body.id }] });
    const stream = await app.api('GET', `/v1/inboxes/${inbox.id}/events`);
    expect(stream.body).toContain(body.id);
    const { messages } = (await app.api('GET', '/v1/messages?limit=3')).body;
    expect(messages.map(({ inboxId }: Body) => inboxId)).toEqual([other.id, inbox.id, other.id]);
    const deliveries = await app.api('GET', `/v1/webhooks/${inbox.webhook.id}/deliveries`);
    expect(deliveries.body.deliveries).toMatchObject([{ messageId: body.id }]);
  });

  it('goes to the sink and to catch-all inboxes as well', async () => {
    const catchAll = await app.createInbox({ catchAll: true });
    const sink = (await app.api('GET', '/v1/inboxes?label.mayfly=sink')).body.inboxes[0];
    for (const inbox of [catchAll, sink]) {
      for (let n = 0; n < MAX_MESSAGES - 1; n++) expect((await inject(inbox)).status).toBe(201);
      expect(await listed(inbox)).toHaveLength(MAX_MESSAGES - 1);
    }
  });
});

describe('an injection is refused', () => {
  it('for a message above the size of the plan, with or without Content-Length, and takes the next', async () => {
    const inbox = await app.createInbox();
    const message = (size: number) =>
      Buffer.concat([Buffer.from('Subject: x\r\n\r\n'), Buffer.alloc(size, 'x')]);
    const exact = message(MAX_BYTES - 14);
    expect((await inject(inbox, exact)).body).toMatchObject({ subject: 'x' });
    const above = await inject(inbox, message(MAX_BYTES - 13));
    expect(outcomeOf(above)).toBe('413 message_too_large');
    expect(above.body.detail).toContain(String(MAX_BYTES));
    const chunked = await fetch(app.url + pathOf(inbox), {
      method: 'POST',
      headers: { ...TYPE, authorization: `Bearer ${TEST_KEY}` },
      body: new ReadableStream({
        start(controller) {
          for (let n = 0; n < 40; n++) controller.enqueue(message(100_000));
          controller.close();
        },
      }),
      duplex: 'half',
    } as RequestInit);
    expect([chunked.status, ((await chunked.json()) as Body).code]).toEqual([413, 'message_too_large']);
    expect((await inject(inbox)).status).toBe(201);
    expect(await listed(inbox)).toHaveLength(2);
  });

  it('by a full inbox, until messages are deleted', async () => {
    const inbox = await app.createInbox();
    for (let n = 0; n < MAX_MESSAGES; n++) expect((await inject(inbox)).status).toBe(201);
    expect(outcomeOf(await inject(inbox))).toBe('409 inbox_full');
    expect(await listed(inbox)).toHaveLength(MAX_MESSAGES);
    await app.api('DELETE', pathOf(inbox));
    expect((await inject(inbox)).status).toBe(201);
  });

  it('without a body, and with another media type', async () => {
    const inbox = await app.createInbox();
    expect(outcomeOf(await inject(inbox, ''))).toBe('422 malformed_message');
    for (const type of ['text/plain', 'application/json', 'message/rfc8222', 'x']) {
      const answer = await inject(inbox, MAIL, '', type);
      expect([type, outcomeOf(answer)]).toEqual([type, '415 unsupported_media_type']);
      expect(answer.body.detail).toContain('Content-Type: message/rfc822');
    }
    const none = await app.api('POST', pathOf(inbox));
    expect(outcomeOf(none)).toBe('415 unsupported_media_type');
    for (const type of ['message/rfc822; charset=utf-8', 'Message/RFC822', 'application/octet-stream'])
      expect((await inject(inbox, MAIL, '', type)).status).toBe(201);
    const elsewhere = await app.api('POST', '/v1/inboxes', { body: MAIL, headers: TYPE });
    expect(outcomeOf(elsewhere)).toBe('415 unsupported_media_type');
    expect(await listed(inbox)).toHaveLength(3);
  });

  it('for parameters that are no addresses', async () => {
    const inbox = await app.createInbox();
    const bad = {
      mailFrom: ['x', 'Shop%20%3Ca@b.example%3E', 'a@b.example%0d%0aX:%20y'],
      rcptTo: ['', 'a@b@c', `${'x'.repeat(255)}@b.example`],
    };
    for (const [name, values] of Object.entries(bad))
      for (const value of values) {
        const answer = await inject(inbox, MAIL, `?${name}=${value}`);
        expect([value, outcomeOf(answer)]).toEqual([value, '400 invalid_request']);
      }
    expect(await listed(inbox)).toEqual([]);
  });

  it('for an inbox that expired, was deleted, or ends while the message is sent', async () => {
    const [expired, deleted] = [await app.createInbox(), await app.createInbox()];
    const ending = await app.createInbox();
    await app.api('POST', `/v1/inboxes/${expired.id}/expire`);
    await app.api('DELETE', `/v1/inboxes/${deleted.id}`);
    expect(outcomeOf(await inject(expired))).toBe('410 inbox_expired');
    expect(outcomeOf(await inject(deleted))).toBe('404 not_found');
    const upload = await begun(head(pathOf(ending), { 'content-length': MAIL.length }), /100 Continue/);
    await app.api('POST', `/v1/inboxes/${ending.id}/expire`);
    upload.socket.write(MAIL);
    expect(await upload.until(/requestId/)).toMatch(/HTTP\/1\.1 410 .*inbox_expired/s);
    upload.socket.destroy();
  });
});

describe('a client that sends Expect: 100-continue', () => {
  it('gets 100 once its request may be served, and then its response', async () => {
    const inbox = await app.createInbox();
    const upload = await begun(head(pathOf(inbox), { 'content-length': MAIL.length }), /\r\n\r\n/);
    expect(upload.text()).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    upload.socket.write(MAIL);
    expect(await upload.until(/HTTP\/1\.1 201/)).toMatch(/HTTP\/1\.1 201 Created/);
    expect(upload.text()).not.toMatch(/connection: close/i);
    upload.socket.destroy();
    expect(await listed(inbox)).toHaveLength(1);
  });

  it.each([
    ['401', 10, 'mfk_wrong'],
    ['413', MAX_BYTES + 1, TEST_KEY],
    ['409', 10, TEST_KEY],
  ])(
    'gets %s instead when its request is refused, and the connection is closed',
    async (status, length, key) => {
      const inbox = await app.createInbox();
      if (status === '409') for (let n = 0; n < MAX_MESSAGES; n++) await inject(inbox);
      const refused = await begun(head(pathOf(inbox), { 'content-length': length }, key), /requestId[^}]*}/);
      expect(refused.text()).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
      expect(refused.text()).toMatch(/^connection: close\r?$/im);
      refused.socket.destroy();
    },
  );

  it('is served at every other operation, too', async () => {
    const body = '{"ttlMinutes": 5}';
    const headers = { 'content-type': 'application/json', 'content-length': body.length };
    const request = await begun(head('/v1/inboxes', headers), /\r\n\r\n/);
    expect(request.text()).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    request.socket.write(body);
    expect(await request.until(/HTTP\/1\.1 201/)).toMatch(/HTTP\/1\.1 201 Created/);
    request.socket.destroy();
  });
});

describe('a slow or broken upload', () => {
  it('leaves nothing behind when its client disconnects', async () => {
    const inbox = await app.createInbox();
    for (const headers of [{ 'content-length': 5_000 }, { 'transfer-encoding': 'chunked' }]) {
      const upload = await begun(head(pathOf(inbox), headers), /100 Continue/);
      upload.socket.write('content-length' in headers ? MAIL : `${MAIL.length.toString(16)}\r\n${MAIL}\r\n`);
      await app.api('GET', pathOf(inbox));
      upload.socket.destroy();
    }
    expect((await inject(inbox)).status).toBe(201);
    expect(await listed(inbox)).toHaveLength(1);
  });

  it('holds no request, and other mail only while the common memory is full', async () => {
    const inbox = await app.createInbox();
    const half = Buffer.alloc(MAX_BYTES / 2, 'x');
    const request = head(pathOf(inbox), { 'content-length': MAX_BYTES });
    const slow = await Promise.all(Array.from({ length: 60 }, () => begun(request, /100 Continue/)));
    // 90 MiB, more than all mails in flight may have.
    for (const upload of slow) upload.socket.write(half);
    const quick = await app.createInbox();
    const sent = app.send({ from: 'a@b.example', to: quick.address, text: 'x' });
    expect((await app.api('GET', '/v1/inboxes?limit=1')).status).toBe(200);
    for (const upload of slow) upload.socket.destroy();
    expect(await sent).toMatch(/^250/);
    expect((await inject(inbox)).status).toBe(201);
    expect(await listed(inbox)).toHaveLength(1);
  });
});

it('a server without SMTP takes injected messages, too', async () => {
  const other = await appOfTest({ MAYFLY_ROLES: 'http' });
  const inbox = await other.createInbox();
  const answer = await other.api('POST', pathOf(inbox), { body: MAIL, headers: TYPE });
  expect([other.smtp.port, answer.status, answer.body.subject]).toEqual([0, 201, 'injected']);
});
