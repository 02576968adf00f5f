import type { Store } from '../store.ts';
import { Batcher } from '../workers/batcher.ts';
import type { Refusal } from './sql.ts';

/** Concurrent look-ups of {@link RefusalLog.addIf}: a flood of refusals must not become a flood of queries. */
const MAX_LOOKUPS = 1_000;

/** Persists refusals asynchronously; the SMTP reply never waits for the disk. */
export interface RefusalLog {
  add(refusal: Refusal): void;
  addIf(isWanted: () => Promise<boolean>, refusal: Refusal): void;
  /** Resolves when everything that was added before the call has been passed to the store. */
  flushed(): Promise<void>;
}

/** @param onLost called with the error of a failed write or look-up, whose refusals are lost */
export function createRefusalLog(
  store: Pick<Store['refusals'], 'add'>,
  onLost: (error: unknown) => void,
): RefusalLog {
  const write = async (refusals: Refusal[]): Promise<never[]> => {
    await store.add(refusals);
    return [];
  };
  const batcher = new Batcher(write, { onLost });
  const lookups = new Set<Promise<void>>();

  const lookUp = async (isWanted: () => Promise<boolean>, refusal: Refusal): Promise<void> => {
    try {
      if (await isWanted()) batcher.offer(refusal);
    } catch (error) {
      onLost(error);
    }
  };

  return {
    add: (refusal) => batcher.offer(refusal),
    addIf(isWanted, refusal) {
      if (lookups.size === MAX_LOOKUPS) return;
      const ended = lookUp(isWanted, refusal).finally(() => lookups.delete(ended));
      lookups.add(ended);
    },
    async flushed() {
      await Promise.all(lookups);
      await batcher.flushed();
    },
  };
}
