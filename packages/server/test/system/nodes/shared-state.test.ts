import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiClient, apiClient } from '../../support/api-client.ts';
import { sendTo } from '../../support/mail/smtp-mail.ts';
import { type Nodes, POSTGRES, startNodes } from './nodes.ts';

const MAIL = 'Subject: Hi\r\nContent-Type: text/html\r\n\r\n<p>Hello there</p>\r\n';

describe.skipIf(!POSTGRES)('a user of two nodes behind a balancer', () => {
  let site: Nodes;
  let apis: [ApiClient, ApiClient];
  beforeAll(async () => {
    site = await startNodes();
    for (let n = 0; n < 2; n++) await site.startNode();
    apis = [0, 1].map((n) => apiClient(site.node(n).url, site.node(n).key)) as [ApiClient, ApiClient];
  });
  afterAll(() => site?.close());

  test('gets 404 for an id with a NUL, which PostgreSQL has no text for', async () => {
    const [api] = apis;
    const inbox = await site.node(0).createInbox();
    const paths = ['/v1/inboxes/a%00', `/v1/inboxes/${inbox.id}/messages/msg_%00`, '/v1/webhooks/%00'];
    for (const path of paths) expect([path, (await api('GET', path)).status]).toEqual([path, 404]);
    expect((await api('DELETE', '/v1/keys/key_%00')).status).toBe(404);
  });

  test('opens a link to a preview on another node than issued it, also after that node was killed', async () => {
    const [one, other] = apis;
    const inbox = await site.node(0).createInbox();
    const message = await one('POST', `/v1/inboxes/${inbox.id}/messages`, {
      headers: { 'content-type': 'message/rfc822' },
      body: MAIL,
    });
    const issue = async () => {
      const { status, body } = await one(
        'POST',
        `/v1/inboxes/${inbox.id}/messages/${message.body.id}/preview`,
        {
          body: {},
        },
      );
      expect(status).toBe(200);
      return new URL(body.url).pathname;
    };
    const shown = await other('GET', await issue(), { as: null });
    expect([shown.status, shown.body.includes('Hello there')]).toEqual([200, true]);
    const link = await issue();
    await site.node(0).end('SIGKILL');
    expect((await other('GET', link, { as: null })).status).toBe(200);
    await site.startNode({}, 0);
    apis[0] = apiClient(site.node(0).url, site.node(0).key);
    expect((await apis[0]('GET', link, { as: null })).status).toBe(200);
    expect((await other('DELETE', `/v1/inboxes/${inbox.id}`)).status).toBe(204);
    expect((await apis[0]('GET', link, { as: null })).status).toBe(404);
  });

  test('stays signed in to the console on each node, and is signed out on all', async () => {
    const ask = async (n: number, method: 'GET' | 'POST' | 'DELETE', path: string, headers: object) => {
      // A browser sends the name of the balancer, whichever node it meets.
      const sent = { host: 'mayfly.example', 'sec-fetch-site': 'same-origin', ...headers };
      const answer = await request(site.node(n).url + path, { method, headers: sent });
      await answer.body.dump();
      return { status: answer.statusCode, cookie: String(answer.headers['set-cookie'] ?? '').split(';')[0] };
    };
    const { cookie } = await ask(0, 'POST', '/console/session', {
      authorization: `Bearer ${site.node(0).key}`,
    });
    expect(cookie).not.toBe('');
    const statuses = async () => [
      (await ask(0, 'GET', '/v1/inboxes', { cookie })).status,
      (await ask(1, 'GET', '/v1/inboxes', { cookie })).status,
    ];
    expect(await statuses()).toEqual([200, 200]);
    expect((await ask(1, 'DELETE', '/console/session', { cookie })).status).toBe(204);
    expect(await statuses()).toEqual([401, 401]);
  });

  test('cannot use a key on one node for longer than a second after it was revoked on the other', async () => {
    const [one, other] = apis;
    const { body } = await one('POST', '/v1/keys', { body: { name: 'short', scope: 'full' } });
    expect((await other('GET', '/v1/inboxes', { as: body.key })).status).toBe(200);
    expect((await one('DELETE', `/v1/keys/${body.id}`)).status).toBe(204);
    await expect
      .poll(async () => (await other('GET', '/v1/inboxes', { as: body.key })).status, { interval: 100 })
      .toBe(401);
  });

  test('gets each fault as often as its rule says, on all nodes together', async () => {
    const [one] = apis;
    const inbox = await site.node(0).createInbox();
    const rules = [{ at: 'rcpt', reply: { code: 451, text: 'Try later' }, times: 3 }];
    expect((await one('PUT', `/v1/inboxes/${inbox.id}/faults`, { body: { rules } })).status).toBe(200);
    const replies: string[] = [];
    for (let n = 0; n < 6; n++)
      replies.push((await sendTo(site.node((n + 1) % 2).smtpPort, inbox.address)).slice(0, 3));
    expect(replies).toEqual(['451', '451', '451', '250', '250', '250']);
  });

  test('finds out by a wait on one node why the other one refused a mail', async () => {
    const [one] = apis;
    const inbox = await site.node(0).createInbox();
    const typo = inbox.address.replace('@', 'x@');
    expect(await sendTo(site.node(1).smtpPort, typo)).toMatch(/^550 /);
    await expect
      .poll(async () => {
        const { body } = await one('POST', `/v1/inboxes/${inbox.id}/wait`, { body: { timeoutSeconds: 0 } });
        return JSON.stringify(body);
      })
      .toContain(typo);
  });
});
