/** Items written together: a transaction's cost is shared by so many and no longer falls beyond. */
const MAX_BATCH = 128;

/** While one write runs the next gathers, so that all who wait share its transaction. */
export interface Gathering<Item, Answer> {
  /** Resolves with the item's own answer once it is written; rejects as the write of its batch does. */
  add(item: Item): Promise<Answer>;
}

/** @param write answers for each item, in the same order */
export function createGathering<Item, Answer>(
  write: (items: Item[]) => Promise<Answer[]>,
): Gathering<Item, Answer> {
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
