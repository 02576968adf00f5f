/** Items in memory while the store is slow or down. Then the oldest are dropped. */
const MAX_WAITING = 1_000;

/** Collects items and writes them later, several in one call. Adding never waits for the store. */
export interface WriteBehind<Item> {
  add(item: Item): void;
  /** Resolves when all that was added before the call has been written, or was lost. */
  flushed(): Promise<void>;
}

export interface WriteBehindOptions<Item> {
  write(items: Item[]): Promise<void>;
  /** Called with the error when a write failed; its items are lost. */
  onLost(error: unknown): void;
  /** Delays each write, so that more items share it. A flush aborts the signal. Without it, none is delayed. */
  pause?(signal: AbortSignal): Promise<void>;
}

/** Writes run one after the other; what is added meanwhile goes into the next one. */
export function createWriteBehind<Item>(options: WriteBehindOptions<Item>): WriteBehind<Item> {
  let waiting: Item[] = [];
  /** Ends when the last scheduled write has ended. */
  let written = Promise.resolve();
  /** Of the scheduled write that has not begun. */
  let pausing: AbortController | undefined;

  const writeNext = async (signal: AbortSignal): Promise<void> => {
    await options.pause?.(signal);
    const items = waiting;
    waiting = [];
    pausing = undefined;
    try {
      await options.write(items);
    } catch (error) {
      options.onLost(error);
    }
  };

  return {
    add(item) {
      if (waiting.length === MAX_WAITING) waiting.shift();
      waiting.push(item);
      if (pausing) return;
      pausing = new AbortController();
      const { signal } = pausing;
      written = written.then(() => writeNext(signal));
    },
    flushed() {
      pausing?.abort();
      return written;
    },
  };
}
