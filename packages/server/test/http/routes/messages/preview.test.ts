import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startHttp, type TestHttp } from '../../start-http.ts';

describe('a link to the preview of a message', () => {
  let http: TestHttp;
  let inbox: Awaited<ReturnType<TestHttp['createInbox']>>;
  let path: string;
  beforeEach(async () => {
    http = await startHttp();
    inbox = await http.createInbox();
    path = await messageIn(inbox.id);
  });
  afterEach(() => http.stop());

  async function messageIn(id: string): Promise<string> {
    const { body, status } = await http.api('POST', `/v1/inboxes/${id}/messages`, {
      headers: { 'content-type': 'message/rfc822' },
      body: 'Subject: Hi\r\nContent-Type: text/html\r\n\r\n<p>Hello there</p><img src="https://x.example/a.png">\r\n',
    });
    expect(status).toBe(201);
    return `/v1/inboxes/${id}/messages/${body.id}`;
  }

  const linkTo = async (message = path, remoteContent = false): Promise<string> => {
    const { status, body } = await http.api('POST', `${message}/preview`, { body: { remoteContent } });
    expect(status).toBe(200);
    expect(Date.parse(body.expiresAt)).toBe(http.clock.now() + 600_000);
    return new URL(body.url).pathname;
  };
  const open = (link: string) => http.api('GET', link, { as: null });

  it('shows the message without a credential for ten minutes', async () => {
    const link = await linkTo();
    const { status, body, headers } = await open(link);
    expect([status, body.includes('Hello there')]).toEqual([200, true]);
    expect(headers.get('content-security-policy')).not.toContain('https:');
    await http.clock.leap(599_999);
    expect((await open(link)).status).toBe(200);
    await http.clock.leap(1);
    expect((await open(link)).status).toBe(404);
  });

  it('shows the text of a message without HTML, with links that can be clicked and nothing else of HTML', async () => {
    const { body: message } = await http.api('POST', `/v1/inboxes/${inbox.id}/messages`, {
      headers: { 'content-type': 'message/rfc822' },
      body: 'Subject: Confirm\r\n\r\nOpen https://shop.example/confirm?a=1&b="2 <b>now</b> or\r\nhttps://shop.example/other, javascript:alert(1)\r\n',
    });
    const { body } = await open(await linkTo(`/v1/inboxes/${inbox.id}/messages/${message.id}`));
    expect(body).toMatch(/<a href="https:\/\/shop\.example\/confirm\?a=1&amp;b=/);
    expect(body).toMatch(
      /<a href="https:\/\/shop\.example\/other"[^>]*>https:\/\/shop\.example\/other<\/a>, javascript/,
    );
    expect(body).toContain('&lt;b>now&lt;/b> or');
    expect(body.match(/<a /g)).toHaveLength(2);
  });

  it('ends with its message and with its inbox', async () => {
    const [one, other] = [await linkTo(), await linkTo(await messageIn(inbox.id))];
    expect((await http.api('DELETE', path)).status).toBe(204);
    expect([(await open(one)).status, (await open(other)).status]).toEqual([404, 200]);
    expect((await http.api('DELETE', `/v1/inboxes/${inbox.id}`)).status).toBe(204);
    expect((await open(other)).status).toBe(404);
    const ending = await http.createInbox();
    const last = await linkTo(await messageIn(ending.id));
    expect((await http.api('POST', `/v1/inboxes/${ending.id}/expire`)).status).toBe(204);
    expect((await open(last)).status).toBe(404);
  });

  it('ends with the API key that asked for it, when that is revoked or expires', async () => {
    const key = async (fields: object) => (await http.api('POST', '/v1/keys', { body: fields })).body;
    const expiresAt = new Date(http.clock.now() + 60_000).toISOString();
    const revoked = await key({ name: 'one' });
    const expiring = await key({ name: 'two', expiresAt });
    const linkWith = async (as: string) =>
      new URL((await http.api('POST', `${path}/preview`, { as, body: {} })).body.url).pathname;
    const links = [await linkWith(revoked.key), await linkWith(expiring.key), await linkWith(inbox.token)];
    const statuses = async () => Promise.all(links.map(async (link) => (await open(link)).status));
    expect(await statuses()).toEqual([200, 200, 200]);
    expect((await http.api('DELETE', `/v1/keys/${revoked.id}`)).status).toBe(204);
    expect(await statuses()).toEqual([404, 200, 200]);
    await http.clock.leap(60_000);
    expect(await statuses()).toEqual([404, 404, 200]);
  });

  it('cannot be changed: each letter of it counts, and the answer to a false one is always the same', async () => {
    const link = await linkTo();
    const other = await linkTo(await messageIn((await http.createInbox()).id));
    const unknown = await open('/preview/pv_unknown');
    const answer = ({ status, body }: Awaited<ReturnType<typeof open>>) => [status, body.code, body.detail];
    const swapped = link.replace(/msg_[^.]+/, /msg_[^.]+/.exec(other)?.[0] ?? '');
    const remote = link.replace('.0.', '.1.');
    const later = link.replace(/\.0\.[^.]+/, `.0.${(http.clock.now() + 1e9).toString(36)}`);
    for (const bad of [swapped, remote, later, `${link}x`, link.slice(0, -1), link.replace('pv_', '')]) {
      expect([bad, ...answer(await open(bad))]).toEqual([bad, ...answer(unknown)]);
    }
    for (let at = '/preview/'.length; at < link.length - 1; at++) {
      const changed = link.slice(0, at) + (link[at] === 'a' ? 'b' : 'a') + link.slice(at + 1);
      expect([changed, (await open(changed)).status]).toEqual([changed, 404]);
    }
    expect((await open(link)).status).toBe(200);
    for (const odd of ['%00', 'pv_', '..%2f', `pv_${'a'.repeat(5_000)}`]) {
      expect((await open(`/preview/${odd}`)).status).toBeGreaterThanOrEqual(400);
      expect((await open(`/preview/${odd}`)).status).toBeLessThan(500);
    }
  });
});
