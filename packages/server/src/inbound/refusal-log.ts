import type { Refusal, RefusalStore } from '../store/contract/index.ts';

/** Refusals that wait for the store: a flood of them must cost memory for no more than these. */
const MAX_WAITING = 1000;

/** Persists refusals asynchronously; the SMTP reply never waits for the disk. */
export interface RefusalLog {
  add(refusal: Refusal): void;
  /** The same if `isWanted` resolves to true; the reply does not wait for that either. */
  addIf(isWanted: () => Promise<boolean>, refusal: Refusal): void;
  /** Resolves when all that was added before the call has been handed to the store. */
  flushed(): Promise<void>;
}

/** @param onLost called with the error when a write failed; those refusals are lost */
export function createRefusalLog(
  store: Pick<RefusalStore, 'add'>,
  onLost: (error: unknown) => void,
): RefusalLog {
  let waiting: Refusal[] = [];
  /** The write that takes what waits now, after those before it. */
  let next = Promise.resolve();
  let scheduled = false;
  /** Refusals of which it is not known yet whether they are wanted. */
  const asked = new Set<Promise<void>>();

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

  const add = (refusal: Refusal): void => {
    if (waiting.length === MAX_WAITING) waiting.shift();
    waiting.push(refusal);
    if (scheduled) return;
    scheduled = true;
    next = next.then(write);
  };

  const ask = async (isWanted: () => Promise<boolean>, refusal: Refusal): Promise<void> => {
    try {
      if (await isWanted()) add(refusal);
    } catch (error) {
      onLost(error);
    }
  };

  return {
    add,
    addIf(isWanted, refusal) {
      if (asked.size === MAX_WAITING) return;
      const answered = ask(isWanted, refusal).finally(() => asked.delete(answered));
      asked.add(answered);
    },
    async flushed() {
      await Promise.all(asked);
      await next;
    },
  };
}
