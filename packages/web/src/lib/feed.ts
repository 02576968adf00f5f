import type { api } from '@mayfly/client';
import { effect, type Signal, signal } from '@preact/signals';
import { onArrivals, openings } from './live.ts';
import { noteFailure } from './query.ts';

/** One page of a list of messages, newest first. */
export interface FeedPage {
  messages: api.MessageSummary[];
  cursor: string;
  hasMore: boolean;
  /** Where the next page begins; null after the last one. */
  before: string | null;
}

/** How a feed asks for a page. */
export type FetchPage = (
  range: { since?: string; before?: string },
  signal: AbortSignal,
) => Promise<FeedPage>;

/** A list of messages that stays current: exact over cuts, whatever the stream loses. */
export interface Feed {
  /** Newest first, each once. */
  readonly messages: Signal<readonly api.MessageSummary[]>;
  readonly hasMore: Signal<boolean>;
  readonly isLoading: Signal<boolean>;
  readonly error: Signal<unknown>;
  /** How many came since the last call of {@link Feed.seen}. */
  readonly unseen: Signal<number>;
  seen(): void;
  loadOlder(): Promise<void>;
  remove(messageId: string): void;
  /** Loads the list again; what was removed from it may come back. */
  reload(): void;
  stop(): void;
}

/**
 * @param isDirect true where every arrival of `inboxId` belongs to the list; with filters the server decides
 * @param inboxId null for all inboxes
 */
export function createFeed(fetchPage: FetchPage, isDirect: boolean, inboxId: string | null): Feed {
  const messages = signal<readonly api.MessageSummary[]>([]);
  const hasMore = signal(false);
  const isLoading = signal(true);
  const error = signal<unknown>(undefined);
  const unseen = signal(0);
  const known = new Set<string>();
  const removed = new Set<string>();
  let controller = new AbortController();
  let cursor: string | undefined;
  let before: string | null = null;

  const add = (fresh: readonly api.MessageSummary[], isNew: boolean): void => {
    const added = fresh.filter(({ id }) => !known.has(id) && !removed.has(id));
    if (added.length === 0) return;
    for (const { id } of added) known.add(id);
    const newest = messages.value[0]?.id ?? '';
    const sorted = added.toSorted((a, b) => (a.id < b.id ? 1 : -1));
    if ((sorted.at(-1)?.id ?? '') > newest) messages.value = [...sorted, ...messages.value];
    else messages.value = [...messages.value, ...sorted].sort((a, b) => (a.id < b.id ? 1 : -1));
    if (isNew) unseen.value += added.length;
  };

  const guarded = async (work: (signal: AbortSignal) => Promise<void>): Promise<void> => {
    const { signal: given } = controller;
    try {
      await work(given);
      if (!given.aborted) error.value = undefined;
    } catch (failure) {
      if (given.aborted) return;
      error.value = failure;
      noteFailure(failure);
    }
  };

  const first = () =>
    guarded(async (given) => {
      isLoading.value = true;
      try {
        const page = await fetchPage({}, given);
        if (given.aborted) return;
        ({ cursor, before } = page);
        hasMore.value = page.hasMore;
        known.clear();
        messages.value = [];
        add(page.messages, false);
        unseen.value = 0;
      } finally {
        if (!given.aborted) isLoading.value = false;
      }
    });

  let catching: Promise<void> | undefined;
  let again = false;
  /** Adds all that came after the cursor. */
  const catchUp = (): void => {
    if (cursor === undefined) return;
    if (catching) {
      again = true;
      return;
    }
    catching = guarded(async (given) => {
      let page = await fetchPage({ ...(cursor && { since: cursor }) }, given);
      const next = page.cursor;
      const found = [...page.messages];
      while (page.hasMore && page.before !== null && page.messages.every(({ id }) => !known.has(id))) {
        page = await fetchPage({ ...(cursor && { since: cursor }), before: page.before }, given);
        found.push(...page.messages);
      }
      if (given.aborted) return;
      cursor = next;
      add(found, true);
    }).finally(() => {
      catching = undefined;
      if (again) {
        again = false;
        catchUp();
      }
    });
  };

  void first();
  const stopArrivals = onArrivals((arrivals) => {
    const own = arrivals.filter((one) => inboxId === null || one.inboxId === inboxId);
    if (own.length === 0) return;
    if (isDirect)
      add(
        own.map(({ message }) => message),
        true,
      );
    else catchUp();
  });
  const stopOpenings = effect(() => {
    if (openings.value > 0) queueMicrotask(catchUp);
  });

  return {
    ...{ messages, hasMore, isLoading, error, unseen },
    seen() {
      unseen.value = 0;
    },
    async loadOlder() {
      if (isLoading.value || !hasMore.value || before === null) return;
      isLoading.value = true;
      const at = before;
      await guarded(async (given) => {
        const page = await fetchPage({ before: at }, given);
        if (given.aborted) return;
        before = page.before;
        hasMore.value = page.hasMore;
        add(page.messages, false);
      });
      isLoading.value = false;
    },
    remove(messageId) {
      removed.add(messageId);
      messages.value = messages.value.filter(({ id }) => id !== messageId);
    },
    reload() {
      removed.clear();
      controller.abort();
      controller = new AbortController();
      void first();
    },
    stop() {
      controller.abort();
      stopArrivals();
      stopOpenings();
    },
  };
}
