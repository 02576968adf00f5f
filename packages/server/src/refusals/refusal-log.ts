import type { Store } from '../store.ts';
import { Batcher } from '../workers/batcher.ts';
import type { Refusal } from './sql.ts';

/** Concurrent look-ups of {@link RefusalLog.addIf}: a flood of refusals must not become a flood of queries. */
const MAX_LOOKUPS = 1_000;

/**
 * Persists refusals asynchronously; the SMTP reply never waits for the disk.
 * @param onLost called with the error of a failed write or look-up, whose refusals are lost
 */
export function createRefusalLog(store: Pick<Store['refusals'], 'add'>, onLost: (error: unknown) => void) {
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
    add: (refusal: Refusal): void => batcher.offer(refusal),
    addIf(isWanted: () => Promise<boolean>, refusal: Refusal): void {
      if (lookups.size === MAX_LOOKUPS) return;
      const ended = lookUp(isWanted, refusal).finally(() => lookups.delete(ended));
      lookups.add(ended);
    },
    /** Resolves when everything that was added before the call has been passed to the store. */
    async flushed(): Promise<void> {
      await Promise.all(lookups);
      await batcher.flushed();
    },
  };
}
