import type { Refusal, RefusalStore } from '../store/store.ts';

/** Refusals that wait for the store: a flood of them must cost memory for no more than these. */
const MAX_WAITING = 1000;

/** Writes refusals behind the reply's back: a refused sender never waits for the disk. */
export interface RefusalLog {
  add(refusal: Refusal): void;
  /** Resolves when all that was added has been handed to the store. */
  flushed(): Promise<void>;
}

/** @param onLost told of the error when a write failed; those refusals are gone */
export function createRefusalLog(
  store: Pick<RefusalStore, 'add'>,
  onLost: (error: unknown) => void,
): RefusalLog {
  let waiting: Refusal[] = [];
  let flushing: Promise<void> | null = null;

  const flush = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      try {
        await store.add(batch);
      } catch (error) {
        onLost(error);
      }
    }
    flushing = null;
  };

  return {
    add(refusal) {
      if (waiting.length === MAX_WAITING) waiting.shift();
      waiting.push(refusal);
      flushing ??= flush();
    },
    flushed: async () => {
      while (flushing) await flushing;
    },
  };
}
