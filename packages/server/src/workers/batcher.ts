/** Items in one write. Larger batches no longer reduce the cost of a transaction for each item. */
const MAX_BATCH = 128;

interface Waiting<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/** Collects items while a write is in progress, and writes them together afterwards. */
export class Batcher<Item, Result> {
  readonly #write: (items: Item[]) => Promise<readonly Result[]>;
  readonly #pause: ((signal: AbortSignal) => Promise<void>) | undefined;
  readonly #waiting: Waiting<Item, Result>[] = [];
  /** Resolves when nothing waits any more. */
  #idle: Promise<void> | undefined;
  #pausing = new AbortController();

  /**
   * @param write returns one result for each item, in the same order
   * @param pause delays the first write after a time without any, so that more items share it; a flush aborts the signal
   */
  constructor(
    write: (items: Item[]) => Promise<readonly Result[]>,
    pause?: (signal: AbortSignal) => Promise<void>,
  ) {
    this.#write = write;
    this.#pause = pause;
  }

  /** How many items wait for their write. */
  get size(): number {
    return this.#waiting.length;
  }

  /** Resolves with the item's own result once it is written; rejects when the write of its batch rejects. */
  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      this.#idle ??= this.#writeAll();
    });
  }

  /** Resolves when all that was added before the call has been written, or has failed. */
  async flushed(): Promise<void> {
    this.#pausing.abort();
    await this.#idle;
  }

  async #writeAll(): Promise<void> {
    this.#pausing = new AbortController();
    await this.#pause?.(this.#pausing.signal);
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, MAX_BATCH);
      try {
        const results = await this.#write(batch.map(({ item }) => item));
        for (const [index, { resolve }] of batch.entries()) resolve(results[index] as Result);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#idle = undefined;
  }
}
