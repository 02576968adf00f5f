import { beforeEach, describe, expect, it } from 'vitest';
import { openStream } from '../../../support/event-stream.ts';
import { type Body, startHttp, type TestInbox, useAccounts } from '../../start-http.ts';

const MINUTE = 60_000;
const idsOf = ({ messages }: Body): string[] => messages.map(({ id }: Body) => id);

describe('GET /v1/messages', () => {
  const http = useAccounts();
  let a: TestInbox;
  let b: TestInbox;
  beforeEach(async () => {
    [a, b] = [await http.createInbox(), await http.createInbox()];
  });

  const get = (query = '', headers: Record<string, string> = {}) =>
    http.api('GET', `/v1/messages${query === '' ? '' : `?${query}`}`, { headers });
  const list = async (query = ''): Promise<Body> => {
    const { status, body } = await get(query);
    expect([query, status]).toEqual([query, 200]);
    return body;
  };

  it('lists the messages of all inboxes as each inbox shows them, newest first', async () => {
    const ids: string[] = [];
    for (const inbox of [a, b, b, a]) {
      ids.unshift(await http.deliver(inbox, { subject: inbox.address }));
      // The order is that of the commits, whatever the clock says.
      http.clock.step(-5_000);
    }
    const foreign = await http.createInbox({}, http.keys.foreign);
    await http.deliver(foreign, {}, http.foreignId);
    const body = await list();
    expect(idsOf(body)).toEqual(ids);
    expect(body).toMatchObject({ hasMore: false, before: null, cursor: expect.stringMatching(/^acur_/) });
    const [, second] = (await http.api('GET', `/v1/inboxes/${a.id}/messages`)).body.messages;
    expect(body.messages.at(-1)).toEqual(second);
    const theirs = (await http.api('GET', '/v1/messages', { as: http.keys.foreign })).body;
    expect(theirs.messages).toMatchObject([{ inboxId: foreign.id }]);
  });

  it.each(['', '&subject=hello', '&q=hello'])('is paged exactly while others arrive: %s', async (query) => {
    const ids: string[] = [];
    for (let n = 0; n < 11; n++) ids.unshift(await http.deliver(n % 3 === 0 ? a : b));
    let page = await list(`limit=3${query}`);
    const seen = idsOf(page);
    while (page.hasMore) {
      await http.deliver(a);
      page = await list(`limit=3&before=${page.before}${query}`);
      seen.push(...idsOf(page));
    }
    expect(page.before).toBe(null);
    expect(seen).toEqual(ids);
  });

  it('has a cursor that continues a stream, and streams have one that continues it', async () => {
    await http.deliver(a);
    const { cursor } = await list();
    const later = await http.deliver(a);
    const stream = await openStream(`${http.url}/v1/events`, { as: http.keys.own, lastEventId: cursor });
    const event = await stream.nextEvent();
    stream.close();
    expect(event?.data.message.id).toBe(later);
    expect(idsOf(await list(`since=${event?.id}`))).toEqual([]);
    expect(idsOf(await list(`since=${cursor}`))).toEqual([later]);
  });

  it('takes a time as since', async () => {
    await http.deliver(a);
    const time = http.clock.now();
    await http.clock.advance(10);
    const later = await http.deliver(b);
    for (const since of [String(time), encodeURIComponent(new Date(time).toISOString())]) {
      expect(idsOf(await list(`since=${since}`))).toEqual([later]);
    }
    for (const ms of [10, 1_000_000]) expect(idsOf(await list(`since=${time + ms}`))).toEqual([]);
    expect(idsOf(await list('since=0'))).toHaveLength(2);
  });

  it('refuses cursors that are not of this account, and says which are', async () => {
    const id = await http.deliver(a);
    const inboxCursor = (await http.api('GET', `/v1/inboxes/${a.id}`)).body.cursor;
    const { cursor: foreign } = (await http.api('GET', '/v1/messages', { as: http.keys.foreign })).body;
    for (const wrong of [inboxCursor, id, foreign, 'acur_zz_x', 'yesterday', '']) {
      const since = await get(`since=${wrong}`);
      expect([wrong, since.status, since.body.code]).toEqual([wrong, 400, 'invalid_since']);
      const before = await get(`before=${wrong}`);
      expect([wrong, before.status]).toEqual([wrong, 400]);
      expect(before.body.errors).toMatchObject([{ path: 'before' }]);
    }
  });

  it('has an ETag that changes with all that it shows, and only then; a 304 costs nothing', async () => {
    const short = await http.createInbox({ ttlMinutes: 1 });
    await http.deliver(short);
    const kept = await http.deliver(a);
    const used = async () => (await http.api('GET', '/v1/usage')).body.used;
    for (const query of ['', 'q=hello']) {
      const tag = (await get(query)).headers.get('etag') ?? '';
      const before = await used();
      const same = await get(query, { 'if-none-match': `"x", ${tag}` });
      expect([same.status, same.bytes.length, same.headers.get('etag')]).toEqual([304, 0, tag]);
      expect(await used()).toBe(before);
      expect((await get(query, { 'if-none-match': '"x"' })).status).toBe(200);
    }
    let tag = (await get()).headers.get('etag') ?? '';
    const changes: (() => Promise<unknown>)[] = [
      () => http.deliver(b),
      () => http.api('DELETE', `/v1/inboxes/${a.id}/messages/${kept}`),
      () => http.api('DELETE', `/v1/inboxes/${b.id}/messages`),
      // Nothing is written: time alone ends the inbox.
      () => http.clock.advance(MINUTE),
    ];
    for (const change of changes) {
      await change();
      const changed = await get('', { 'if-none-match': tag });
      expect(changed.status).toBe(200);
      tag = changed.headers.get('etag') ?? '';
    }
    expect((await get('wait=0')).headers.get('etag')).toBe(tag);
    expect((await http.api('HEAD', '/v1/messages')).headers.get('etag')).toBe(tag);
  });

  it.each(['%20%09', `w${'+w'.repeat(20)}`])('refuses q=%s', async (words) => {
    const { status, body } = await get(`q=${words}`);
    expect([status, body.code]).toEqual([400, 'invalid_request']);
    expect(body.errors).toMatchObject([{ path: 'q' }]);
  });

  describe('with wait', () => {
    it('answers as soon as a message comes to any inbox, also to one that is created meanwhile', async () => {
      const { cursor } = await list();
      const waiting = get(`wait=60&since=${cursor}`);
      await http.clock.untilSleeping();
      const id = await http.deliver(await http.createInbox());
      const { body, headers } = await waiting;
      expect([idsOf(body), headers.get('etag')]).toEqual([[id], null]);
      expect(idsOf(await list(`since=${body.cursor}`))).toEqual([]);
    });

    it('answers at once with before', async () => {
      await http.deliver(a);
      const { cursor } = await list();
      await http.deliver(a);
      expect(idsOf(await list(`wait=60&q=never&before=${cursor}`))).toEqual([]);
    });

    it('ends with the server', async () => {
      const other = await startHttp();
      const waiting = other.api('GET', '/v1/messages?wait=60&q=x');
      await other.clock.untilSleeping();
      await Promise.all([other.stop(), waiting.then(({ status }) => expect(status).toBe(503))]);
    });
  });
});
