/* What people write before they have read the documentation, and what surrounds their tests. */
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { startApp, TEST_KEY, type TestApp } from '../../server/test/support/start-app.ts';
import { type Match, Mayfly } from '../src/index.ts';

let app: TestApp;
let mayfly: Mayfly;
beforeAll(async () => {
  app = await startApp();
  mayfly = new Mayfly({ url: app.url, apiKey: TEST_KEY });
});
afterAll(() => app.stop());
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
});

const json = (body: object, status = 200, headers = {}) =>
  new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json', ...headers } });
const NOTHING = { matched: false, messages: [], cursor: 'cur_1' };

/** A client whose requests are answered by a function. */
const answered = (answer: (count: number) => Response | Promise<Response>, retries = 3) => {
  let count = 0;
  const fetch = async () => answer(++count);
  return { client: new Mayfly({ url: app.url, apiKey: 'x', fetch, retries }), requests: () => count };
};

describe('conditions that are none', () => {
  const WRONG = [/reset/, () => true, 'reset', 30_000, ['reset'], null];

  it.each(WRONG)('%s is refused without a request, with an example', async (wrong) => {
    const { client, requests } = answered(() => json(NOTHING));
    const inbox = client.inbox('inb_1');
    const match = wrong as Match;
    const waits = [
      () => inbox.waitForMessage(match),
      () => inbox.waitForMessages(2, match),
      () => inbox.waitForCode(match as object),
      () => inbox.waitForLink(match as object),
      () => inbox.expectSilence(match),
    ];
    for (const wait of waits)
      await expect(wait()).rejects.toThrow(/^The conditions of a wait must be an object such as \{ subject/);
    expect(requests()).toBe(0);
  });

  it('an asynchronous function as "where" is refused: it would always be met', async () => {
    const inbox = await mayfly.createInbox();
    await app.send({ from: 'a@b.example', to: inbox.address, subject: 'One', text: 'one' });
    const where = (async () => false) as unknown as () => boolean;
    await expect(inbox.waitForMessage({ where })).rejects.toThrow(
      /"where" returned a promise. It must return true or false at once/,
    );
  });

  it('an empty part of a link is refused, and does not mean any link', async () => {
    const inbox = await mayfly.createInbox();
    await expect(inbox.waitForLink({ href: '' })).rejects.toThrow(/"match.link.href" must not be empty/);
    await expect(inbox.waitForLink({ href: undefined, timeout: 1 } as object)).rejects.toThrow(
      /Waited 1 ms for a mail with a link to .*\n[\s\S]*\/why\?wait=wai_\w+&link=true$/,
    );
  });

  it('flags of an expression that move its start do not hide a code', async () => {
    const inbox = await mayfly.createInbox();
    await app.send({ from: 'a@b.example', to: inbox.address, subject: 'One', text: 'Ticket AB-12 is yours' });
    expect(await inbox.waitForCode({ pattern: /(AB-\d+)/gy })).toBe('AB-12');
  });

  it('an id that is undefined is shown as such', async () => {
    const missing = undefined as unknown as string;
    await expect(mayfly.inbox(missing).waitForCode()).rejects.toThrow(/No inbox with the id "undefined"/);
  });
});

describe('under fake timers', () => {
  it('a wait ends, and failed requests are repeated', async () => {
    vi.useFakeTimers();
    const { client, requests } = answered((count) => {
      if (count === 1) throw new TypeError('fetch failed');
      return json(NOTHING);
    });
    const wait = client.inbox('inb_1').waitForMessage({ timeout: 20_000 });
    await expect(wait).rejects.toThrow(/^No mail came\.\n {2}Waited 20 s for a mail to inb_1\./);
    expect(requests()).toBe(2);
  });
});

describe('clocks and times', () => {
  it('a time of a clock that is ahead is named as such', async () => {
    const inbox = await mayfly.createInbox();
    await app.send({ from: 'a@b.example', to: inbox.address, subject: 'One', text: 'one' });
    const since = new Date(Date.now() + 3_600_000);
    await expect(inbox.waitForMessage({ subject: 'One', since, timeout: 1 })).rejects.toThrow(
      /in the future: pass a cursor rather than a time of another clock\.[\s\S]*It began after 20\d\d-/,
    );
  });

  it('seconds in place of milliseconds are seen in the error', async () => {
    const inbox = await mayfly.createInbox();
    await expect(inbox.waitForMessage({ timeout: 30 })).rejects.toThrow(/Waited 30 ms for/);
  });

  it('"Retry-After: 0" is no loop without pauses', async () => {
    const { client, requests } = answered(() => json({}, 429, { 'retry-after': '0' }));
    await expect(client.inbox('inb_1').waitForMessage({ timeout: 500 })).rejects.toThrow();
    // Pauses of 100, 200, 400 ms …; without them it were thousands.
    expect(requests()).toBeLessThan(10);
  });

  it('a date as Retry-After is answered with the usual pause', async () => {
    const date = new Date(Date.now() + 60_000).toUTCString();
    const { client } = answered((count) =>
      count === 1 ? json({}, 503, { 'retry-after': date }) : json({ plan: 'unlimited' }),
    );
    expect((await client.usage()).plan).toBe('unlimited');
  });
});

describe('surroundings', () => {
  it.each([
    ['fetch is not a function', /has no fetch, as jsdom: run it in the environment "node"/],
    [
      "Hostname/IP does not match certificate's altnames: IP",
      /a name that the certificate of the server has/,
    ],
    ['certificate has expired', /Renew the certificate/],
  ])('"%s" says what to do', async (text, advice) => {
    const { client } = answered(() => {
      throw new TypeError(text);
    }, 0);
    await expect(client.usage()).rejects.toThrow(advice);
  });

  it('a page of a proxy names NO_PROXY where Node.js uses one', async () => {
    const { client } = answered(() => new Response('', { status: 403 }));
    await expect(client.usage()).rejects.toThrow(/: check MAYFLY_URL\. \(/);
    vi.stubEnv('NODE_USE_ENV_PROXY', '1');
    await expect(client.usage()).rejects.toThrow(/: check MAYFLY_URL, and name its host in NO_PROXY/);
  });

  it('a page without TLS, which has no randomUUID, creates inboxes', async () => {
    vi.stubGlobal('crypto', { getRandomValues: crypto.getRandomValues.bind(crypto) });
    const [one, two] = [await mayfly.createInbox(), await mayfly.createInbox()];
    expect(one.id).not.toBe(two.id);
  });

  it('a deletion whose response was lost is done', async () => {
    const inbox = await mayfly.createInbox();
    let isLost = false;
    const losing: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      if (isLost) return response;
      isLost = true;
      throw new TypeError('fetch failed');
    };
    const client = new Mayfly({ url: app.url, apiKey: TEST_KEY, fetch: losing });
    const path = { id: inbox.id };
    expect(await client.call('DELETE /v1/inboxes/{id}', { path })).toBeUndefined();
    await expect(client.call('DELETE /v1/inboxes/{id}', { path })).rejects.toThrow(/No inbox with the id/);
  });

  it('a folder of a reverse proxy is part of every URL', async () => {
    const proxy = createServer((incoming, response) => {
      const path = incoming.url?.replace(/^\/tools\/mail\//, '/');
      const { method, headers } = incoming;
      const to = request(new URL(path ?? '', app.url), { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.pipe(response);
      });
      incoming.pipe(to);
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/tools/mail`;
    try {
      const client = new Mayfly({ url: `${url}/`, apiKey: TEST_KEY });
      const inbox = await client.createInbox();
      const attachments = [{ filename: 'a.json', content: '{"a":1}' }];
      await app.send({ from: 'a@b.example', to: inbox.address, subject: 'One', text: 'one', attachments });
      const mail = await inbox.waitForMessage();
      const [file] = mail.attachments;
      if (!file) throw new Error('There is no attachment.');
      const text = new TextDecoder();
      expect(text.decode(await mail.attachment(file))).toBe('{"a":1}');
      // As a server answers whose public URL is configured.
      const publicFile = { ...file, url: url + new URL(file.url).pathname };
      expect(text.decode(await mail.attachment(publicFile))).toBe('{"a":1}');
      const preview = await mail.previewUrl();
      expect(preview).toMatch(new RegExp(`^${url}/preview/`));
      expect((await fetch(preview)).status).toBe(200);
    } finally {
      proxy.closeAllConnections();
      proxy.close();
    }
  });
});
