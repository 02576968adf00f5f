import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type TestInbox, useHttp } from '../../start-http.ts';

type Seen = { id: string; receivedAt: string };
type Poll = { fresh: Seen[]; cursor: string };

const http = useHttp();

describe('exact polling', () => {
  const pathOf = ({ id }: TestInbox) => `/v1/inboxes/${id}/messages?`;

  /** One poll: the first page and, as long as there is more, the pages below it. */
  async function poll(path: string, since: string, limit = 50, as = http.keys.own): Promise<Poll> {
    const list = `${path}limit=${limit}&since=${encodeURIComponent(since)}`;
    const { status, body } = await http.api('GET', list, { as });
    expect(status).toBe(200);
    const fresh: Seen[] = [...body.messages];
    for (let page = body; page.hasMore; fresh.push(...page.messages))
      page = (await http.api('GET', `${list}&before=${page.before ?? fresh.at(-1)?.id}`)).body;
    return { fresh, cursor: body.cursor };
  }

  /** Polls while others write, and once more when they have finished. @returns what it received, oldest first */
  async function follow(
    start: { path: string; since: string; limit: number; as?: string },
    next: (since: string, got: Poll) => string,
    isWriting: () => boolean,
  ): Promise<string[]> {
    const seen: string[] = [];
    let { since } = start;
    for (let last = false; !last; ) {
      last = !isWriting();
      const got = await poll(start.path, since, start.limit, start.as);
      seen.push(...got.fresh.map(({ id }) => id).reverse());
      since = next(since, got);
    }
    return seen;
  }

  const commits = fc.record({ batch: fc.integer({ min: 1, max: 5 }), tick: fc.nat({ max: 2 }) });
  const plan = fc.array(commits, { minLength: 1, maxLength: 8 });
  const writers = fc.array(plan, { minLength: 1, maxLength: 4 });

  it('shows every message once, to readers that follow cursors and to readers that follow times', async () => {
    await fc.assert(
      fc.asyncProperty(writers, fc.integer({ min: 1, max: 7 }), async (plans, limit) => {
        const { cursor } = (await http.api('GET', '/v1/messages')).body;
        const inbox = await http.createInbox({ ttlMinutes: 43_200 });
        const other = await http.createInbox({ ttlMinutes: 43_200 });
        const delivered: string[] = [];
        const elsewhere: string[] = [];
        let writes = true;
        const writing = plans.map(async (plan) => {
          for (const { batch, tick } of plan) {
            await http.clock.advance(tick);
            const all = Array.from({ length: batch }, () => http.deliver(inbox));
            elsewhere.push(await http.deliver(other));
            delivered.push(...(await Promise.all(all)));
          }
        });
        const isWriting = () => writes;
        const byCursor = (_since: string, got: Poll) => got.cursor;
        const ofInbox = { path: pathOf(inbox), since: '0', limit, as: inbox.token };
        const inboxReaders = [
          follow({ ...ofInbox, since: inbox.cursor }, byCursor, isWriting),
          follow(ofInbox, (since, { fresh }) => fresh[0]?.receivedAt ?? since, isWriting),
          follow(ofInbox, (since, { fresh }) => fresh[0]?.id ?? since, isWriting),
        ];
        const accountReaders = ['/v1/messages?', '/v1/messages?q=hello&'].map((path) =>
          follow({ path, since: cursor, limit }, byCursor, isWriting),
        );
        await Promise.all(writing);
        writes = false;
        for (const seen of await Promise.all(inboxReaders)) expect(seen).toEqual(delivered.toSorted());
        const inOrder = (await poll('/v1/messages?', cursor)).fresh.map(({ id }) => id).reverse();
        expect(inOrder.toSorted()).toEqual([...delivered, ...elsewhere].toSorted());
        for (const seen of await Promise.all(accountReaders)) expect(seen).toEqual(inOrder);
      }),
      { numRuns: 10 },
    );
  });

  it('goes on after a deletion, also of the newest message', async () => {
    const inbox = await http.createInbox();
    await http.deliver(inbox);
    const newest = await http.deliver(inbox);
    await http.api('DELETE', `/v1/inboxes/${inbox.id}/messages/${newest}`);
    const { cursor } = await poll(pathOf(inbox), inbox.cursor);
    expect((await poll(pathOf(inbox), cursor)).fresh).toEqual([]);
    const next = await http.deliver(inbox);
    expect((await poll(pathOf(inbox), cursor)).fresh.map(({ id }) => id)).toEqual([next]);
  });

  it('keeps a page of older messages from moving the cursor past what it did not look at', async () => {
    const inbox = await http.createInbox();
    const [first, second] = [await http.deliver(inbox), await http.deliver(inbox)];
    const page = await http.api('GET', `/v1/inboxes/${inbox.id}/messages?before=${second}`);
    expect(page.body.messages.map(({ id }: Seen) => id)).toEqual([first]);
    const { fresh } = await poll(pathOf(inbox), page.body.cursor);
    expect(fresh.map(({ id }) => id)).toContain(second);
  });

  it('filters on the server, page by page, and the cursor still covers what was left out', async () => {
    const inbox = await http.createInbox();
    const wanted: { id: string }[] = [];
    for (let i = 0; i < 45; i++) {
      const id = await http.deliver(inbox, { subject: i % 9 === 0 ? `Caf\u00c9 ${i}` : `other ${i}` });
      if (i % 9 === 0) wanted.unshift({ id });
    }
    const path = `${pathOf(inbox)}subject=${encodeURIComponent('cafe\u0301')}&limit=3`;
    const first = await http.api('GET', path);
    expect(first.body).toMatchObject({ messages: wanted.slice(0, 3), hasMore: true });
    const second = await http.api('GET', `${path}&before=${wanted[2]?.id}`);
    expect(second.body).toMatchObject({ messages: wanted.slice(3), hasMore: false });
    expect((await poll(pathOf(inbox), first.body.cursor)).fresh).toEqual([]);
  });
});
