import { once } from 'node:events';
import { request } from 'node:http';
import { MailpitClient } from 'mailpit-api';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { startApp, TEST_KEY } from '../support/start-app.ts';

const WELCOME = {
  from: 'Shop <shop@example.com>',
  to: 'Ada <ada@example.org>',
  cc: 'bob@example.org',
  bcc: 'carl@example.net',
  replyTo: 'help@example.com',
  subject: 'Welcome Ada',
  text: 'Your code is 482913',
  html: '<p>Hi <img src="cid:logo@x"> <a href="https://example.com/confirm">confirm</a></p>',
  attachments: [
    { filename: 'terms.txt', content: 'The terms' },
    { filename: 'logo.png', content: Buffer.from('89504e470d0a1a0a', 'hex'), cid: 'logo@x' },
  ],
  headers: { 'List-Unsubscribe': '<https://example.com/u>, <mailto:u@example.com>' },
};
const SECOND = { from: 'shop@example.com', to: 'eve@example.org', subject: 'Second mail', text: 'plain' };

const as = (password: string) => new MailpitClient(app.url, { auth: { username: 'any', password } });
const app = await startApp({ MAYFLY_DIALECT: 'mailpit', MAYFLY_SINK: 'on' });
const mailpit = as(TEST_KEY);
afterAll(() => app.stop());

