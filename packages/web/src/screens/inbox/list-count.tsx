import { useRef } from 'preact/hooks';
import type { Feed } from '../../lib/feed.ts';
import { count } from '../../lib/format.ts';

/** How many mails are listed, and of how many. @param total of the inbox; undefined where it is not known */
export function ListCount({
  feed,
  total,
  isSearch,
}: {
  feed: Feed;
  total: number | undefined;
  isSearch: boolean;
}) {
  const loaded = feed.messages.value.length;
  const hasMore = feed.hasMore.value;
  if (loaded === 0 || (!isSearch && !hasMore)) return null;
  const of = total === undefined || total < loaded ? '' : ` of ${count(total)}`;
  return (
    <span class="small muted list-count" role="status">
      {count(loaded)}
      {hasMore && (isSearch || of === '') ? '+' : ''}
      {of || (loaded === 1 ? ' mail' : ' mails')}
    </span>
  );
}

/** Loads the rest of a list. @returns how many it has then */
export async function loadAll(feed: Feed): Promise<number> {
  await feed.loadAll();
  return feed.messages.value.length;
}

/**
 * The feed, or the one before it until it has loaded: while one types, the list changes and never empties.
 * @param of what both are lists of; nothing of another list stays
 */
export function useKept(feed: Feed, of: string): Feed {
  const kept = useRef<{ feed: Feed; of: string } | undefined>(undefined);
  const isLoaded = !feed.isLoading.value || feed.messages.value.length > 0 || feed.error.value !== undefined;
  if (isLoaded || kept.current?.of !== of) kept.current = { feed, of };
  return kept.current.feed;
}
