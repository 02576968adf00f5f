import type { ReadingOf } from '../reading/sql.ts';
import type { NewMail, Placed } from './records.ts';

/** Maximum items of a batch. A larger batch takes longer and does not lower the cost per item. */
const MAX_BATCH = 128;
/** Maximum bytes of a batch: writing them delays other writes by 10 ms. A larger item is written alone. */
const MAX_BYTES = 2 * 1024 * 1024;
/** If this many items are queued, the store is slow or down, and `offer` drops further items. */
const MAX_OFFERED = 1_000;
/** Mails up to this size do not wait for larger ones. */
const SMALL_BYTES = 64 * 1024;

interface Waiting<Item, Result> {
  item: Item;
  resolve?(result: Result): void;
  reject?(error: unknown): void;
}

interface BatcherOptions<Item> {
  /** Delays the first write after an idle time, so that more items share it. `flushed` ends the delay. */
  pause?(signal: AbortSignal): Promise<void>;
  bytesOf?(item: Item): number;
  /** True: one item may have caused the error, so each is written alone. False: the batch and queue fail. */
  mayDependOnItem?(error: unknown): boolean;
  onLost?(error: unknown): void;
}

/** Collects items while a write is in progress, and writes them together afterwards. */
export class Batcher<Item, Result> {
  readonly #write: (items: Item[]) => Promise<readonly Result[]>;
  readonly #options: BatcherOptions<Item>;
  readonly #waiting: Waiting<Item, Result>[] = [];
  #idle: Promise<void> | undefined;
  #pausing = new AbortController();

  /** @param write returns one result per item, in the same order. Items of `offer` need no result. */
  constructor(write: (items: Item[]) => Promise<readonly Result[]>, options: BatcherOptions<Item> = {}) {
    this.#write = write;
    this.#options = options;
  }

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => this.#push({ item, resolve, reject }));
  }

  offer(item: Item): void {
    if (this.#waiting.length < MAX_OFFERED) this.#push({ item });
  }

  /** Resolves when everything that was added before has been written, or has failed. */
  async flushed(): Promise<void> {
    if (this.#idle) this.#pausing.abort();
    await this.#idle;
  }

  #push(waiting: Waiting<Item, Result>): void {
    this.#waiting.push(waiting);
    this.#idle ??= this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    this.#pausing = new AbortController();
    // Without `pause`, this `await` only lets the current turn of the event loop add more items.
    await this.#options.pause?.(this.#pausing.signal);
    while (this.#waiting.length > 0) await this.#writeBatch(this.#takeBatch());
    this.#idle = undefined;
  }

  async #writeBatch(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#write(batch.map(({ item }) => item));
      for (const [index, { resolve }] of batch.entries()) resolve?.(results[index] as Result);
    } catch (error) {
      const dependsOnItem = this.#options.mayDependOnItem?.(error);
      if (dependsOnItem && batch.length > 1) {
        for (const one of batch) await this.#writeBatch([one]);
        return;
      }
      const failed = dependsOnItem === false ? [...batch, ...this.#waiting.splice(0)] : batch;
      for (const { reject } of failed) reject?.(error);
      if (failed.some(({ reject }) => !reject)) this.#options.onLost?.(error);
    }
  }

  #takeBatch(): Waiting<Item, Result>[] {
    let bytes = 0;
    const end = this.#waiting.findIndex(({ item }, index) => {
      bytes += this.#options.bytesOf?.(item) ?? 0;
      return index > 0 && (index >= MAX_BATCH || bytes > MAX_BYTES);
    });
    return this.#waiting.splice(0, end < 0 ? MAX_BATCH : end);
  }
}

type AddBatch = (mails: NewMail[], now: number) => Promise<Placed[][]>;
/** Stores parsed content. @returns how many webhook deliveries became due */
type Keep = (readings: ReadingOf[]) => Promise<number>;

interface Call {
  mails: NewMail[];
  now: number;
}

const sizeOf = ({ mails }: Call): number => mails.reduce((sum, { raw }) => sum + raw.byteLength, 0);

/** Group commit. Small and large mails are in separate batches, which are written concurrently. */
export function createMailBatcher(addBatch: AddBatch, mayDependOnItem: (error: unknown) => boolean) {
  const write = async (calls: Call[]): Promise<Placed[][][]> => {
    const now = Math.max(...calls.map((call) => call.now));
    const placed = await addBatch(
      calls.flatMap(({ mails }) => mails),
      now,
    );
    return calls.map(({ mails }) => placed.splice(0, mails.length));
  };
  const options = { bytesOf: sizeOf, mayDependOnItem };
  const [small, large] = [new Batcher(write, options), new Batcher(write, options)];
  return {
    add(mails: NewMail[], now: number): Promise<Placed[][]> {
      const call = { mails, now };
      return (sizeOf(call) <= SMALL_BYTES ? small : large).add(call);
    },
    flushed: () => Promise.all([small.flushed(), large.flushed()]),
  };
}

/** Calls during a write share the next write. The first of them returns the count of all, the others 0. */
export function batched(keep: Keep): Keep {
  const batcher = new Batcher<ReadingOf[], number>(
    async (calls) => {
      const due = await keep(calls.flat());
      return calls.map((_, index) => (index === 0 ? due : 0));
    },
    { bytesOf: (readings) => readings.reduce((sum, { content }) => sum + content.length, 0) },
  );
  return (readings) => batcher.add(readings);
}
