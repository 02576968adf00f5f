import { expect, it } from 'vitest';
import { rcpt } from '../../support/mail/smtp-mail.ts';
import { describeOnPostgres, useServers } from '../../support/nodes.ts';
import { TEST_KEY, type TestApp } from '../../support/start-app.ts';

describeOnPostgres('a user of two servers behind a balancer', (engine) => {
  const { apps, first, last } = useServers(engine);

  it('gets 404 for an id with a NUL, which PostgreSQL has no text for', async () => {
    const inbox = await first().createInbox();
    const paths = ['/v1/inboxes/a%00', `/v1/inboxes/${inbox.id}/messages/msg_%00`, '/v1/webhooks/%00'];
    for (const path of paths) expect([path, (await first().api('GET', path)).status]).toEqual([path, 404]);
    expect((await first().api('DELETE', '/v1/keys/key_%00')).status).toBe(404);
  });

  it('opens a link to a preview on another server than issued it, until the inbox is deleted', async () => {
    const inbox = await first().createInbox();
    const path = `/v1/inboxes/${inbox.id}/messages`;
    const { body: message } = await first().api('POST', path, {
      headers: { 'content-type': 'message/rfc822' },
      body: 'Subject: Hi\r\nContent-Type: text/html\r\n\r\n<p>Hello there</p>\r\n',
    });
    const { body: preview } = await first().api('POST', `${path}/${message.id}/preview`, { body: {} });
    const link = new URL(preview.url).pathname;
    const shown = await last().api('GET', link, { as: null });
    expect([shown.status, shown.body]).toEqual([200, expect.stringContaining('Hello there')]);
    expect((await last().api('DELETE', `/v1/inboxes/${inbox.id}`)).status).toBe(204);
    expect((await first().api('GET', link, { as: null })).status).toBe(404);
  });

  it('stays signed in to the console on each server, and is signed out on all', async () => {
    // A browser sends the name of the balancer, whichever server it reaches.
    const browser = { host: 'mayfly.example', 'sec-fetch-site': 'same-origin' };
    const session = '/console/session';
    const { headers } = await first().api('POST', session, { as: TEST_KEY, headers: browser });
    const cookie = headers.get('set-cookie')?.split(';')[0] ?? '';
    const signedIn = { as: null, headers: { ...browser, cookie } };
    const statusOf = async (app: TestApp) => (await app.api('GET', '/v1/inboxes', signedIn)).status;
    expect(await Promise.all(apps.map(statusOf))).toEqual([200, 200]);
    expect((await last().api('DELETE', session, signedIn)).status).toBe(204);
    expect(await Promise.all(apps.map(statusOf))).toEqual([401, 401]);
  });

  it('cannot use a key on one server for longer than a second after it was revoked on the other', async () => {
    const { body } = await first().api('POST', '/v1/keys', { body: { name: 'short', scope: 'full' } });
    const use = async () => (await last().api('GET', '/v1/inboxes', { as: body.key })).status;
    expect(await use()).toBe(200);
    expect((await first().api('DELETE', `/v1/keys/${body.id}`)).status).toBe(204);
    await expect.poll(use, { interval: 100 }).toBe(401);
  });

  it('finds out by a wait on one server why the other one rejected a mail', async () => {
    const inbox = await first().createInbox();
    const typo = inbox.address.replace('@', 'x@');
    expect(await rcpt(last().smtp.port, typo)).toMatch(/^550 /);
    const wait = () => first().api('POST', `/v1/inboxes/${inbox.id}/wait`, { body: { timeoutSeconds: 0 } });
    await expect.poll(async () => JSON.stringify((await wait()).body)).toContain(typo);
  });
});
