import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type TestInbox, useHttp } from '../../start-http.ts';

type Seen = { id: string; receivedAt: string };

const http = useHttp();

describe('exact polling', () => {
  /** One poll: the first page and, as long as there is more, the pages below it. */
  async function poll(
    inbox: TestInbox,
    since: string,
    limit: number,
  ): Promise<{ fresh: Seen[]; cursor: string }> {
    const path = `/v1/inboxes/${inbox.id}/messages?limit=${limit}&since=${encodeURIComponent(since)}`;
    const { status, body } = await http.api('GET', path, { as: inbox.token });
    expect(status).toBe(200);
    const fresh: Seen[] = body.messages;
    let { hasMore } = body;
    while (hasMore) {
      const page = await http.api('GET', `${path}&before=${fresh.at(-1)?.id}`);
      fresh.push(...page.body.messages);
      hasMore = page.body.hasMore;
    }
    return { fresh, cursor: body.cursor };
  }

  /** Polls while others write, and once more when they have finished. @returns what it received, oldest first */
  async function follow(
    inbox: TestInbox,
    start: string,
    next: (since: string, answer: { fresh: Seen[]; cursor: string }) => string,
    { limit, writing }: { limit: number; writing: Promise<unknown> },
  ): Promise<string[]> {
    const seen: string[] = [];
    let since = start;
    let writes = true;
    const done = writing.then(() => {
      writes = false;
    });
    for (let last = false; !last; ) {
      last = !writes;
      const answer = await poll(inbox, since, limit);
      seen.push(...answer.fresh.map(({ id }) => id).reverse());
      since = next(since, answer);
    }
    await done;
    return seen;
  }

  const writers = fc.array(
    fc.array(fc.record({ batch: fc.integer({ min: 1, max: 5 }), tick: fc.nat({ max: 2 }) }), {
      minLength: 1,
      maxLength: 8,
    }),
    { minLength: 1, maxLength: 4 },
  );

  it('shows every message once, to readers that follow cursors and to readers that follow times', async () => {
    await fc.assert(
      fc.asyncProperty(writers, fc.integer({ min: 1, max: 7 }), async (plans, limit) => {
        const inbox = await http.createInbox({ ttlMinutes: 43_200 });
        const delivered: string[] = [];
        const writing = Promise.all(
          plans.map(async (plan) => {
            for (const { batch, tick } of plan) {
              await http.clock.advance(tick);
              delivered.push(
                ...(await Promise.all(Array.from({ length: batch }, () => http.deliver(inbox)))),
              );
            }
          }),
        );
        const byCursor = follow(inbox, inbox.cursor, (_since, { cursor }) => cursor, { limit, writing });
        const byTime = follow(inbox, '0', (since, { fresh }) => fresh[0]?.receivedAt ?? since, {
          limit,
          writing,
        });
        const byId = follow(inbox, '0', (since, { fresh }) => fresh[0]?.id ?? since, { limit, writing });
        const everyMessage = (await Promise.all([byCursor, byTime, byId, writing])).slice(0, 3);
        for (const seen of everyMessage) expect(seen).toEqual([...delivered].sort());
      }),
      { numRuns: 10 },
    );
  });

  it('goes on after a deletion, also of the newest message', async () => {
    const inbox = await http.createInbox();
    await http.deliver(inbox);
    const newest = await http.deliver(inbox);
    await http.api('DELETE', `/v1/inboxes/${inbox.id}/messages/${newest}`);
    const { cursor } = await poll(inbox, inbox.cursor, 50);
    expect((await poll(inbox, cursor, 50)).fresh).toEqual([]);
    const next = await http.deliver(inbox);
    expect((await poll(inbox, cursor, 50)).fresh.map(({ id }) => id)).toEqual([next]);
  });

  it('keeps a page of older messages from moving the cursor past what it did not look at', async () => {
    const inbox = await http.createInbox();
    const [first, second] = [await http.deliver(inbox), await http.deliver(inbox)];
    const page = await http.api('GET', `/v1/inboxes/${inbox.id}/messages?before=${second}`);
    expect(page.body.messages.map(({ id }: Seen) => id)).toEqual([first]);
    const { fresh } = await poll(inbox, page.body.cursor, 50);
    expect(fresh.map(({ id }) => id)).toContain(second);
  });

  it('filters on the server, page by page, and the cursor still covers what was left out', async () => {
    const inbox = await http.createInbox();
    const wanted: string[] = [];
    for (let i = 0; i < 45; i++) {
      const id = await http.deliver(inbox, { subject: i % 9 === 0 ? `Caf\u00c9 ${i}` : `other ${i}` });
      if (i % 9 === 0) wanted.unshift(id);
    }
    const path = `/v1/inboxes/${inbox.id}/messages?subject=${encodeURIComponent('cafe\u0301')}&limit=3`;
    const first = await http.api('GET', path);
    expect(first.body.messages.map(({ id }: Seen) => id)).toEqual(wanted.slice(0, 3));
    expect(first.body.hasMore).toBe(true);
    const second = await http.api('GET', `${path}&before=${wanted[2]}`);
    expect(second.body.messages.map(({ id }: Seen) => id)).toEqual(wanted.slice(3));
    expect(second.body.hasMore).toBe(false);
    expect((await poll(inbox, first.body.cursor, 50)).fresh).toEqual([]);
  });
});
