import { MailpitClient } from 'mailpit-api';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { appOfTest, startApp, TEST_KEY } from '../support/start-app.ts';

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

const SETTINGS = { MAYFLY_DIALECT: 'mailpit', MAYFLY_SINK: 'on' };
const as = (password: string) => new MailpitClient(app.url, { auth: { username: 'any', password } });
const app = await startApp(SETTINGS);
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

  it('lists, reads, marks, tags and deletes as the client expects', async () => {
    const older = { total: 2, unread: 2, count: 1, start: 1, messages: [{ Subject: 'Welcome Ada' }] };
    expect(await mailpit.listMessages(1, 1)).toMatchObject(older);
    const id = await idOfWelcome();
    const { Attachments, Inline, Text } = await mailpit.getMessageSummary(id);
    expect(Text).toBe('Your code is 482913');
    const file = await mailpit.getMessageAttachment(id, Attachments[0]?.PartID ?? '');
    expect([file.type, await file.text()]).toEqual(['text/plain', 'The terms']);
    expect((await mailpit.getAttachmentThumbnail(id, Inline[0]?.PartID ?? '')).size).toBe(8);
    const picture = `/api/v1/message/${id}/part/${Inline[0]?.PartID}`;
    expect(await mailpit.renderMessageHTML(id)).toContain(`<img src="${picture}">`);
    await expect(mailpit.renderMessageHTML()).rejects.toThrow('404 Not Found');
    expect(await subjects('is:unread')).toEqual([]);
    await mailpit.setReadStatus({ IDs: [id], Read: false });
    expect(await mailpit.getInfo()).toMatchObject({ Messages: 2, Unread: 1, Tags: {} });
    await mailpit.setTags({ IDs: [id], Tags: ['run 7', 'B!'] });
    expect(await mailpit.getTags()).toEqual(['B', 'run 7']);
    await expect(mailpit.deleteTag('none')).rejects.toThrow('tag not found: none');
    await mailpit.deleteMessages({ IDs: [id, 'unknown'] });
    await mailpit.deleteMessagesBySearch({ query: 'to:eve' });
    expect(await mailpit.listMessages()).toMatchObject({ total: 0, messages: [] });
  });

  // mailpit-recorded.json has more searches, with the answers of the original.
  it.each([
    ['code', ['Welcome Ada']],
    ['has:attachments', ['Welcome Ada']],
    ['smaller:1kb', ['Second mail']],
    ['before:"2020-01-01 10:00"', []],
    ['message-id:example.com', ['Second mail', 'Welcome Ada']],
    ['re: "', []],
  ])('finds by %s', async (query, expected) => {
    expect(await subjects(query)).toEqual(expected);
  });

  it('takes requests as cypress-mailpit writes them: an empty list of ids for all, two slashes before view', async () => {
    for (const [Read, unread] of [
      [true, 0],
      [false, 2],
    ] as const) {
      expect((await app.api('PUT', '/api/v1/messages', { body: { IDs: [], Read } })).body).toBe('ok');
      expect(await mailpit.listMessages()).toMatchObject({ unread });
    }
    const id = await idOfWelcome();
    const viewOf = async (name: string) => {
      const { headers } = await app.api('GET', `//view/${name}`);
      return (await app.api('GET', headers.get('location') ?? '')).body;
    };
    expect(await viewOf(`${id}.html`)).toContain('<p>Hi <img');
    expect(await viewOf(`${id}.txt`)).toBe('Your code is 482913');
    expect((await app.api('GET', `/api/v1/message/${id}/sa-check`)).status).toBeGreaterThanOrEqual(400);
  });

  it('sends by JSON to the inbox of the recipient, or to the sink', async () => {
    const inbox = await app.createInbox();
    const mail = { From: { Email: 'me@example.com' }, Subject: 'By JSON ä', Text: 'T' };
    const To = [{ Email: inbox.address }];
    const sent = await mailpit.sendMessage({ ...mail, To, Bcc: ['b@example.com'] });
    expect(await mailpit.getMessageSummary(sent.ID)).toMatchObject({ Bcc: [{ Address: 'b@example.com' }] });
    expect(await app.messages(inbox)).toMatchObject([{ subject: 'By JSON ä' }]);
  });

  it('waits as the client does, by polling', async () => {
    const waiting = mailpit.waitForMessage({ query: 'subject:later' }, { timeout: 20_000, interval: 50 });
    await app.send({ ...SECOND, subject: 'Sent later' });
    expect(await waiting).toMatchObject({ Subject: 'Sent later' });
  });

  it('lists the links of a mail, opens none, and lets no test pass on that', async () => {
    const { Errors, Links } = await mailpit.linkCheck(await idOfWelcome());
    expect(Errors).toBe(Links.length);
    const Status = expect.stringContaining('Not checked');
    expect(Links[0]).toEqual({ URL: 'https://example.com/confirm', StatusCode: 0, Status });
  });

  it('begins a row with the HTML, at most 200 bytes of it, and never half a character', async () => {
    await app.send({ ...SECOND, html: `<p>${'x'.repeat(199)}ä and more</p>` });
    expect((await mailpit.listMessages()).messages[0]?.Snippet).toBe(`${'x'.repeat(199)}...`);
  });

  it('gives header fields as they were sent, encoded', async () => {
    await app.send({ ...SECOND, subject: 'Grüße' });
    const { Subject } = await mailpit.getMessageHeaders();
    expect(Subject).toEqual([expect.stringMatching(/^=\?UTF-8\?/i)]);
  });

  it('refuses all recipients while chaos is set, also of inboxes, and takes mail when it is not', async () => {
    const inbox = await app.createInbox();
    const send = (to: string) =>
      app.send({ ...SECOND, to }).then(
        () => 'sent',
        ({ response }) => response,
      );
    const refused = () => Promise.all([SECOND.to, inbox.address].map(send));
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
});

