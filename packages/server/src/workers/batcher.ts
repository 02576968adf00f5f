/** Larger batches no longer reduce the cost per item. */
const MAX_BATCH = 128;
/** About 10 ms of writing. */
const MAX_BYTES = 2 * 1024 * 1024;
/** Offered items in memory while the store is slow or down; more are dropped. */
const MAX_OFFERED = 1_000;

/** An item from `offer` has no callbacks: its result is not used. */
interface Waiting<Item, Result> {
  item: Item;
  resolve?(result: Result): void;
  reject?(error: unknown): void;
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
      const batch = this.#takeBatch();
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

  /** Takes at least one item. */
  #takeBatch(): Waiting<Item, Result>[] {
    const { bytesOf } = this.#options;
    let bytes = 0;
    const end = this.#waiting.findIndex(({ item }, index) => {
      bytes += bytesOf?.(item) ?? 0;
      return index > 0 && (index >= MAX_BATCH || bytes > MAX_BYTES);
    });
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : end);
  }
}
