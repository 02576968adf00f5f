import type { api } from '@mayfly/client';
import { effect, signal } from '@preact/signals';
import { onArrivals, openings } from './arrivals.ts';

/** One page of a list of messages, newest first. */
export interface FeedPage {
  messages: api.MessageSummary[];
  cursor: string;
  hasMore: boolean;
  /** Where the next page begins; null after the last one. */
  before: string | null;
}

/**
 * Minimum interval of requests for new mail that a filter may exclude, so that a busy account does not cause
 * continuous requests.
 */
const CATCH_UP_PAUSE_MS = 1_000;

/** Requests a page of a feed. */
export type FetchPage = (
  range: { since?: string; before?: string },
  signal: AbortSignal,
) => Promise<FeedPage>;

/** A list of messages that stays current until it is stopped. It misses nothing, even if the stream is interrupted. */
export class Feed {
  /** Newest first, each once. */
  readonly messages = signal<readonly api.MessageSummary[]>([]);
  readonly hasMore = signal(false);
  readonly isLoading = signal(true);
  readonly error = signal<unknown>(undefined);
  /** Number of arrivals since the last call of {@link Feed.seen}. */
  readonly unseen = signal(0);
  readonly #fetchPage: FetchPage;
  readonly #known = new Set<string>();
  readonly #endings: (() => void)[];
  #controller = new AbortController();
  #cursor: string | undefined;
  #before: string | null = null;
  #older: Promise<void> | undefined;
  /** True while the first page is loading. */
  #isFirst = false;
  /** True while new messages are being fetched, and for a pause afterwards. */
  #isCatchingUp = false;
  /** True if messages may have arrived that the current request does not include. */
  #isBehind = false;

  /**
   * @param isDirect true if every arrival in `inboxId` belongs to the list; false with filters, which the
   * server applies @param inboxId null for all inboxes
   */
  constructor(fetchPage: FetchPage, isDirect: boolean, inboxId: string | null) {
    this.#fetchPage = fetchPage;
    void this.#loadFirst();
    this.#endings = [
      onArrivals((arrivals) => {
        const own = arrivals.filter((one) => inboxId === null || one.inboxId === inboxId);
        if (own.length === 0) return;
        if (this.#isFirst) this.#isBehind = true;
        if (!isDirect) return this.#catchUp();
        const messages = own.map(({ message }) => message);
        this.#add(messages, true);
      }),
      effect(() => {
        if (openings.value > 0) queueMicrotask(() => this.#catchUp());
      }),
    ];
  }

  seen(): void {
    this.unseen.value = 0;
  }

  /** Loads the next page; concurrent callers share the request. */
  loadOlder(): Promise<void> {
    this.#older ??= this.#loadOlder().finally(() => {
      this.#older = undefined;
    });
    return this.#older;
  }

  async #loadOlder(): Promise<void> {
    const at = this.#before;
    if (this.isLoading.value || !this.hasMore.value || at === null) return;
    this.isLoading.value = true;
    await this.#guarded(async (given) => {
      const page = await this.#fetchFilled({ before: at }, given);
      if (given.aborted) return;
      this.#before = page.before;
      this.hasMore.value = page.hasMore;
      this.#add(page.messages, false);
    });
    this.isLoading.value = false;
  }

  /** Loads the remaining pages one after another. */
  async loadAll(): Promise<void> {
    const { signal } = this.#controller;
    const isDone = () => !this.hasMore.value || this.error.value !== undefined || signal.aborted;
    while (!isDone() && !this.#isFirst) await this.loadOlder();
  }

  /** Reloads the list from its beginning. */
  reload = (): void => {
    this.#controller.abort();
    this.#controller = new AbortController();
    void this.#loadFirst();
  };

  stop(): void {
    this.#controller.abort();
    for (const end of this.#endings) end();
  }

  #add(fresh: readonly api.MessageSummary[], isNew: boolean): void {
    const added = fresh.filter(({ id }) => !this.#known.has(id));
    if (added.length === 0) return;
    for (const { id } of added) this.#known.add(id);
    const old = this.messages.value;
    const sorted = added.toSorted(newestFirst);
    const areNewer = (sorted.at(-1)?.id ?? '') > (old[0]?.id ?? '');
    this.messages.value = areNewer ? [...sorted, ...old] : [...old, ...sorted].sort(newestFirst);
    if (isNew) this.unseen.value += added.length;
  }

  /** Runs `work` and stores its error, unless the list was reloaded or stopped meanwhile. */
  async #guarded(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { signal: given } = this.#controller;
    try {
      await work(given);
      if (!given.aborted) this.error.value = undefined;
    } catch (failure) {
      if (given.aborted) return;
      this.error.value = failure;
    }
  }

  /** A search that reached the time limit of a request may return an empty page although there are more messages. */
  async #fetchFilled(range: { before?: string }, given: AbortSignal): Promise<FeedPage> {
    const first = await this.#fetchPage(range, given);
    let page = first;
    while (page.messages.length === 0 && page.hasMore && page.before !== null && !given.aborted) {
      page = await this.#fetchPage({ before: page.before }, given);
    }
    return { ...page, cursor: first.cursor };
  }

  async #loadFirst(): Promise<void> {
    const { signal: given } = this.#controller;
    this.isLoading.value = true;
    this.#isFirst = true;
    await this.#guarded(async () => {
      const page = await this.#fetchFilled({}, given);
      if (given.aborted) return;
      this.#cursor = page.cursor;
      this.#before = page.before;
      this.hasMore.value = page.hasMore;
      this.#known.clear();
      this.messages.value = [];
      this.#add(page.messages, false);
      this.unseen.value = 0;
      this.#isFirst = false;
      if (this.#isBehind) this.#catchUp();
    });
    // After its error: a list that is neither loading nor failed is empty.
    if (!given.aborted) this.isLoading.value = false;
  }

  /** Fetches all messages after the cursor. */
  #catchUp(): void {
    if (this.#cursor === undefined) {
      // The first request failed, and the server is reachable again.
      if (this.error.value !== undefined) this.reload();
      return;
    }
    this.#isBehind = this.#isCatchingUp;
    if (this.#isCatchingUp) return;
    this.#isCatchingUp = true;
    void this.#guarded((given) => this.#loadNewer(given)).finally(() =>
      setTimeout(() => {
        this.#isCatchingUp = false;
        if (this.#isBehind && !this.#controller.signal.aborted) this.#catchUp();
      }, CATCH_UP_PAUSE_MS),
    );
  }

  async #loadNewer(given: AbortSignal): Promise<void> {
    const since = this.#cursor ? { since: this.#cursor } : {};
    let page = await this.#fetchPage(since, given);
    const next = page.cursor;
    const found = [...page.messages];
    while (page.hasMore && page.before !== null && page.messages.every(({ id }) => !this.#known.has(id))) {
      page = await this.#fetchPage({ ...since, before: page.before }, given);
      found.push(...page.messages);
    }
    if (given.aborted) return;
    this.#cursor = next;
    this.#add(found, true);
  }
}

const newestFirst = (a: api.MessageSummary, b: api.MessageSummary): number => (a.id < b.id ? 1 : -1);
