import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startApp, TEST_KEY, type TestApp } from '../../server/test/support/start-app.ts';
import {
  AmbiguousError,
  ApiError,
  ConnectionError,
  type GoneError,
  Inbox,
  Mayfly,
  MayflyError,
  type Message,
  NotFoundError,
  ScopeError,
  UnexpectedMessageError,
  type WaitTimeoutError,
} from '../src/index.ts';

let app: TestApp;
let mayfly: Mayfly;
beforeAll(async () => {
  app = await startApp({ MAYFLY_DOMAINS: 'mayfly.test' });
  mayfly = new Mayfly({ url: app.url, apiKey: TEST_KEY });
});
afterAll(() => app.stop());

const send = (to: string, subject: string, text = 'hello', html?: string) =>
  app.send({ from: 'Shop <no-reply@shop.example>', to, subject, text, ...(html && { html }) });

const CONFIRM = '<p>Your code is 482913.</p><a href="https://a.example/confirm?t=1">Confirm</a>';

/** As untyped JavaScript passes it. */
const mistyped = (name: string, value: unknown): object => ({ [name]: value });

/** The error of a promise that must reject. */
const failureOf = async (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => expect.fail('it resolved'),
    (error: unknown) => error,
  );

describe('a mistyped name in an argument', () => {
  it.each<[string, string, (inbox: Inbox, mail: Message) => Promise<unknown>]>([
    [
      'webhookURL',
      'webhookUrl',
      () => mayfly.setProvider('sendgrid', mistyped('webhookURL', 'https://a.example')),
    ],
    ['raed', 'read', (_, mail) => mail.mark(mistyped('raed', true))],
    ['stlye', 'style', (_, mail) => mail.reply('Thanks', mistyped('stlye', 'gmail'))],
    ['remoteContents', 'remoteContent', (_, mail) => mail.previewUrl(mistyped('remoteContents', true))],
    ['limti', 'limit', (inbox) => inbox.sent(mistyped('limti', 1))],
    ['rcptT', 'rcptTo', (inbox) => inbox.inject('Subject: x\r\n\r\nx', mistyped('rcptT', 'a@b.example'))],
  ])('is refused: %s', async (name, meant, call) => {
    const inbox = await mayfly.createInbox();
    const mail = await inbox.inject('From: a@shop.example\r\nSubject: Hi\r\n\r\nHello');
    const error = await failureOf(call(inbox, mail));
    expect(String(error)).toContain(`"${name}" is not a known `);
    expect(String(error)).toContain(`Did you mean "${meant}"?`);
  });
});

