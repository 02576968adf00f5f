import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { startApp, TEST_KEY, type TestApp } from '../../server/test/support/start-app.ts';
import { Inbox, Mayfly, type WaitTimeoutError } from '../src/index.ts';

let app: TestApp;
let mayfly: Mayfly;
const paths: string[] = [];
beforeAll(async () => {
  app = await startApp();
  mayfly = new Mayfly({ url: app.url, apiKey: TEST_KEY, onRequest: ({ path }) => paths.push(path) });
});
afterAll(() => app.stop());

it('returns a message that is too large for the result of a wait in full', async () => {
  const inbox = await mayfly.createInbox();
  const text = `Your code is 482913.\n${'a line of a long text\n'.repeat(150_000)}`;
  await app.send({ from: 'no-reply@shop.example', to: inbox.address, subject: 'Large', text });
  const plain = await inbox.waitForMessage({ subject: 'Large' });
  expect(plain.text?.length).toBeGreaterThan(3_000_000);
  expect(plain.truncated).toBeUndefined();
  // A condition that is checked here sees the whole text, too.
  const checked = await inbox.waitForMessage({ text: /a line of a long text\s*$/, since: 'start' });
  expect(checked.id).toBe(plain.id);
});

it('holds one request for a wait of a part of a second', async () => {
  const inbox = await mayfly.createInbox();
  paths.length = 0;
  await inbox.expectSilence({ within: 300 });
  expect(paths).toEqual([`/v1/inboxes/${inbox.id}/wait`]);
});

it.each([['30s'], [Number.NaN], [-1]])('refuses %s as a time to wait', async (timeout) => {
  const inbox = await mayfly.createInbox();
  await expect(inbox.waitForMessage({ timeout: timeout as number })).rejects.toThrow(
    /"timeout" must be a number of milliseconds, not /,
  );
});

it('names what the server keeps of a wait that failed', async () => {
  const answer = { matched: false, messages: [], cursor: 'cur_1', waitId: 'wai_1' };
  const fetch = async () => Response.json(answer);
  const client = new Mayfly({ url: app.url, fetch });
  const error = await client
    .inbox('inb_1')
    .waitForCode({ timeout: 0 })
    .catch((failure: WaitTimeoutError) => failure);
  expect(error).toMatchObject({
    waitId: 'wai_1',
    message: expect.stringContaining('/why?wait=wai_1&code=true'),
  });
});

describe('the requests of a wait', () => {
  /** Their bodies, of a server whose second answer has a message; `known` is in each. */
  const bodies = async (known: object, wait: object, left = Number.POSITIVE_INFINITY) => {
    const sent: { waitedSeconds?: number; askedSeconds?: number }[] = [];
    const fetch = async (_: unknown, init: { body?: unknown } = {}) => {
      sent.push(JSON.parse(String(init.body)));
      return Response.json({ matched: sent.length > 1, messages: [{}], cursor: 'cur_1', ...known });
    };
    const client = new Mayfly({ url: app.url, fetch: fetch as typeof globalThis.fetch });
    const ended = new AbortController().signal;
    const inbox = new Inbox(client.transport, { id: 'inb_1' }, { left: () => left, advice: '', ended });
    await inbox.waitForMessage(wait);
    return sent;
  };

  it.each([
    ['how long earlier requests were held', { waitId: 'wai_1' }, expect.any(Number)],
    ['nothing of that where the server does not name failed waits', {}, undefined],
  ])('say %s', async (_, known, waited) => {
    const sent = await bodies(known, { timeout: 60_000 });
    expect(sent.map(({ waitedSeconds }) => waitedSeconds)).toEqual([undefined, waited]);
  });

  it.each([
    ['a timeout of its own', 40_000, 39_000, 40],
    ['a default, by more than half', undefined, 14_000, 30],
    ['a default, by less than half', undefined, 29_000, undefined],
    ['nothing', 20_000, 29_000, undefined],
  ])('say what the limit of the test cut: %s', async (_, timeout, left, asked) => {
    expect((await bodies({ matched: true }, { timeout }, left))[0]?.askedSeconds).toBe(asked);
  });
});

it('refuses what a method would ignore', async () => {
  const inbox = await mayfly.createInbox();
  const wrong = { timeout: 100 } as object;
  await expect(inbox.expectSilence(wrong)).rejects.toThrow(
    /"timeout" is not a condition or an option of this wait\. There are: .*, within\./,
  );
  const nested = { link: { href: '/x' } } as object;
  await expect(inbox.waitForLink(nested)).rejects.toThrow(/"link" is not .* There are: .*, href, kind,/);
});

describe('a wait without a timeout of its own', () => {
  /** What each wait asked the server for, of a server that has nothing. */
  const held = async (options: object = {}, wait: object = {}): Promise<[number[], string]> => {
    const asked: number[] = [];
    const fetch = async (_: unknown, init: { body?: unknown } = {}) => {
      asked.push(Math.round(JSON.parse(String(init.body)).timeoutSeconds));
      const nothing = { matched: false, messages: [], cursor: 'cur_1' };
      return new Response(JSON.stringify(nothing), { headers: { 'content-type': 'application/json' } });
    };
    const client = new Mayfly({ url: app.url, fetch: fetch as typeof globalThis.fetch, ...options });
    vi.useFakeTimers();
    const error = await client
      .inbox('inb_1')
      .waitForCode(wait)
      .catch((failure: Error) => failure);
    vi.useRealTimers();
    return [asked, String(error)];
  };
  const outside = () => {
    for (const variable of ['VITEST', 'JEST_WORKER_ID', 'NODE_TEST_CONTEXT', 'TEST_WORKER_INDEX'])
      vi.stubEnv(variable, '');
  };
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  it.each([
    ['VITEST', 'Vitest', 4],
    ['JEST_WORKER_ID', 'Jest', 4],
    ['NODE_TEST_CONTEXT', 'node:test', 4],
    ['TEST_WORKER_INDEX', 'Playwright', 25],
  ])('ends before a test does where %s is set, and says so', async (variable, name, seconds) => {
    outside();
    vi.stubEnv(variable, '1');
    const [asked, text] = await held();
    expect(asked).toEqual([seconds]);
    expect(text).toMatch(
      new RegExp(
        `Waited ${seconds} s for a mail with a code to inb_1\\. That is the default under ${name}.*: (pass|use) `,
      ),
    );
    expect(await held({}, { timeout: 20_000 })).toEqual([[20], expect.not.stringContaining('default')]);
  });

  it('ends after 30 seconds elsewhere, in two held requests, or after what the client says', async () => {
    outside();
    expect((await held())[0][0]).toBe(25);
    expect((await held({ waitTimeout: 9_000 }))[0]).toEqual([9]);
  });
});

it('takes a pattern of a code as text too, and names it in the explanation', async () => {
  const inbox = await mayfly.createInbox();
  await app.send({ from: 'a@shop.example', to: inbox.address, subject: 'Ticket', text: 'Ticket AB-12' });
  const pattern = 'Ticket (\\S+)' as unknown as RegExp;
  expect(await inbox.waitForCode({ pattern })).toBe('AB-12');
  await expect(inbox.waitForCode({ pattern: /Order (\S+)/, timeout: 0, since: 'start' })).rejects.toThrow(
    /for a mail with a code like \/Order \(\\S\+\)\/ to [\s\S]*code is "no code like \/Order/,
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
