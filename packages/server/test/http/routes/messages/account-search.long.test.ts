import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { type Body, type TestInbox, useAccounts } from '../../start-http.ts';

const MINUTE = 60_000;
const SECOND = 1_000;
const idsOf = ({ messages }: Body): string[] => messages.map(({ id }: Body) => id);

describe('a search with GET /v1/messages', () => {
  const http = useAccounts();
  let a: TestInbox;
  let b: TestInbox;
  beforeEach(async () => {
    [a, b] = [await http.createInbox(), await http.createInbox()];
  });

  const get = (query: string) => http.api('GET', `/v1/messages?${query}`);
  const list = async (query = ''): Promise<Body> => {
    const { status, body } = await get(query);
    expect([query, status]).toEqual([query, 200]);
    return body;
  };

  function slowDown(stepMs: number): void {
    const { search } = http.store.messages;
    const slow = vi.spyOn(http.store.messages, 'search').mockImplementation(async (...args) => {
      await http.clock.advance(stepMs);
      return search(...args);
    });
    onTestFinished(() => slow.mockRestore());
  }

  it('looks at 14,000 messages in one request, also of one inbox', async () => {
    const oldest = await http.deliver(a, { subject: 'needle' });
    await http.deliverMany(a, 14_000);
    for (const path of ['/v1/messages', `/v1/inboxes/${a.id}/messages`]) {
      for (const q of ['needle', 'subject:needle', '-subject:hello']) {
        const { body } = await http.api('GET', `${path}?q=${q}`);
        expect([path, q, idsOf(body), body.hasMore]).toEqual([path, q, [oldest], false]);
        expect(body).not.toHaveProperty('searchedTo');
      }
    }
  });

  it.each([
    ['an account', () => '/v1/messages'],
    ['an inbox', () => `/v1/inboxes/${a.id}/messages`],
  ])('of %s answers with less only when its second is over, and says where it goes on', async (_, at) => {
    const oldest = await http.deliver(a, { subject: 'needle' });
    await http.deliverMany(a, 2_400);
    const newest = await http.deliver(a, { subject: 'needle' });
    const path = at();
    const read = async (query: string) => (await http.api('GET', `${path}?q=needle&${query}`)).body;
    const cursor = (await http.api('GET', path)).body.cursor;
    slowDown(400);
    const first = await read('');
    expect([idsOf(first), first.hasMore, first.cursor]).toEqual([[newest], true, cursor]);
    const next = first.before ?? first.searchedTo;
    const middle = await http.api('GET', `${path}?before=${encodeURIComponent(next)}&limit=1`);
    expect(Date.parse(middle.body.messages[0].receivedAt)).toBeLessThanOrEqual(Date.parse(first.searchedTo));
    const second = await read(`before=${encodeURIComponent(next)}`);
    expect([idsOf(second), second.hasMore, second.searchedTo]).toEqual([[oldest], false, undefined]);

    // A wait searches as long, and then waits for what comes.
    const waiting = http.api('GET', `${path}?wait=30&q=nowhere`);
    await http.clock.untilSleeping();
    await http.deliver(a, { subject: 'other' });
    await http.clock.untilSleeping();
    await http.clock.advance(30 * SECOND);
    const { body } = await waiting;
    expect(body).toMatchObject({ messages: [], hasMore: true, searchedTo: first.searchedTo });
  });

  it('leaves the event loop to others, and ends with its client', async () => {
    await http.deliverMany(b, 10_400);
    // The search runs elsewhere: the event loop turns again and again meanwhile.
    let turns = 0;
    let done = false;
    const turning = (async () => {
      for (; !done; turns++) await new Promise((resolve) => setImmediate(resolve));
    })();
    await list('q=nowhere');
    done = true;
    await turning;
    expect(turns).toBeGreaterThan(50);

    const { search } = http.store.messages;
    const gone = new AbortController();
    using spied = vi.spyOn(http.store.messages, 'search').mockImplementation((...args) => {
      if (spied.mock.calls.length === 2) gone.abort();
      return search(...args);
    });
    await expect(http.api('GET', '/v1/messages?q=missing', { signal: gone.signal })).rejects.toThrow();
    await list('q=nowhere&limit=1');
    expect(spied.mock.calls.length).toBeLessThan(2 + 6 + 21);
  });

  it('passes over those of inboxes that ended, though they are not freed yet', async () => {
    const oldest = await http.deliver(a);
    const short = await http.createInbox({ ttlMinutes: 1 });
    await http.deliverMany(short, 1_300);
    await http.clock.advance(MINUTE);
    for (const query of ['', 'limit=1', 'q=hello']) expect(idsOf(await list(query))).toEqual([oldest]);
  });

  it('searches for one account at most twice at a time, and no other waits; that of a client that left does not run', async () => {
    await http.deliverMany(a, 1_200);
    const foreign = await http.createInbox({}, http.keys.foreign);
    await http.deliverRaw(foreign, 'Subject: x\r\n\r\nx', http.foreignId);
    const { search } = http.store.messages;
    const { promise: held, resolve } = Promise.withResolvers<void>();
    let running = 0;
    let most = 0;
    using spied = vi.spyOn(http.store.messages, 'search').mockImplementation(async (...args) => {
      if (args[0].accountId === http.foreignId) return search(...args);
      most = Math.max(most, ++running);
      await held;
      return search(...args).finally(() => running--);
    });
    const searches = Array.from({ length: 8 }, (_, n) => get(`q=nowhere${n}`));
    await expect.poll(() => running).toBe(2);
    const gone = new AbortController();
    const leaving = http.api('GET', '/v1/messages?q=abandoned', { signal: gone.signal });
    const { status } = await http.api('GET', '/v1/messages?q=foreign', { as: http.keys.foreign });
    expect(status).toBe(200);
    gone.abort();
    await expect(leaving).rejects.toThrow();
    resolve();
    const answers = await Promise.all(searches);
    await get('q=last');
    expect(answers.map((answer) => answer.status)).toEqual(answers.map(() => 200));
    expect(most).toBe(2);
    const asked = JSON.stringify(spied.mock.calls.map(([, query]) => query));
    expect(asked).toContain('foreign');
    expect(asked).not.toContain('abandoned');
  });
});
