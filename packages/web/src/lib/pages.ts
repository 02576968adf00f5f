import type { api } from '@mayfly/client';
import { mayfly } from './session.ts';

/** As many as one request returns. */
const PAGE = 200;
/** Bounds lists of inboxes: an account may have many thousands. */
const MAX_INBOXES = 5_000;

interface Items<Item> {
  items: Item[];
  /** True if there are more than were loaded. */
  hasMore: boolean;
}

/** The items of as many pages of a list as are needed for `most` of them, newest first. */
export async function loadPages<Item extends { id: string }>(
  load: (range: { limit: number; before?: string }) => Promise<Items<Item>>,
  most = Number.POSITIVE_INFINITY,
): Promise<Items<Item>> {
  const items: Item[] = [];
  for (;;) {
    const before = items.at(-1)?.id;
    const page = await load({ limit: PAGE, ...(before && { before }) });
    items.push(...page.items);
    if (!page.hasMore || items.length >= most) return { items, hasMore: page.hasMore };
  }
}

/** Inboxes that a list has at first; the others when it is scrolled to its end. */
const FIRST_INBOXES = 2 * PAGE;

/** The newest live inboxes. @param query of the API, such as `label.run` @param isWhole with older ones */
export async function loadInboxes(
  query: object,
  signal: AbortSignal,
  isWhole = true,
): Promise<Items<api.Inbox>> {
  return loadPages(
    async (range) => {
      const page = await mayfly.call('GET /v1/inboxes', { query: { ...query, ...range }, signal });
      return { items: page.inboxes, hasMore: page.hasMore };
    },
    isWhole ? MAX_INBOXES : FIRST_INBOXES,
  );
}