describe('mailpit-api, unchanged, with the API key as password', () => {
  beforeEach(async () => {
    expect(await mailpit.deleteMessages()).toBe('ok');
    await app.send(WELCOME);
    await app.send(SECOND);
  });

  const subjects = async (query: string) =>
    (await mailpit.searchMessages({ query })).messages.map(({ Subject }) => Subject);
  const idOfWelcome = async () =>
    (await mailpit.searchMessages({ query: 'subject:welcome' })).messages[0]?.ID ?? '';

  it('lists all mail of the account, newest first, with totals and pages', async () => {
    expect(await mailpit.listMessages()).toMatchObject({
      ...{ total: 2, unread: 2, count: 2, messages_count: 2, messages_unread: 2, start: 0, tags: [] },
      messages: [
        { Subject: 'Second mail', Read: false, Attachments: 0, Snippet: 'plain', Tags: [] },
        {
          Subject: 'Welcome Ada',
          From: { Name: 'Shop', Address: 'shop@example.com' },
          To: [{ Name: 'Ada', Address: 'ada@example.org' }],
          Cc: [{ Name: '', Address: 'bob@example.org' }],
          Bcc: [{ Name: '', Address: 'carl@example.net' }],
          ReplyTo: [{ Name: '', Address: 'help@example.com' }],
          Attachments: 1,
          Snippet: 'Hi confirm',
        },
      ],
    });
    const page = await mailpit.listMessages(1, 1);
    expect(page).toMatchObject({
      start: 1,
      count: 1,
      messages_count: 2,
      messages: [{ Subject: 'Welcome Ada' }],
    });
    expect(await mailpit.listMessages(5, 5)).toMatchObject({ count: 0, messages_count: 2, messages: [] });
  });

  // More searches, beside the answers of the original, are in mailpit-recorded.json.
  it.each([
    ['addressed:SHOP@', ['Second mail', 'Welcome Ada']],
    ['from:shop subject:"welcome ada"', ['Welcome Ada']],
    ['code', ['Welcome Ada']],
    ['-bcc:carl', ['Second mail']],
    ['tag:none', []],
    ['has:attachments', ['Welcome Ada']],
    ['smaller:1kb', ['Second mail']],
    ['before:"2020-01-01 10:00"', []],
    ['message-id:example.com', ['Second mail', 'Welcome Ada']],
    ['re: "', []],
  ])('finds by %s', async (query, expected) => {
    expect(await subjects(query)).toEqual(expected);
  });

  it('reads a message, by its id or as the latest, and marks it as read', async () => {
    const id = await idOfWelcome();
    expect(await mailpit.getMessageSummary(id)).toMatchObject({
      ...{ ID: id, Subject: 'Welcome Ada', ReturnPath: 'shop@example.com', Text: 'Your code is 482913' },
      ListUnsubscribe: { Links: ['https://example.com/u', 'mailto:u@example.com'] },
      Attachments: [{ FileName: 'terms.txt', ContentType: 'text/plain', Size: 9 }],
      Inline: [{ FileName: 'logo.png', ContentID: 'logo@x', Size: 8 }],
    });
    expect(await mailpit.listMessages()).toMatchObject({ unread: 1 });
    expect(await mailpit.getMessageSummary()).toMatchObject({ Subject: 'Second mail', HTML: '' });
    expect(await subjects('is:unread')).toEqual([]);
    const headers = await mailpit.getMessageHeaders(id);
    expect(headers).toMatchObject({ Subject: ['Welcome Ada'], 'Mime-Version': ['1.0'] });
    expect(await mailpit.getMessageSource(id)).toMatch(/^Received: .*Your code is 482913/s);
  });

  it('reads parts, and the page with its images', async () => {
    const id = await idOfWelcome();
    const { Attachments, Inline } = await mailpit.getMessageSummary(id);
    const file = await mailpit.getMessageAttachment(id, Attachments[0]?.PartID ?? '');
    expect([file.type, await file.text()]).toEqual(['text/plain', 'The terms']);
    const picture = `/api/v1/message/${id}/part/${Inline[0]?.PartID}`;
    expect(await mailpit.renderMessageHTML(id)).toContain(`<img src="${picture}">`);
    expect((await mailpit.getAttachmentThumbnail(id, Inline[0]?.PartID ?? '')).size).toBe(8);
    const blank = await mailpit.getAttachmentThumbnail(id, Attachments[0]?.PartID ?? '');
    expect([blank.type, [...new Uint8Array(await blank.arrayBuffer()).slice(0, 2)]]).toEqual([
      'image/jpeg',
      [0xff, 0xd8],
    ]);
    expect(await mailpit.renderMessageText(id)).toBe('Your code is 482913');
    await expect(mailpit.renderMessageHTML()).rejects.toThrow('404 Not Found');
  });

  it('marks, tags and deletes by ids, by a search, or all', async () => {
    const id = await idOfWelcome();
    expect(await mailpit.setReadStatus({ Read: true })).toBe('ok');
    expect(await subjects('is:unread')).toEqual([]);
    await mailpit.setReadStatus({ IDs: [id], Read: false });
    expect(await subjects('is:unread')).toEqual(['Welcome Ada']);
    await mailpit.setReadStatus({ Search: 'to:eve', Read: false });
    expect(await subjects('is:unread')).toEqual(['Second mail', 'Welcome Ada']);
    await mailpit.setTags({ IDs: [id], Tags: ['run 7', 'B!'] });
    expect(await mailpit.getTags()).toEqual(['B', 'run 7']);
    expect(await subjects('tag:"run 7"')).toEqual(['Welcome Ada']);
    await mailpit.renameTag('run 7', 'done');
    await mailpit.deleteTag('B');
    expect((await mailpit.listMessages()).tags).toEqual(['done']);
    await expect(mailpit.deleteTag('B')).rejects.toThrow('tag not found: B');
    await mailpit.deleteMessages({ IDs: [id, 'unknown'] });
    expect(await subjects('addressed:shop')).toEqual(['Second mail']);
    await mailpit.deleteMessagesBySearch({ query: 'to:eve' });
    expect(await mailpit.listMessages()).toMatchObject({ total: 0, messages: [] });
    await expect(mailpit.getMessageSummary()).rejects.toThrow('404 Not Found');
  });

  it('takes requests as cypress-mailpit writes them: an empty list of ids for all, two slashes before view', async () => {
    const headers = { authorization: `Bearer ${TEST_KEY}`, 'content-type': 'application/json' };
    const request = (method: string, path: string, body?: object) =>
      fetch(app.url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    for (const [Read, unread] of [
      [true, 0],
      [false, 2],
    ] as const) {
      expect(await (await request('PUT', '/api/v1/messages', { IDs: [], Read })).text()).toBe('ok');
      expect(await mailpit.listMessages()).toMatchObject({ unread });
    }
    const id = await idOfWelcome();
    expect(await (await request('GET', `//view/${id}.html`)).text()).toContain('<p>Hi <img');
    expect(await (await request('GET', `//view/${id}.txt`)).text()).toBe('Your code is 482913');
    expect((await request('GET', `/api/v1/message/${id}/sa-check`)).ok).toBe(false);
  });

  it('sends by JSON to the inbox of the recipient, or to the sink', async () => {
    const inbox = await app.createInbox();
    const sent = await mailpit.sendMessage({
      From: { Email: 'me@example.com', Name: 'Me' },
      To: [{ Email: inbox.address, Name: 'You' }],
      Cc: [{ Email: 'cc@example.com' }],
      Bcc: ['bcc@example.com'],
      Subject: 'By JSON ä',
      Text: 'T',
      HTML: '<b>H</b>',
      Tags: ['sent'],
      Headers: { 'X-Run': '7' },
      Attachments: [{ Content: Buffer.from('x').toString('base64'), Filename: 'x.txt' }],
    });
    expect(await mailpit.getMessageSummary(sent.ID)).toMatchObject({
      ...{ Subject: 'By JSON ä', Text: 'T', HTML: '<b>H</b>', Tags: ['sent'] },
      Bcc: [{ Address: 'bcc@example.com' }],
      Attachments: [{ FileName: 'x.txt' }],
    });
    const { body } = await app.api('GET', `/v1/inboxes/${inbox.id}/messages`);
    expect(body.messages).toMatchObject([{ subject: 'By JSON ä' }]);
    await expect(
      mailpit.sendMessage({ From: { Email: 'me@example.com' }, To: [{ Email: 'nonsense' }] }),
    ).rejects.toThrow('{"Error":"invalid To address: nonsense"}');
  });

  it('waits as the client does, by polling', async () => {
    const waiting = mailpit.waitForMessage({ query: 'subject:later' }, { timeout: 20_000, interval: 50 });
    await app.send({ ...SECOND, subject: 'Sent later' });
    expect(await waiting).toMatchObject({ Subject: 'Sent later' });
  });

  it('says what is not offered as Mailpit does where it is off', async () => {
    await expect(mailpit.spamAssassinCheck()).rejects.toThrow('404 Not Found');
    await expect(mailpit.releaseMessage('latest', { To: ['a@example.com'] })).rejects.toThrow(
      '400 Bad Request',
    );
    expect(await mailpit.getConfiguration()).toMatchObject({ SpamAssassin: false });
    expect(await mailpit.getInfo()).toMatchObject({ Messages: 2, Unread: 2, Tags: {} });
  });

  it('lists the links of a mail, opens none, and lets no test pass on that', async () => {
    const { Errors, Links } = await mailpit.linkCheck(await idOfWelcome());
    expect(Errors).toBe(Links.length);
    expect(Links[0]).toEqual({
      URL: 'https://example.com/confirm',
      StatusCode: 0,
      Status: expect.stringContaining('Not checked'),
    });
  });

  it('begins a row with the HTML, at most 200 bytes of it, and never half a character', async () => {
    await app.send({ ...SECOND, html: `<p>${'x'.repeat(199)}ä and more</p>` });
    expect((await mailpit.listMessages()).messages[0]?.Snippet).toBe(`${'x'.repeat(199)}...`);
  });

  it('gives header fields as they were sent, encoded', async () => {
    await app.send({ ...SECOND, subject: 'Grüße' });
    expect(await mailpit.getMessageHeaders()).toMatchObject({
      Subject: [expect.stringMatching(/^=\?UTF-8\?/i)],
      'Return-Path': ['<shop@example.com>'],
    });
  });

  it('refuses all recipients while chaos is set, also of inboxes, and takes mail when it is not', async () => {
    const inbox = await app.createInbox();
    const refused = () =>
      Promise.all(
        [SECOND.to, inbox.address].map((to) =>
          app.send({ ...SECOND, to }).then(
            () => 'sent',
            ({ response }) => response,
          ),
        ),
      );
    const set = { Recipient: { ErrorCode: 450, Probability: 100 } };
    expect(await mailpit.setChaosTriggers(set)).toMatchObject(set);
    expect(await refused()).toEqual(['450 Chaos recipient error', '450 Chaos recipient error']);
    expect(await mailpit.getChaosTriggers()).toMatchObject(set);
    await mailpit.setChaosTriggers({});
    expect(await refused()).toEqual(['sent', 'sent']);
    expect(await mailpit.getChaosTriggers()).toMatchObject({ Recipient: { Probability: 0 } });
  });

  it.each([
    [{ Sender: { ErrorCode: 451, Probability: 100 } }, 'not at MAIL and AUTH'],
    [{ Recipient: { ErrorCode: 451, Probability: 30 } }, 'Probability is 0 or 100'],
    [{ Recipient: { ErrorCode: 250, Probability: 100 } }, 'error code must be between 400 and 599'],
  ])('says what chaos cannot do: %o', async (triggers: object, words) => {
    await expect(mailpit.setChaosTriggers(triggers)).rejects.toThrow(words);
  });

  it('leaves fault rules alone that were not set as chaos', async () => {
    const inbox = await app.createInbox();
    const path = `/v1/inboxes/${inbox.id}/faults`;
    const rules = [{ at: 'data', reply: { code: 452, text: 'Full' } }];
    await app.api('PUT', path, { body: { rules } });
    await mailpit.setChaosTriggers({ Recipient: { ErrorCode: 451, Probability: 100 } });
    await mailpit.setChaosTriggers({});
    expect((await app.api('GET', path)).body).toMatchObject({ rules: [{ ...rules[0], left: 1 }] });
    const mine = as(inbox.token).setChaosTriggers({ Recipient: { ErrorCode: 451, Probability: 100 } });
    await expect(mine).rejects.toThrow('403');
  });

  it('checks the HTML with the data of the lint report', async () => {
    await app.send({ ...SECOND, html: '<style>p{width:calc(1px + 1em)}</style><p style="gap:1px">x</p>' });
    const { Total, Warnings, Platforms } = await mailpit.htmlCheck();
    expect(Total.Tests).toBe(Warnings.length);
    expect(Warnings[0]).toMatchObject({ Category: 'css', Score: { Found: 1 } });
    expect(Platforms.windows).toContain('Outlook');
  });
});

describe('two suites in one server, each with the read token of its inbox as password', () => {
  it('see, mark and delete their own mail, and nothing of the other', async () => {
    const inboxes = [await app.createInbox(), await app.createInbox()];
    const suites = inboxes.map(({ token }) => as(token));
    for (const { address } of inboxes) await app.send({ ...SECOND, to: address, subject: `For ${address}` });
    const seen = await Promise.all(suites.map((suite) => suite.listMessages()));
    expect(seen.map(({ messages }) => messages.map(({ Subject }) => Subject))).toEqual(
      inboxes.map(({ address }) => [`For ${address}`]),
    );
    const ids = seen.map(({ messages }) => messages[0]?.ID ?? '');
    await expect(suites[0]?.getMessageSummary(ids[1])).rejects.toThrow('404 Not Found');
    await suites[0]?.setReadStatus({ IDs: ids, Read: true });
    await suites[0]?.deleteMessages({ IDs: [ids[1] ?? ''] });
    await suites[0]?.deleteMessages();
    expect(await suites[0]?.listMessages()).toMatchObject({ total: 0 });
    expect(await suites[1]?.listMessages()).toMatchObject({ total: 1, unread: 1 });
    // The token itself may still only read through our own API, and the inbox stays.
    const { id, token } = inboxes[0] as { id: string; token: string };
    expect((await app.api('DELETE', `/v1/inboxes/${id}/messages`, { as: token })).status).toBe(403);
    expect((await app.api('GET', `/v1/inboxes/${id}`, { as: token })).status).toBe(200);
  });
});

describe('the interface of Mailpit', () => {
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(app.url + path, {
      headers: { authorization: `Bearer ${TEST_KEY}`, ...headers },
      redirect: 'manual',
    });

  it.each([
    ['?wait=20', {}],
    ['', { 'x-wait': '20' }],
  ])('holds a search until it has a match (%s %o)', async (wait, headers) => {
    const to = `held${wait.length}@example.org`;
    const held = get(`/api/v1/search${wait || '?tz=UTC'}&query=to:${to}`, headers as Record<string, string>);
    await app.send({ ...SECOND, subject: 'Another' });
    await app.send({ ...SECOND, to });
    expect(await (await held).json()).toMatchObject({
      messages_count: 1,
      messages: [{ Subject: 'Second mail' }],
    });
  });

  it('asks for a password, and says what it is', async () => {
    const none = await fetch(`${app.url}/api/v1/messages`);
    expect([none.status, none.headers.get('www-authenticate')]).toEqual([
      401,
      expect.stringMatching(/^Basic realm="/),
    ]);
    await expect(as('mfk_wrong').listMessages()).rejects.toThrow('401 Unauthorized');
    // A browser sends a stored password also for pages of others.
    const foreign = await get('/api/v1/messages', { 'sec-fetch-site': 'cross-site' });
    expect(foreign.status).toBe(403);
  });

  it('needs no password on the machine of `mayfly dev`, and for nobody else', async () => {
    const dev = await startApp({ MAYFLY_DIALECT: 'mailpit', MAYFLY_SINK: 'on', MAYFLY_DEV_KEY: 'on' });
    const plain = new MailpitClient(dev.url);
    await dev.send(SECOND);
    expect(await plain.listMessages()).toMatchObject({ total: 1 });
    expect(await plain.deleteMessages()).toBe('ok');
    const headers: Record<string, string>[] = [
      { 'x-forwarded-for': '203.0.113.7' },
      { origin: 'https://evil.example' },
      { 'sec-fetch-site': 'cross-site' },
    ];
    for (const one of headers)
      expect((await fetch(`${dev.url}/api/v1/messages`, { headers: one })).status).toBe(403);
    // Another name for this machine, as a page would use that rebinds its own.
    const asked = request(`${dev.url}/api/v1/messages`, { headers: { host: 'evil.example' } }).end();
    const [answer] = await once(asked, 'response');
    expect(answer.resume().statusCode).toBe(403);
    await dev.stop();
  });

  it('shows a page of a mail that runs nothing, and leads to the newest', async () => {
    await app.send({ ...SECOND, html: '<script>fetch("/v1/keys")</script>' });
    const latest = await get('/view/latest');
    expect([latest.status, latest.headers.get('location')]).toEqual([
      302,
      expect.stringMatching(/^\/view\/msg_/),
    ]);
    const shown = await get(`${latest.headers.get('location')}.html`);
    expect(shown.headers.get('content-security-policy')).toMatch(
      /script-src 'none'.*sandbox(?!.*allow-scripts)/,
    );
    const inConsole = await get(latest.headers.get('location') ?? '');
    expect(inConsole.headers.get('location')).toMatch(/^\/console\/inboxes\/inb_\w+\/messages\/msg_/);
    expect((await get('/livez')).status).toBe(200);
  });

  it.each([
    ['PUT', '/api/v1/tags', '[1]', 400],
    ['POST', '/api/v1/send', '', 400],
    ['GET', '/api/v1/messages?wait=soon', undefined, 400],
    ['GET', '/api/v1/message/..%2F..%2Fkeys/raw', undefined, 404],
  ])('refuses %s %s with %s', async (method, path, body, status) => {
    const headers = { authorization: `Bearer ${TEST_KEY}` };
    const answer = await fetch(app.url + path, { method, headers, ...(body !== undefined && { body }) });
    expect([await answer.text(), answer.status]).toEqual([expect.any(String), status]);
  });

  it('holds no memory of responses that were read', async () => {
    await app.send({ ...SECOND, attachments: [{ filename: 'a.zip', content: Buffer.alloc(6_000_000) }] });
    // More than the bytes of unread responses that an account may have.
    for (let n = 0; n < 9; n++) expect((await get('/api/v1/message/latest/raw')).status).toBe(200);
  });

  it('is not there where it is off', async () => {
    const plain = await startApp();
    const headers = { authorization: `Bearer ${TEST_KEY}` };
    expect((await fetch(`${plain.url}/api/v1/messages`, { headers })).status).toBe(404);
    await plain.stop();
  });
});
