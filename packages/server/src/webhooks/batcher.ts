/** Items in one write. Larger batches no longer reduce the cost of a transaction for each item. */
const MAX_BATCH = 128;

/** Collects items while a write is in progress and writes them together afterwards. */
export interface Batcher<Item, Answer> {
  /** Resolves with the item's own result once it is written; rejects when the write of its batch rejects. */
  add(item: Item): Promise<Answer>;
}

/** @param write returns one result for each item, in the same order */
export function createBatcher<Item, Answer>(
  write: (items: Item[]) => Promise<Answer[]>,
): Batcher<Item, Answer> {
  type Waiting = { item: Item; resolve(answer: Answer): void; reject(error: unknown): void };
  const waiting: Waiting[] = [];
  let running = false;

  const run = async (): Promise<void> => {
    running = true;
    while (waiting.length > 0) {
      const batch = waiting.splice(0, MAX_BATCH);
      try {
        const answers = await write(batch.map(({ item }) => item));
        for (const [index, { resolve }] of batch.entries()) resolve(answers[index] as Answer);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    running = false;
  };

  return {
    add: (item) =>
      new Promise((resolve, reject) => {
        waiting.push({ item, resolve, reject });
        if (!running) void run();
      }),
  };
}
