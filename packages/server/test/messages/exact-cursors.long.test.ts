import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Store } from '../../src/store.ts';
import { mailTo } from '../store/builders.ts';
import { openStream } from '../support/event-stream.ts';
import { TEST_KEY, type TestApp, useApp } from '../support/start-app.ts';

type Inbox = Awaited<ReturnType<TestApp['createInbox']>>;
interface Page {
  messages: { id: string }[];
  cursor: string;
  hasMore: boolean;
}

/** What a cursor stands for: the time of an inbox's message, or the place of one in the account. */
const placeOf = (cursor: string): number => Number.parseInt(cursor.split('_')[1] ?? '', 36);

describe('a cursor', () => {
  const app = useApp();
  let other: Store;
  beforeAll(async () => {
    other = await app.openStore();
  });
  afterAll(() => other.close());

  /** Commits a mail that the server can read and has not been told of, as it is for a moment after each commit. */
  async function commitUntold(inbox: Inbox): Promise<void> {
    const account = await other.accounts.findFirst();
    await other.messages.addBatch([mailTo([{ ...inbox, accountId: account?.id ?? '' }])], Date.now());
  }
  const get = async (path: string, as = TEST_KEY): Promise<Page> => (await app.api('GET', path, { as })).body;

  it('never goes back when two credentials poll one inbox in turns', async () => {
    const inbox = await app.createInbox();
    const path = `/v1/inboxes/${inbox.id}/messages`;
    await get(path);
    await commitUntold(inbox);
    const seen: string[] = [];
    let since = inbox.cursor;
    for (const as of [inbox.token, TEST_KEY, inbox.token, TEST_KEY]) {
      const { messages, cursor } = await get(`${path}?since=${since}`, as);
      expect(placeOf(cursor)).toBeGreaterThanOrEqual(placeOf(since));
      seen.push(...messages.map(({ id }) => id));
      since = cursor;
    }
    expect(seen).toEqual([...new Set(seen)]);
  });

  it('of an account never goes back behind the event of a stream that was passed as since', async () => {
    const inbox = await app.createInbox();
    const { cursor: start } = await get('/v1/messages');
    await commitUntold(inbox);
    const stream = await openStream(`${app.url}/v1/events`, { as: TEST_KEY, lastEventId: start });
    const { id: event = '' } = (await stream.nextEvent()) ?? {};
    stream.close();
    expect(placeOf(event)).toBeGreaterThan(placeOf(start));
    const { cursor } = await get(`/v1/messages?since=${event}`);
    expect(placeOf(cursor)).toBeGreaterThanOrEqual(placeOf(event));
  });

  it('is not older than a since that lies ahead of all messages', async () => {
    const inbox = await app.createInbox();
    const ahead = Date.now() + 60_000;
    for (const query of ['', '&subject=x', '&text=x', '&wait=1']) {
      const { cursor } = await get(`/v1/inboxes/${inbox.id}/messages?since=${ahead}${query}`);
      expect([query, placeOf(cursor)]).toEqual([query, ahead]);
    }
    const waited = await app.api('POST', `/v1/inboxes/${inbox.id}/wait`, {
      body: { since: String(ahead), timeoutSeconds: 0 },
    });
    expect(placeOf(waited.body.cursor)).toBe(ahead);
  });
});
