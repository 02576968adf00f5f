import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startApp, TEST_KEY, type TestApp } from '../../server/test/support/start-app.ts';
import { Mayfly } from '../src/index.ts';

let app: TestApp;
let mayfly: Mayfly;
const paths: string[] = [];
beforeAll(async () => {
  app = await startApp();
  mayfly = new Mayfly({ url: app.url, apiKey: TEST_KEY, onRequest: ({ path }) => paths.push(path) });
});
afterAll(() => app.stop());

it('returns a message that is too large for the result of a wait in full', async () => {
  const inbox = await mayfly.inboxes.create();
  const text = `Your code is 482913.\n${'a line of a long text\n'.repeat(150_000)}`;
  await app.send({ from: 'no-reply@shop.example', to: inbox.address, subject: 'Large', text });
  const plain = await inbox.waitForMessage({ subject: 'Large' });
  expect(plain.text?.length).toBeGreaterThan(3_000_000);
  expect(plain.truncated).toBeUndefined();
  // A condition that is checked here sees the whole text, too.
  const checked = await inbox.waitForMessage({ text: /a line of a long text\s*$/ }, { since: 'start' });
  expect(checked.id).toBe(plain.id);
});

it('holds one request for a wait of a part of a second', async () => {
  const inbox = await mayfly.inboxes.create();
  paths.length = 0;
  await inbox.expectSilence({}, { forMs: 300 });
  expect(paths).toEqual([`/v1/inboxes/${inbox.id}/wait`]);
});

it.each([
  ['how long earlier requests of a wait were held', { waitId: 'wai_1' }, expect.any(Number)],
  ['nothing of that to servers that do not know the field', {}, undefined],
])('tells the server %s', async (_, known, waited) => {
  const bodies: { waitedSeconds?: number }[] = [];
  const server = createServer(async (request, response) => {
    bodies.push((await json(request)) as { waitedSeconds?: number });
    const result = { matched: bodies.length > 1, messages: [], cursor: 'cur_1', ...known };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(result));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const client = new Mayfly({ url: `http://127.0.0.1:${port}`, apiKey: TEST_KEY });
  await client.inbox('inb_1').waitForMessages(1, {}, { timeoutMs: 60_000 });
  server.close();
  server.closeAllConnections();
  expect(bodies.map(({ waitedSeconds }) => waitedSeconds)).toEqual([undefined, waited]);
});

it.each([['30s'], [Number.NaN], [-1]])('refuses %s as a time to wait', async (timeoutMs) => {
  const inbox = await mayfly.inboxes.create();
  await expect(inbox.waitForMessage({}, { timeoutMs: timeoutMs as number })).rejects.toThrow(
    /"timeoutMs" must be a number of milliseconds, not /,
  );
});

it('refuses options that would be ignored, with what to write instead', async () => {
  const inbox = await mayfly.inboxes.create();
  const wrong = (options: unknown) => options as { forMs: number; timeoutMs?: number };
  await expect(inbox.waitForMessage({}, wrong(100))).rejects.toThrow(
    'The options of a wait must be an object such as { timeoutMs: 5000 }, not 100.',
  );
  await expect(inbox.waitForMessage({}, wrong({ timeout: 100 }))).rejects.toThrow(
    '"timeout" is not an option of a wait. Options are "timeoutMs", "since", "signal"',
  );
  for (const options of [undefined, 100, { timeoutMs: 100 }])
    await expect(inbox.expectSilence({}, wrong(options))).rejects.toThrow('such as { forMs: 2000 }');
});

it('takes a pattern of a code as text too, and names it in the explanation', async () => {
  const inbox = await mayfly.inboxes.create();
  await app.send({ from: 'a@shop.example', to: inbox.address, subject: 'Ticket', text: 'Ticket AB-12' });
  const pattern = 'Ticket (\\S+)' as unknown as RegExp;
  expect(await inbox.waitForCode({ pattern })).toBe('AB-12');
  await expect(
    inbox.waitForCode({ pattern: /Order (\S+)/ }, { timeoutMs: 0, since: 'start' }),
  ).rejects.toThrow(
    /No mail with a code like \/Order \(\\S\+\)\/ reached[\s\S]*code is "no code like \/Order/,
  );
});

it.each([
  ['http://127.0.0.1:8025/v1', 'x', /"http:\/\/127.0.0.1:8025\/v1" is not the URL of a server/],
  ['http://user@127.0.0.1:8025', 'x', /is not the URL of a server/],
  ['http://127.0.0.1:8025', '"quoted"', /The API key is malformed/],
])('refuses %s with the key %s before any request', (url, apiKey, message) => {
  expect(() => new Mayfly({ url, apiKey })).toThrow(message);
});

it('names the server that redirects, and sends it nothing', async () => {
  const fetch = async () =>
    new Response(null, { status: 301, headers: { location: 'https://mail.example/v1' } });
  const redirected = new Mayfly({ url: 'http://mail.example', apiKey: TEST_KEY, fetch });
  await expect(redirected.usage()).rejects.toThrow(
    /redirects to https:\/\/mail.example\/v1: set MAYFLY_URL to the server itself/,
  );
});

it('imports the recording of an inbox that it exported', async () => {
  const inbox = await mayfly.inboxes.create();
  const body = 'Subject: Recorded\r\n\r\nYour code is 482913.';
  await mayfly.call('POST /v1/inboxes/{id}/messages', { path: { id: inbox.id }, body });
  const recording = await mayfly.call('GET /v1/inboxes/{id}/export', { path: { id: inbox.id } });
  const { id, token } = await mayfly.call('POST /v1/inboxes/import', {
    body: recording,
    query: { speed: 10 },
  });
  expect(await mayfly.inbox(id, token).waitForCode({ subject: 'recorded' })).toBe('482913');
});
