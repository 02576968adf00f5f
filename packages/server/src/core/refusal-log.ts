import type { Refusal, RefusalStore } from '../store/store.ts';

/** Refusals that wait for the store: a flood of them must cost memory for no more than these. */
const MAX_WAITING = 1000;

/** Writes refusals behind the reply's back: a refused sender never waits for the disk. */
export interface RefusalLog {
  add(refusal: Refusal): void;
  /** Resolves when all that was added before the call has been handed to the store. */
  flushed(): Promise<void>;
}

/** @param onLost told of the error when a write failed; those refusals are gone */
export function createRefusalLog(
  store: Pick<RefusalStore, 'add'>,
  onLost: (error: unknown) => void,
): RefusalLog {
  let waiting: Refusal[] = [];
  /** The write that takes what waits now, after those before it. */
  let next = Promise.resolve();
  let scheduled = false;

  const write = async (): Promise<void> => {
    const batch = waiting;
    waiting = [];
    scheduled = false;
    try {
      await store.add(batch);
    } catch (error) {
      onLost(error);
    }
  };

  return {
    add(refusal) {
      if (waiting.length === MAX_WAITING) waiting.shift();
      waiting.push(refusal);
      if (scheduled) return;
      scheduled = true;
      next = next.then(write);
    },
    flushed: () => next,
  };
}
