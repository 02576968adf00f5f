/*
 * The requests of cypress-mailpit 2.0.0 and cypress-mailhog 2.5.0, command by command, and the fields that they read of
 * the answers. Cypress itself cannot run here, and the packages need it.
 */
import { describe, expect, it } from 'vitest';
import { startApp } from '../support/start-app.ts';

/** A fresh server as `mayfly dev --like` starts it. @returns `cy.request`, without a credential, and how to end it */
async function start(program: 'mailpit' | 'mailhog') {
  const app = await startApp({ MAYFLY_DIALECT: program, MAYFLY_SINK: 'on', MAYFLY_DEV_KEY: 'open' });
  const request = async (
    method: string,
    path: string,
    {
      qs = {},
      body,
      failOnStatusCode = true,
    }: { qs?: object; body?: object; failOnStatusCode?: boolean } = {},
  ) => {
    const url = new URL(`${app.url}${path}`);
    for (const [name, value] of Object.entries(qs)) url.searchParams.set(name, String(value));
    const answer = await fetch(url, {
      method,
      ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (failOnStatusCode && !answer.ok) throw new Error(`${answer.status} ${text}`);
    const isJson = /json/.test(answer.headers.get('content-type') ?? '');
    return { status: answer.status, body: isJson && text !== '' ? JSON.parse(text) : text };
  };
  return { app, request };
}

/** The mail that `mailpitSendMail` sends without options. */
const DEFAULT_MAIL = {
  Attachments: [],
  Bcc: ['bcc@example.com'],
  Cc: [{ Email: 'cc@example.com', Name: 'CC' }],
  From: { Email: 'from@example.com', Name: 'From' },
  HTML: '<p>hello from mailpit</p>',
  Headers: {},
  ReplyTo: [{ Email: 'replyto@example.com', Name: 'ReplyTo' }],
  Subject: 'Hello Mailpit',
  Tags: [],
  Text: 'hello from mailpit',
  To: [{ Email: 'jane@example.com', Name: 'Jane' }],
};

describe('cypress-mailpit, request by request', () => {
  it('deletes, sends, lists, searches, reads and marks', async () => {
    const { app, request } = await start('mailpit');
    const search = async (query: string) =>
      (await request('GET', '/api/v1/search', { qs: { query, start: 0, limit: 50 } })).body;
    const unread = async () => (await request('GET', '/api/v1/messages?start=0&limit=50')).body.unread;
    const file = { Content: 'eA==', Filename: 'terms.txt' };

    expect((await request('DELETE', '/api/v1/messages')).status).toBe(200);
    expect((await search('subject:Hello Mailpit')).messages_count).toBe(0);
    const sent = await request('POST', '/api/v1/send', { body: DEFAULT_MAIL });
    expect(sent.body).toEqual({ ID: expect.stringMatching(/./) });
    await request('POST', '/api/v1/send', {
      body: { ...DEFAULT_MAIL, Subject: 'Other', Attachments: [file] },
    });

    const { body: list } = await request('GET', '/api/v1/messages?start=0&limit=50');
    expect(list).toMatchObject({
      messages_count: 2,
      messages: [{ Subject: 'Other' }, { Subject: 'Hello Mailpit' }],
    });
    const { body: mail } = await request('GET', '/api/v1/message/latest');
    expect(mail).toMatchObject({
      Subject: 'Other',
      To: [{ Address: 'jane@example.com' }],
      From: { Address: 'from@example.com' },
      Attachments: [{ FileName: 'terms.txt' }],
    });
    expect((await search('subject:Hello Mailpit')).messages_count).toBe(1);
    expect((await search('to:jane@example.com')).messages_count).toBe(2);
    expect((await search('to:nobody@example.com')).messages_count).toBe(0);

    expect((await request('GET', `//view/${mail.ID}.html`)).body).toContain('<p>hello from mailpit</p>');
    expect((await request('GET', `//view/${mail.ID}.txt`)).body).toContain('hello from mailpit');
    await expect(request('GET', `/api/v1/message/${mail.ID}/sa-check`)).rejects.toThrow(/^40/);

    for (const [IDs, Read, left] of [
      [[], true, 0],
      [[mail.ID], false, 1],
      [list.messages.map(({ ID }: { ID: string }) => ID), true, 0],
      [[], false, 2],
    ] as [string[], boolean, number][]) {
      expect((await request('PUT', '/api/v1/messages', { body: { IDs, Read } })).body).toBe('ok');
      expect(await unread()).toBe(left);
    }
    await request('DELETE', '/api/v1/search', { qs: { query: 'subject:Other' } });
    expect((await request('GET', '/api/v1/messages?start=0&limit=50')).body.total).toBe(1);
    await app.stop();
  });
});

describe('cypress-mailhog, request by request', () => {
  it('deletes, lists, searches and reads', async () => {
    const { app, request } = await start('mailhog');
    const list = async (path: string) => (await request('GET', path)).body.items;
    const mail = {
      from: 'Shop <shop@example.com>',
      to: 'jane@example.com',
      subject: 'Hello',
      text: 'The text',
    };

    expect((await request('DELETE', '/api/v1/messages')).status).toBe(200);
    expect(await list('/api/v2/messages?limit=50')).toEqual([]);
    await app.send(mail);
    const attachments = [{ filename: 'terms.txt', content: 'x' }];
    await app.send({ ...mail, to: 'bob@example.org', subject: 'Other', attachments });

    const [other, hello] = await list('/api/v2/messages?limit=50');
    expect(other.Content.Headers.Subject[0]).toBe('Other');
    expect(hello).toMatchObject({
      Content: { Headers: { Subject: ['Hello'] } },
      To: [{ Mailbox: 'jane', Domain: 'example.com' }],
      Raw: { From: 'shop@example.com' },
    });
    expect(hello.Content.Body).toContain('The text');
    const dispositions = other.MIME.Parts.map(
      ({ Headers }: { Headers: Record<string, string[]> }) => Headers['Content-Disposition']?.[0],
    );
    expect(dispositions).toContain('attachment; filename=terms.txt');
    for (const [kind, query] of [
      ['to', 'bob%40example.org'],
      ['containing', 'Other'],
    ])
      expect(await list(`/api/v2/search?kind=${kind}&query=${query}&limit=50`)).toMatchObject([
        { ID: other.ID },
      ]);
    expect(await list('/api/v2/search?kind=from&query=shop&limit=1')).toHaveLength(1);
    // Jim, which it reads as a status: off.
    for (const method of ['GET', 'POST', 'DELETE'])
      expect((await request(method, '/api/v2/jim', { failOnStatusCode: false })).status).not.toBe(200);
    await app.stop();
  });
});