describe('two suites in one server, each with the read token of its inbox as password', () => {
  it('see, mark and delete their own mail, and nothing of the other', async () => {
    const inboxes = [await app.createInbox(), await app.createInbox()];
    const suites = inboxes.map(({ token }) => as(token));
    for (const { address } of inboxes) await app.send({ ...SECOND, to: address, subject: `For ${address}` });
    const seen = await Promise.all(suites.map((suite) => suite.listMessages()));
    const subjects = seen.map(({ messages }) => messages.map(({ Subject }) => Subject));
    expect(subjects).toEqual(inboxes.map(({ address }) => [`For ${address}`]));
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
  const get = (path: string, headers: Record<string, string> = {}) => app.api('GET', path, { headers });

  it.each([
    ['?wait=20', {}],
    ['', { 'x-wait': '20' }],
  ])('holds a search until it has a match (%s %o)', async (wait, headers) => {
    const to = `held${wait.length}@example.org`;
    const held = get(`/api/v1/search${wait || '?tz=UTC'}&query=to:${to}`, headers as Record<string, string>);
    await app.send({ ...SECOND, subject: 'Another' });
    await app.send({ ...SECOND, to });
    expect((await held).body).toMatchObject({ messages_count: 1, messages: [{ Subject: 'Second mail' }] });
  });

  it('asks for a password, and says what it is', async () => {
    const none = await app.api('GET', '/api/v1/messages', { as: null });
    expect(none.status).toBe(401);
    expect(none.headers.get('www-authenticate')).toMatch(/^Basic realm="/);
    await expect(as('mfk_wrong').listMessages()).rejects.toThrow('401 Unauthorized');
    // A browser sends a stored password also for pages of others.
    const foreign = await get('/api/v1/messages', { 'sec-fetch-site': 'cross-site' });
    expect(foreign.status).toBe(403);
  });

  it('needs no password on the machine of `mayfly dev`, and for nobody else', async () => {
    const dev = await appOfTest({ ...SETTINGS, MAYFLY_DEV_KEY: 'on' });
    const plain = new MailpitClient(dev.url);
    await dev.send(SECOND);
    expect(await plain.listMessages()).toMatchObject({ total: 1 });
    expect(await plain.deleteMessages()).toBe('ok');
    for (const [name, value] of [
      ['x-forwarded-for', '203.0.113.7'],
      ['origin', 'https://evil.example'],
      ['sec-fetch-site', 'cross-site'],
      // Another name for this machine, as a page would use that rebinds its own.
      ['host', 'evil.example'],
    ] as const) {
      const answer = await dev.api('GET', '/api/v1/messages', { as: null, headers: { [name]: value } });
      expect(answer.status).toBe(403);
    }
  });

  it('shows a page of a mail that runs nothing, and leads to the newest', async () => {
    await app.send({ ...SECOND, html: '<script>fetch("/v1/keys")</script>' });
    const latest = await get('/view/latest');
    const location = latest.headers.get('location') ?? '';
    expect([latest.status, location]).toEqual([302, expect.stringMatching(/^\/view\/msg_/)]);
    const policy = (await get(`${location}.html`)).headers.get('content-security-policy');
    expect(policy).toMatch(/script-src 'none'.*sandbox(?!.*allow-scripts)/);
    const inConsole = (await get(location)).headers.get('location');
    expect(inConsole).toMatch(/^\/console\/inboxes\/inb_\w+\/messages\/msg_/);
    expect((await get('/livez')).status).toBe(200);
  });

  it.each([
    ['/api/v1/messages?wait=soon', 400],
    ['/api/v1/message/..%2F..%2Fkeys/raw', 404],
  ])('refuses GET %s with %i', async (path, status) => {
    expect((await get(path)).status).toBe(status);
  });

  it('holds no memory of responses that were read', async () => {
    await app.send({ ...SECOND, attachments: [{ filename: 'a.zip', content: Buffer.alloc(6_000_000) }] });
    // More than the bytes of unread responses that an account may have.
    for (let n = 0; n < 9; n++) expect((await get('/api/v1/message/latest/raw')).status).toBe(200);
  });

  it('is not there where it is off', async () => {
    const plain = await appOfTest();
    expect((await plain.api('GET', '/api/v1/messages')).status).toBe(404);
  });
});
