/** Items in one write. Larger batches no longer reduce the cost of a transaction for each item. */
const MAX_BATCH = 128;
/** Offered items in memory while the store is slow or down; more are dropped. */
const MAX_OFFERED = 1_000;

/** An item, and who waits for its result: nobody where it was offered. */
interface Waiting<Item, Result> {
  item: Item;
  resolve?(result: Result): void;
  reject?(error: unknown): void;
}

interface BatcherOptions {
  /** Delays the first write after a time without any, so that more items share it. A flush aborts the signal. */
  pause?(signal: AbortSignal): Promise<void>;
  /** Called with the error when a write of offered items failed. */
  onLost?(error: unknown): void;
}

/** Collects items while a write is in progress, and writes them together afterwards. */
export class Batcher<Item, Result> {
  readonly #write: (items: Item[]) => Promise<readonly Result[]>;
  readonly #options: BatcherOptions;
  readonly #waiting: Waiting<Item, Result>[] = [];
  /** Resolves when nothing waits any more; undefined while nothing does. */
  #idle: Promise<void> | undefined;
  #pausing = new AbortController();

  /** @param write returns one result for each item, in the same order; of offered ones none */
  constructor(write: (items: Item[]) => Promise<readonly Result[]>, options: BatcherOptions = {}) {
    this.#write = write;
    this.#options = options;
  }

  /** Resolves with the item's own result once it is written; rejects when the write of its batch rejects. */
  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => this.#push({ item, resolve, reject }));
  }

  /** Adds an item for whose write nobody waits. */
  offer(item: Item): void {
    if (this.#waiting.length < MAX_OFFERED) this.#push({ item });
  }

  /** Resolves when all that was added before the call has been written, or has failed. */
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
      const batch = this.#waiting.splice(0, MAX_BATCH);
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