describe('an inbox of the client', () => {
  it('takes a code out of the first message that has one', async () => {
    const inbox = await mayfly.createInbox({ ttlMinutes: 10, labels: { run: '1' } });
    expect(inbox.address).toMatch(/@mayfly\.test$/);
    expect(inbox.expiresAt.getTime()).toBeGreaterThan(Date.now());
    const code = inbox.waitForCode({ subject: 'confirm' });
    await send(inbox.address, 'Please confirm', 'A word before');
    await send(inbox.address, 'Please confirm', 'Your code is 482913.');
    expect(await code).toBe('482913');
  });

  it('returns the next message on the next wait, and the first again with since: start', async () => {
    const inbox = await mayfly.createInbox();
    await send(inbox.address, 'Code', 'Your code is 111222.');
    expect(await inbox.waitForCode()).toBe('111222');
    const second = inbox.waitForCode();
    await send(inbox.address, 'Code', 'Your code is 333444.');
    expect(await second).toBe('333444');
    expect(await inbox.waitForCode({ since: 'start' })).toBe('111222');
  });

  it('finds codes of a format of its own in text and HTML', async () => {
    const inbox = await mayfly.createInbox();
    await send(inbox.address, 'Ticket', '', '<p>Ticket <b>AB-</b>12&amp;x</p>');
    expect(await inbox.waitForCode({ pattern: /Ticket (AB-\d+&x)/g })).toBe('AB-12&x');
  });

  it('takes the one link that fits, and names all when several do', async () => {
    const inbox = await mayfly.createInbox();
    const html =
      '<a href="https://a.example/verify?t=1&amp;u=2">Confirm</a> <a href="https://a.example/verify?t=2">Other</a>';
    await send(inbox.address, 'Links', 'x', html);
    expect(await inbox.waitForLink({ href: 't=1' })).toBe('https://a.example/verify?t=1&u=2');
    expect(await inbox.waitForLink({ href: /t=2$/, since: 'start' })).toBe('https://a.example/verify?t=2');
    const error = await failureOf(inbox.waitForLink({ href: '/verify', since: 'start' }));
    expect(error).toBeInstanceOf(AmbiguousError);
    expect((error as AmbiguousError).candidates).toHaveLength(2);
    expect(String(error)).toContain('https://a.example/verify?t=2');
  });

  it('applies regular expressions and functions to each message once, also to those that came before', async () => {
    const inbox = await mayfly.createInbox();
    for (const number of [1, 2, 3, 4]) await send(inbox.address, `Invoice ${number}`);
    const [second, fourth] = await inbox.waitForMessages(2, { subject: /invoice [24]/i });
    expect([second?.subject, fourth?.subject]).toEqual(['Invoice 2', 'Invoice 4']);
    const third = await inbox.waitForMessage({
      where: ({ subject }) => subject.endsWith('3'),
      since: 'start',
    });
    expect(third.subject).toBe('Invoice 3');
    const error = await failureOf(
      inbox.waitForMessage({ subject: /^nothing$/, timeout: 300, since: 'start' }),
    );
    expect((error as WaitTimeoutError).explanation?.seenCount).toBe(4);
    expect(String(error)).toContain('Invoice 2');
  });

  it('gives an inbox a telephone number, and says how where there is none', async () => {
    const inbox = await mayfly.createInbox({ sms: true });
    expect(`${inbox.phoneNumber.slice(1)}@mayfly.test`).toBe(inbox.address);
    const other = await mayfly.createInbox();
    expect(other.data.phoneNumber).toBeNull();
    expect(() => other.phoneNumber).toThrow(
      `${other.address} has no telephone number: create the inbox with { sms: true }.`,
    );
  });

  it('says in a table why a wait failed', async () => {
    const inbox = await mayfly.createInbox({ localPart: 'brave.otter' });
    await send(inbox.address, 'Welcome to Shop');
    await send('brave.oter@mayfly.test', 'Reset').catch(() => undefined);
    const started = Date.now();
    const error = (await failureOf(
      inbox.waitForMessage({ subject: 'reset', timeout: 500 }),
    )) as WaitTimeoutError;
    // Far less than the 60 seconds that a server may hold a wait.
    expect(Date.now() - started).toBeLessThan(30_000);
    expect(MayflyError.is(error) && error.code).toBe('wait_timeout');
    const shown = error.message.replace(/wai_\w+/, 'wai_1').replaceAll(/\d\d:\d\d:\d\d/g, '12:03:07');
    const [summary = '', ...table] = shown.split('\n');
    expect(summary).toBe(error.explanation?.summary);
    expect(summary).toMatch(/^1 message arrived/);
    expect(table).toEqual([
      '  Waited 0.5 s for a mail with subject "reset" to brave.otter@mayfly.test.',
      '  1 other mail came (times in UTC):',
      '    12:03:07  subject is "Welcome to Shop"  from no-reply@shop.example',
      '  Near miss: brave.oter@mayfly.test was refused 1 time (12:03:07): no inbox had that address.',
      `  Look: ${app.url}/console/inboxes/${inbox.id}/why?wait=wai_1&subject=reset`,
    ]);
  });

  it('names the conditions of a wait that failed, and a label, in the address that explains it', async () => {
    const inbox = await mayfly.createInbox({ labels: { browser: 'firefox', run: '47 11' } });
    const match = { subject: 'a&b', code: true, link: { kind: 'reset' as const }, from: /shop/ };
    const error = (await failureOf(
      inbox.waitForMessages(2, { ...match, timeout: 1, since: inbox.data.cursor }),
    )) as WaitTimeoutError;
    const address = /Look: (\S+)/.exec(error.message)?.[1] ?? '';
    expect(new URL(address).pathname).toBe(`/console/inboxes/${inbox.id}/why`);
    expect(Object.fromEntries(new URL(address).searchParams)).toEqual({
      ...{ subject: 'a&b', code: 'true', 'link.kind': 'reset' },
      ...{ since: inbox.data.cursor, count: '2', 'label.run': '47 11' },
      wait: expect.stringMatching(/^wai_/),
    });
  });

  it('shows again what a failed wait has explained', async () => {
    const inbox = await mayfly.createInbox();
    const error = (await failureOf(inbox.waitForMessage({ subject: 'x', timeout: 1 }))) as WaitTimeoutError;
    const failed = await inbox.failedWait(String(error.waitId));
    expect(failed).toMatchObject({ id: error.waitId, inboxId: inbox.id, match: { subject: 'x' } });
    expect(failed.explanation).toEqual(error.explanation);
  });

  it('says that the limit of the test cut a wait, and its explanation says so too', async () => {
    const { data } = await mayfly.createInbox();
    const ended = new AbortController().signal;
    const inbox = new Inbox(mayfly.transport, data, { left: () => 400, advice: 'Ask for more.', ended });
    const error = (await failureOf(inbox.waitForMessage({ timeout: 60_000 }))) as WaitTimeoutError;
    expect(error.message).toContain(
      ' The limit of the test cut it from 60 s, because the test had only 0.4 s left. Ask for more.',
    );
    expect(error.explanation?.causes[0]).toMatchObject({ code: 'cut_short', certainty: 'certain' });
  });

  it('tells when a message that matches came before the wait began', async () => {
    const inbox = await mayfly.createInbox();
    await send(inbox.address, 'Welcome');
    await send(inbox.address, 'Confirm');
    await inbox.waitForMessage({ subject: 'confirm' });
    const error = await failureOf(inbox.waitForMessage({ subject: 'welcome', timeout: 100 }));
    expect(String(error)).toMatch(/"Welcome" matches, but arrived .* before this wait's since\./);
    expect(String(error)).toContain(
      "It began after the message that the wait before returned: pass since: 'start' to include what came before.",
    );
  });

  it('expects silence, and shows the message that broke it', async () => {
    const inbox = await mayfly.createInbox();
    await inbox.expectSilence({ subject: 'invoice', within: 200 });
    await send(inbox.address, 'Your invoice');
    const error = await failureOf(inbox.expectSilence({ subject: 'invoice', within: 200 }));
    expect(error).toBeInstanceOf(UnexpectedMessageError);
    expect((error as UnexpectedMessageError).mail.subject).toBe('Your invoice');
  });

  it('says when the URL is none, or of another program', async () => {
    expect(() => new Mayfly({ url: 'localhost:8025', apiKey: 'x' })).toThrow(
      '"localhost:8025" is not the URL of a server.',
    );
    const page = async () => new Response('<h1>Another</h1>', { headers: { 'content-type': 'text/html' } });
    const other = new Mayfly({ url: app.url, apiKey: 'x', fetch: page });
    for (const wrong of [() => other.createInbox(), () => other.inbox('inb_1').waitForCode()])
      expect(String(await failureOf(wrong()))).toMatch(/did not come from Mayfly: check MAYFLY_URL\. \(POST/);
  });

  it('rejects with the reason of an aborted signal', async () => {
    const inbox = await mayfly.createInbox();
    const controller = new AbortController();
    const waiting = inbox.waitForMessage({ signal: controller.signal });
    controller.abort(new Error('the test ended'));
    expect(await failureOf(waiting)).toEqual(new Error('the test ended'));
    const { signal } = controller;
    expect(await failureOf(inbox.waitForMessage({ signal }))).toEqual(new Error('the test ended'));
    expect(await failureOf(inbox.refresh({ signal }))).toEqual(new Error('the test ended'));
  });

  it('names both conditions and how to take a code and a link from one mail', async () => {
    const inbox = await mayfly.createInbox();
    await send(inbox.address, 'Confirm', 'Your code is 482913.', CONFIRM);
    expect(await inbox.waitForCode()).toBe('482913');
    const error = await failureOf(inbox.waitForLink({ timeout: 100 }));
    expect(String(error)).toContain(
      '"Confirm" matches, but the wait before returned it. Take both from one mail: const mail = await inbox.waitForMessage(…), then mail.code() and mail.link().',
    );
    const mail = await inbox.waitForMessage({ subject: 'confirm', since: 'start' });
    expect([mail.code(), mail.link()]).toEqual(['482913', 'https://a.example/confirm?t=1']);
  });

  it('says that a message failed what only the client checks', async () => {
    const inbox = await mayfly.createInbox();
    await send(inbox.address, 'Welcome');
    const error = await failureOf(inbox.waitForMessage({ subject: /reset/i, timeout: 100 }));
    expect((error as Error).message).toMatch(
      /^A message arrived, but did not meet what the client checks itself: subject\.\n {2}Waited 0\.1 s for a mail with subject \/reset\/i to /,
    );
  });

  it('refuses options and conditions that it does not know', async () => {
    const inbox = await mayfly.createInbox();
    const misplaced = { subject: 'x', timeoutMs: 90_000 } as object;
    expect(String(await failureOf(inbox.waitForMessage(misplaced)))).toContain(
      '"timeoutMs" is not a condition or an option of this wait. There are: from, to,',
    );
    const two = inbox.waitForCode as (...all: object[]) => Promise<unknown>;
    expect(String(await failureOf(two.call(inbox, { subject: 'x' }, { timeout: 5 })))).toContain(
      "are one object, such as { subject: 'confirm', timeout: 5000 }",
    );
  });

  it('shows its address and no token', async () => {
    const inbox = await mayfly.createInbox();
    expect(inbox.token).toMatch(/^mft_/);
    for (const shown of [inspect(inbox), JSON.stringify(inbox), inspect({ inbox }), inspect(mayfly)])
      expect(shown).not.toContain('mft_');
    expect(inspect(inbox)).toBe(`Inbox ${inbox.address} (${inbox.consoleUrl})`);
    expect(JSON.parse(JSON.stringify(inbox))).toMatchObject({ id: inbox.id, address: inbox.address });
  });

  it('has no method by a misspelt name', async () => {
    const { webhooks } = mayfly as unknown as { webhooks: { verfy(): Promise<void> } };
    expect(() => webhooks.verfy()).toThrow(TypeError);
    await expect(mayfly.webhooks.verify('{}', {}, 'whsec_')).rejects.toThrow('"webhook-id"');
  });

  it('reads, lists, follows and downloads', async () => {
    const inbox = await mayfly.createInbox();
    await app.send({
      from: 'a@shop.example',
      to: inbox.address,
      subject: 'File',
      text: 'x',
      attachments: [{ filename: 'a.json', content: '{"a": 1}' }],
    });
    await send(inbox.address, 'Second');
    expect((await inbox.messages()).map(({ subject }) => subject)).toEqual(['Second', 'File']);
    expect((await inbox.messages({ subject: 'file' })).map(({ subject }) => subject)).toEqual(['File']);
    expect(await inbox.messages({ limit: 1 })).toHaveLength(1);
    const followed: string[] = [];
    for await (const mail of inbox.stream()) {
      followed.push(mail.subject);
      if (followed.length === 1)
        expect(new TextDecoder().decode(await mail.raw())).toContain('Subject: File');
      if (followed.length === 2) break;
    }
    expect(followed).toEqual(['File', 'Second']);
    const mail = await inbox.waitForMessage({ hasAttachments: true });
    const [file] = mail.attachments;
    for (const which of [file, 'a.json'])
      expect(which && new TextDecoder().decode(await mail.attachment(which))).toBe('{"a": 1}');
    await expect(mail.attachment('b.json')).rejects.toThrow('no attachment "b.json". Attachments: "a.json".');
    expect((await inbox.read(mail.id)).subject).toBe('File');
    expect((await mail.timeline()).map(({ event }) => event)).toContain('committed');
    expect(await mail.lint()).toEqual([]);
    const rule = { at: 'rcpt', reply: { code: 451, text: 'later' }, times: 2 } as const;
    expect(await inbox.setFaults([rule])).toMatchObject([{ ...rule, left: 2 }]);
    expect(await inbox.faults()).toMatchObject([{ ...rule, left: 2 }]);
    await inbox.clearFaults();
    expect(await inbox.faults()).toEqual([]);
  });

  it('injects, exports, imports, deletes, empties and expires', async () => {
    const inbox = await mayfly.createInbox();
    const mail = await inbox.inject('Subject: Recorded\r\n\r\nYour code is 482913.', {
      mailFrom: 'a@b.example',
    });
    expect([mail.subject, mail.code()]).toEqual(['Recorded', '482913']);
    const copy = await mayfly.importInbox(await inbox.export(), { speed: 10 });
    expect(await copy.waitForCode({ subject: 'recorded' })).toBe('482913');
    await mail.delete();
    await inbox.inject('Subject: Second\r\n\r\nsecond');
    await inbox.empty();
    expect(await inbox.messages()).toEqual([]);
    await inbox.expire();
    expect(await failureOf(inbox.messages())).toMatchObject({ status: 410, code: 'inbox_expired' });
  });

  it('finds messages and refusals of all inboxes', async () => {
    const inbox = await mayfly.createInbox();
    await send(inbox.address, 'Needle in a haystack');
    const [found, ...others] = await mayfly.search('needle haystack', { rcptTo: inbox.address });
    expect([found?.subject, found?.inboxId, others]).toEqual(['Needle in a haystack', inbox.id, []]);
    expect((await found?.read())?.text).toContain('hello');
    const address = 'nobody.at.all@mayfly.test';
    await send(address, 'Lost').catch(() => undefined);
    // Refusals are stored after the reply.
    await expect.poll(() => mayfly.refusals({ address })).toMatchObject([{ address }]);
  });

  it('marks messages, finds them by their marks, and counts labels', async () => {
    const inbox = await mayfly.createInbox({ labels: { run: 'marks' } });
    const mail = await inbox.inject('Subject: Marked\r\n\r\nhello');
    await inbox.inject('Subject: Unmarked\r\n\r\nhello');
    const marked = await mail.mark({ read: true, tags: ['reviewed'] });
    expect([typeof marked.readAt, marked.tags]).toEqual(['string', ['reviewed']]);
    expect((await marked.mark({ read: false })).readAt).toBeNull();
    for (const found of [await inbox.messages({ q: 'tag:reviewed' }), await mayfly.search('tag:reviewed')])
      expect(found.map(({ subject }) => subject)).toEqual(['Marked']);
    const [newest] = await mayfly.labels('run', { limit: 1 });
    expect(newest).toMatchObject({ name: 'run', value: 'marks', inboxes: 1 });
  });

  it('is readable by its token alone, which may not delete it', async () => {
    const { id, token } = await mayfly.createInbox();
    const reader = mayfly.inbox(id, token);
    expect(() => reader.address).toThrow('call refresh() first');
    await reader.refresh();
    expect(reader.address).toContain('@mayfly.test');
    expect(await failureOf(reader.delete())).toBeInstanceOf(ScopeError);
  });

  it('extends, disposes, and is gone', async () => {
    let id = '';
    {
      await using inbox = await mayfly.createInbox({ ttlMinutes: 5 });
      const before = inbox.expiresAt;
      await inbox.extend(60);
      expect(inbox.expiresAt.getTime()).toBeGreaterThan(before.getTime());
      id = inbox.id;
    }
    expect(await failureOf(mayfly.getInbox(id))).toBeInstanceOf(NotFoundError);
    const ended = await mayfly.createInbox();
    await ended.expire();
    const error = await failureOf(ended.waitForMessage());
    expect((error as GoneError).expiredAt?.getTime()).toBeLessThanOrEqual(Date.now());
  });
});

describe('the client', () => {
  it('lists and deletes by label', async () => {
    const labels = { run: 'by-label' };
    for (let i = 0; i < 3; i++) await mayfly.createInbox({ labels });
    const found: string[] = [];
    for (const inbox of await mayfly.inboxes({ labels })) found.push(inbox.address);
    expect(found).toHaveLength(3);
    expect(await mayfly.deleteInboxes(labels)).toBe(3);
    expect((await mayfly.report(labels)).totals).toMatchObject({ inboxes: 3, messages: 0 });
  });

  it('covers addresses, webhooks, keys, usage and domains', async () => {
    expect((await mayfly.generateAddress()).domain).toBe('mayfly.test');
    const hook = await mayfly.webhooks.create({ url: 'https://example.com/hook' }).catch((error) => error);
    if (hook instanceof ApiError) expect(hook.code).toBe('webhook_url_refused');
    expect(await mayfly.webhooks.list()).toEqual([]);
    const key = await mayfly.keys.create({ name: 'reader', scope: 'read' });
    expect((await mayfly.keys.list()).map(({ name }) => name)).toContain('reader');
    const reader = new Mayfly({ url: app.url, apiKey: key.key });
    expect(await failureOf(reader.createInbox())).toBeInstanceOf(ScopeError);
    await mayfly.keys.delete(key.id);
    expect((await mayfly.usage()).days).toHaveLength(31);
    expect((await mayfly.domains())[0]?.domain).toBe('mayfly.test');
  });

  it('creates one inbox for one key', async () => {
    const [first, second] = await Promise.all(
      [1, 2].map(() => mayfly.createInbox({ idempotencyKey: 'once' })),
    );
    expect(second?.id).toBe(first?.id);
    expect(second?.token).toBe(first?.token);
  });

  it('follows all inboxes of the account', async () => {
    const inbox = await mayfly.createInbox();
    const controller = new AbortController();
    const events = mayfly.stream({ since: new Date(Date.now() + 60_000), signal: controller.signal });
    const next = events.next();
    await send(inbox.address, 'Followed');
    // The stream begins now, or a moment after the message; either way nothing comes twice.
    const again = setInterval(() => void send(inbox.address, 'Followed'), 300);
    const { value } = await next;
    clearInterval(again);
    expect(value?.inboxId).toBe(inbox.id);
    await events.return(undefined);
  });

  it('uses the development key on this machine, and no other machine gets it', async () => {
    vi.stubEnv('MAYFLY_API_KEY', '');
    const dev = await startApp({ MAYFLY_DEV_KEY: 'on' });
    for (const apiKey of [undefined, ''])
      expect((await new Mayfly({ url: dev.url, apiKey }).createInbox()).address).toContain('@mayfly.test');
    const { port } = new URL(dev.url);
    expect((await new Mayfly({ url: `http://localhost:${port}` }).usage()).plan).toBe('unlimited');
    await dev.stop();
    for (const url of ['https://mail.example', 'http://localhost.example', 'http://127.0.0.1.example'])
      expect(() => new Mayfly({ url })).toThrow(
        `There is no API key for ${url}: set MAYFLY_API_KEY, or pass "apiKey".`,
      );
    expect(String(await failureOf(new Mayfly({ url: app.url }).usage()))).toMatch(
      /only "mayfly dev" accepts.* set MAYFLY_API_KEY/,
    );
    vi.unstubAllEnvs();
  });

  it('refuses streams as operations: they have no end', async () => {
    const call = mayfly.call.bind(mayfly) as (operation: string) => Promise<unknown>;
    await expect(call('GET /v1/events')).rejects.toThrow(
      'GET /v1/events is a stream without an end: use the method stream().',
    );
  });

  it('names what to do when no server responds', async () => {
    const error = await failureOf(new Mayfly({ url: 'http://127.0.0.1:9', apiKey: 'x', retries: 1 }).usage());
    expect(error).toBeInstanceOf(ConnectionError);
    expect(String(error)).toMatch(
      /http:\/\/127\.0\.0\.1:9 did not respond in 2 attempts: bad port. Check the URL in MAYFLY_URL/,
    );
  });

  it('tells each attempt to onRequest', async () => {
    const seen: unknown[] = [];
    const watched = new Mayfly({
      url: `${app.url}/`,
      apiKey: TEST_KEY,
      onRequest: (info) => seen.push(info),
    });
    await watched.usage();
    expect(seen).toEqual([
      {
        method: 'GET',
        path: '/v1/usage',
        status: 200,
        ms: expect.any(Number),
        requestId: expect.stringMatching(/./),
      },
    ]);
  });
});
