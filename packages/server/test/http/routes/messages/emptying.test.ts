import { beforeEach, describe, expect, it, vi } from 'vitest';
import { type Body, type TestInbox, useHttp } from '../../start-http.ts';

const http = useHttp();

describe('DELETE /v1/inboxes/{id}/messages', () => {
  let inbox: TestInbox;
  let path: string;
  beforeEach(async () => {
    inbox = await http.createInbox();
    path = `/v1/inboxes/${inbox.id}/messages`;
  });

  const empty = (as = http.keys.own) => http.api('DELETE', path, { as });
  const list = async (query = '') => (await http.api('GET', `${path}${query}`, { as: inbox.token })).body;
  const idsOf = ({ messages }: Body): string[] => messages.map(({ id }: Body) => id);

  it('leaves nothing to read: not in the list, not by id, not what was cached', async () => {
    const raw = 'Subject: x\r\nMIME-Version: 1.0\r\nContent-Disposition: attachment\r\n\r\nx\r\n';
    const id = await http.deliverRaw(inbox, raw);
    const { body: message } = await http.api('GET', `${path}/${id}`);
    const attachment = new URL(message.attachments[0].url).pathname;
    const paths = [`${path}/${id}`, `${path}/${id}/raw`, attachment];
    for (let n = 0; n < 3; n++) {
      for (const one of [...paths, path]) expect((await http.api('GET', one)).status).toBe(200);
    }
    const etag = (await http.api('GET', path)).headers.get('etag') ?? '';
    expect((await empty()).status).toBe(204);
    for (const one of paths) expect((await http.api('GET', one)).status).toBe(404);
    const changed = await http.api('GET', path, { headers: { 'if-none-match': etag } });
    expect([changed.status, changed.body.messages]).toEqual([200, []]);
    expect((await list('?subject=x')).messages).toEqual([]);
    expect((await http.api('DELETE', `${path}/${id}`)).status).toBe(404);
  });

  it('keeps the inbox as it is, but for the number of its messages', async () => {
    await http.deliver(inbox);
    const { messageCount, ...before } = (await http.api('GET', `/v1/inboxes/${inbox.id}`)).body;
    expect(messageCount).toBe(1);
    await empty();
    expect((await http.api('GET', `/v1/inboxes/${inbox.id}`)).body).toEqual({ ...before, messageCount: 0 });
  });

  it('lets a client that follows a cursor, a message id or a time continue exactly', async () => {
    const first = await http.deliver(inbox);
    const { cursor: old, messages } = await list();
    await http.deliver(inbox);
    await empty();
    const { cursor } = await list(`?since=${old}`);
    const later = await http.deliver(inbox);
    for (const since of [inbox.cursor, old, cursor, first, messages[0].receivedAt]) {
      expect(idsOf(await list(`?since=${encodeURIComponent(since)}`))).toEqual([later]);
    }
    expect(idsOf(await list())).toEqual([later]);
    expect(idsOf(await list(`?before=${later}`))).toEqual([]);
  });

  it('ends no wait and no stream: both go on with the next message', async () => {
    await http.deliver(inbox);
    const { cursor } = await list();
    const waits = [
      http.api('GET', `${path}?wait=30&since=${cursor}`),
      http.api('POST', `/v1/inboxes/${inbox.id}/wait`, { body: { since: cursor } }),
    ];
    await http.clock.untilSleeping(2);
    await empty();
    const later = await http.deliver(inbox);
    for (const answer of await Promise.all(waits)) {
      expect(answer).toMatchObject({ status: 200, body: { messages: [{ id: later }] } });
    }
  });

  it('succeeds for an empty inbox, and answers 404 when the inbox ends meanwhile', async () => {
    expect((await empty()).status).toBe(204);
    const { deleteAll } = http.store.messages;
    using _deleting = vi.spyOn(http.store.messages, 'deleteAll').mockImplementation(async (...args) => {
      await http.store.inboxes.delete(http.accountId, inbox.id, http.clock.now());
      return deleteAll(...args);
    });
    expect((await empty()).status).toBe(404);
  });
});
