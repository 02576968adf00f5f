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

/** New mail that a filter may leave out causes a request; a busy account would cause one after the other. */
const CATCH_UP_PAUSE_MS = 1_000;

/** How a feed asks for a page. */
export type FetchPage = (
  range: { since?: string; before?: string },
  signal: AbortSignal,
) => Promise<FeedPage>;

/**
 * A list of messages that stays current while it is not stopped: exact over cuts, whatever the stream loses.
 */
export class Feed {
  /** Newest first, each once. */
  readonly messages = signal<readonly api.MessageSummary[]>([]);
  readonly hasMore = signal(false);
  readonly isLoading = signal(true);
  readonly error = signal<unknown>(undefined);
  /** How many came since the last call of {@link Feed.seen}. */
  readonly unseen = signal(0);
  readonly #fetchPage: FetchPage;
  readonly #known = new Set<string>();
  readonly #endings: (() => void)[];
  #controller = new AbortController();
  #cursor: string | undefined;
  #before: string | null = null;
  #older: Promise<void> | undefined;
  /** True while the first page is loaded. */
  #isFirst = false;
  /** True while it asks for what is new, and some time after. */
  #isCatchingUp = false;
  /** Something may have come that the request under way does not see. */
  #isBehind = false;

  /**
   * @param isDirect true where every arrival of `inboxId` belongs to the list; with filters the server decides
   * @param inboxId null for all inboxes
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

  /** Loads the next page, once for all callers at the same time. */
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

  /** Loads the rest of the list, page by page. */
  async loadAll(): Promise<void> {
    const { signal } = this.#controller;
    const isDone = () => !this.hasMore.value || this.error.value !== undefined || signal.aborted;
    while (!isDone() && !this.#isFirst) await this.loadOlder();
  }

  /** Loads the list again. */
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

  /** Keeps a failure of the work, unless the list was loaded again or stopped meanwhile. */
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

  /** A search that took too long for one request may return an empty page and have more. */
  async #fetchFilled(range: { before?: string }, given: AbortSignal): Promise<FeedPage> {
    const first = await this.#fetchPage(range, given);
    let page = first;
    while (page.messages.length === 0 && page.hasMore && page.before !== null && !given.aborted) {
      page = await this.#fetchPage({ before: page.before }, given);
    }
    return { ...page, cursor: first.cursor };
  }

  #loadFirst(): Promise<void> {
    return this.#guarded(async (given) => {
      this.isLoading.value = true;
      this.#isFirst = true;
      try {
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
      } finally {
        if (!given.aborted) this.isLoading.value = false;
      }
    });
  }

  /** Adds all that came after the cursor. */
  #catchUp(): void {
    if (this.#cursor === undefined) {
      // The server did not respond to the first request, and does now.
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
