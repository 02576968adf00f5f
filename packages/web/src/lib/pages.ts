import type { api } from '@mayfly/client';
import { mayfly } from './session.ts';

/** The largest page that the API returns. */
const PAGE = 200;
/** Limit of a list of inboxes: an account may have many thousands. */
const MAX_INBOXES = 5_000;

interface Items<Item> {
  items: Item[];
  /** True if there are more than were loaded. */
  hasMore: boolean;
}

/** Loads pages of a list until there are `most` items, newest first. */
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

/** Inboxes loaded at first; the rest is loaded when the user scrolls to the end. */
const FIRST_INBOXES = 2 * PAGE;

/**
 * The newest live inboxes. @param query query parameters of the API, such as `label.run` @param isWhole true
 * to load more than the first ones
 */
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
