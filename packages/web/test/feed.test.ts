import type { api } from '@mayfly/client';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openings, publish } from '../src/lib/arrivals.ts';
import { Feed, type FeedPage, type FetchPage } from '../src/lib/feed.ts';

const summary = (n: number): api.MessageSummary =>
  ({ id: `msg_${String(n).padStart(4, '0')}`, inboxId: 'inb_1', subject: `${n}` }) as api.MessageSummary;
const subjects = (feed: Feed): number[] => feed.messages.value.map(({ subject }) => Number(subject));

/** A server with numbered mails, newest first, in pages; it counts what it was asked. */
function server(size = 3) {
  const stored: number[] = [];
  const asked: Parameters<FetchPage>[0][] = [];
  const fetchPage: FetchPage = async (range): Promise<FeedPage> => {
    asked.push(range);
    await Promise.resolve();
    const [since, before] = [Number(range.since ?? 0), Number(range.before ?? Number.POSITIVE_INFINITY)];
    const found = stored.filter((n) => n > since && n < before).sort((a, b) => b - a);
    const page = found.slice(0, size);
    return {
      messages: page.map(summary),
      cursor: String(Math.max(0, ...stored)),
      hasMore: found.length > size,
      before: found.length > size ? String(page.at(-1)) : null,
    };
  };
  return { stored, asked, fetchPage };
}

describe('a list of messages that stays current', () => {
  let feeds: Feed[] = [];
  const open = (fetchPage: FetchPage, isDirect = true): Feed => {
    const feed = new Feed(fetchPage, isDirect, 'inb_1');
    feeds.push(feed);
    return feed;
  };
  const settled = () => vi.advanceTimersByTimeAsync(5_000);
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    for (const feed of feeds) feed.stop();
    feeds = [];
    vi.useRealTimers();
  });

  it('adds what arrives above, each message once, and of its own inbox only', async () => {
    const { stored, fetchPage } = server();
    stored.push(1, 2);
    const feed = open(fetchPage);
    await settled();
    publish([
      { inboxId: 'inb_1', message: summary(3) },
      { inboxId: 'inb_2', message: summary(4) },
      { inboxId: 'inb_1', message: summary(2) },
    ]);
    expect(subjects(feed)).toEqual([3, 2, 1]);
    expect(feed.unseen.value).toBe(1);
  });

  it('asks for what came while the stream was cut, also more than a page of it', async () => {
    const { stored, fetchPage } = server();
    stored.push(1);
    const feed = open(fetchPage);
    await settled();
    stored.push(2, 3, 4, 5, 6, 7, 8);
    openings.value += 1;
    await settled();
    expect(subjects(feed)).toEqual([8, 7, 6, 5, 4, 3, 2, 1]);
  });

  it('with a filter asks the server which of the arrivals belong to it, once for many', async () => {
    const { stored, asked, fetchPage } = server();
    const feed = open(fetchPage, false);
    await settled();
    const before = asked.length;
    for (let n = 1; n <= 50; n++) publish([{ inboxId: 'inb_1', message: summary(n) }]);
    stored.push(7);
    await settled();
    expect(subjects(feed)).toEqual([7]);
    expect(asked.length - before).toBeLessThanOrEqual(3);
  });

  it('loads all pages when asked to, each once, and none after it was stopped', async () => {
    const { stored, asked, fetchPage } = server();
    stored.push(...Array.from({ length: 10 }, (_, n) => n + 1));
    const feed = open(fetchPage);
    await settled();
    expect(feed.hasMore.value).toBe(true);
    await Promise.all([feed.loadAll(), feed.loadOlder()]);
    expect(subjects(feed)).toEqual([10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
    expect(asked.filter(({ before }) => before !== undefined)).toHaveLength(3);
    feed.stop();
    const until = asked.length;
    openings.value += 1;
    await settled();
    expect(asked).toHaveLength(until);
  });
});
