/** Items of a batch. Larger batches no longer reduce the cost of an item, and take longer. */
const MAX_BATCH = 128;
/** About 10 ms of writing, for which other writes wait. A larger item is a batch of its own. */
const MAX_BYTES = 2 * 1024 * 1024;
/** Offered items in memory while the store is slow or down; more are dropped. */
const MAX_OFFERED = 1_000;

/** An item from `offer` has no callbacks: its result is not used. */
interface Waiting<Item, Result> {
  item: Item;
  resolve?(result: Result): void;
  reject?(error: unknown): void;
}

/** Takes the first items, at least one. @param lengthOf how much an item counts towards MAX_BATCH */
export function takeBatch<Item>(
  waiting: Item[],
  bytesOf: (item: Item) => number,
  lengthOf: (item: Item) => number = () => 1,
): Item[] {
  let length = 0;
  let bytes = 0;
  const end = waiting.findIndex((item, index) => {
    length += lengthOf(item);
    bytes += bytesOf(item);
    return index > 0 && (length > MAX_BATCH || bytes > MAX_BYTES);
  });
  return waiting.splice(0, end < 0 ? waiting.length : end);
}

interface BatcherOptions<Item> {
  /** Delays the first write after an idle time, so that more items share it. A flush aborts the signal. */
  pause?(signal: AbortSignal): Promise<void>;
  /** Bytes of an item; a batch ends at {@link MAX_BYTES} of them. */
  bytesOf?(item: Item): number;
  /** Called when a write of offered items failed. */
  onLost?(error: unknown): void;
}

/** Collects items while a write is in progress, and writes them together afterwards. */
export class Batcher<Item, Result> {
  readonly #write: (items: Item[]) => Promise<readonly Result[]>;
  readonly #options: BatcherOptions<Item>;
  readonly #waiting: Waiting<Item, Result>[] = [];
  #idle: Promise<void> | undefined;
  #pausing = new AbortController();

  /** @param write returns one result per item, in the same order; offered items need none */
  constructor(write: (items: Item[]) => Promise<readonly Result[]>, options: BatcherOptions<Item> = {}) {
    this.#write = write;
    this.#options = options;
  }

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => this.#push({ item, resolve, reject }));
  }

  /** Adds an item without waiting for its write. */
  offer(item: Item): void {
    if (this.#waiting.length < MAX_OFFERED) this.#push({ item });
  }

  /** Resolves when everything that was added before the call has been written, or has failed. */
  async flushed(): Promise<void> {
    this.#pausing.abort();
    await this.#idle;
  }

  #push(waiting: Waiting<Item, Result>): void {
    this.#waiting.push(waiting);
    this.#idle ??= this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    this.#pausing = new AbortController();
    await this.#options.pause?.(this.#pausing.signal);
    while (this.#waiting.length > 0) {
      const batch = takeBatch(this.#waiting, ({ item }) => this.#options.bytesOf?.(item) ?? 0);
      try {
        const results = await this.#write(batch.map(({ item }) => item));
        for (const [index, { resolve }] of batch.entries()) resolve?.(results[index] as Result);
      } catch (error) {
        for (const { reject } of batch) reject?.(error);
        if (batch.some(({ reject }) => !reject)) this.#options.onLost?.(error);
      }
    }
    this.#idle = undefined;
  }
}
