import { beforeAll, expect, it } from 'vitest';
import { describeOnEngines, useServers } from '../support/nodes.ts';
import type { TestApp } from '../support/start-app.ts';

type Inbox = Awaited<ReturnType<TestApp['createInbox']>>;

describeOnEngines('marks of a message', (engine) => {
  const servers = useServers(engine);
  const api: TestApp['api'] = (...asked) => servers.first().api(...asked);
  let inbox: Inbox;
  let path: string;
  beforeAll(async () => {
    inbox = await servers.first().createInbox();
    path = await inject('Subject: marked\r\n\r\nx\r\n');
  });

  async function inject(raw: string): Promise<string> {
    const headers = { 'content-type': 'message/rfc822' };
    const { body } = await api('POST', `/v1/inboxes/${inbox.id}/messages`, { body: raw, headers });
    return `/v1/inboxes/${inbox.id}/messages/${body.id}`;
  }
  const patch = (body: object, at = path) => api('PATCH', at, { body });
  const tagOf = async (at: string) => (await servers.last().api('GET', at)).headers.get('etag');

  it('are shown by everything that shows the message, on every server', async () => {
    const { status, body } = await patch({ read: true, tags: ['Reviewed', 'run 4711'] });
    expect([status, body.tags]).toEqual([200, ['Reviewed', 'run 4711']]);
    const marks = { readAt: body.readAt, tags: body.tags };
    expect(Date.now() - Date.parse(body.readAt)).toBeLessThan(60_000);
    const last = servers.last();
    expect((await last.api('GET', path)).body).toMatchObject(marks);
    const wait = { body: { timeoutSeconds: 0 } };
    const lists = [
      (await last.api('GET', `/v1/inboxes/${inbox.id}/messages`)).body,
      (await last.api('GET', `/v1/inboxes/${inbox.id}/messages?subject=marked`)).body,
      (await last.api('GET', '/v1/messages')).body,
      (await last.api('GET', '/v1/messages?q=is:read+tag:reviewed')).body,
      (await last.api('POST', `/v1/inboxes/${inbox.id}/wait`, wait)).body,
    ];
    for (const { messages } of lists) expect(messages).toMatchObject([marks]);
  });

  it('stay where they are not named, and the time of the first reading stays', async () => {
    const first = (await patch({ read: true, tags: ['a'] })).body;
    expect((await patch({})).body).toMatchObject({ readAt: first.readAt, tags: ['a'] });
    expect((await patch({ read: true })).body.readAt).toBe(first.readAt);
    expect((await patch({ tags: [] })).body).toMatchObject({ readAt: first.readAt, tags: [] });
    expect((await patch({ read: false })).body).toMatchObject({ readAt: null, tags: [] });
  });

  it('change the ETags of the message and of its list, and only when they change', async () => {
    await patch({ read: false, tags: [] });
    const list = `/v1/inboxes/${inbox.id}/messages`;
    const before = [await tagOf(path), await tagOf(list)];
    await patch({ read: false, tags: [] });
    expect([await tagOf(path), await tagOf(list)]).toEqual(before);
    await patch({ tags: ['changed'] });
    const after = [await tagOf(path), await tagOf(list)];
    expect(after.filter((tag) => before.includes(tag))).toEqual([]);
    const fresh = await api('GET', path, { headers: { 'if-none-match': after[0] ?? '' } });
    expect(fresh.status).toBe(304);
  });

  it('are not made by reading a message', async () => {
    const other = await inject('Subject: other\r\n\r\nx\r\n');
    for (const what of ['', '/raw', '/timeline', '/lint']) await api('GET', `${other}${what}`);
    expect((await api('GET', other)).body).toMatchObject({ readAt: null, tags: [] });
    await api('DELETE', other);
  });

  it('are one where they differ only in case', async () => {
    expect((await patch({ tags: ['CI', 'ci', 'Caf\u00e9', 'CAFE\u0301'] })).body.tags).toEqual([
      'CI',
      'Caf\u00e9',
    ]);
    expect((await patch({ readAt: null })).body.detail).toContain('Did you mean "read"?');
  });
});
