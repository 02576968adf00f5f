import type { Clock } from '../clock.ts';

/**
 * Every wait reads the store, waits for a change, and reads again. It subscribes before it reads, so no
 * change is missed in between.
 */
export interface ChangeSignal {
  /** Called before each read: a change during the read ends the wait that follows. */
  reset(): void;
  /** Resolves at `time` (epoch ms), at the first change since the last reset, or when the abort signal fires. */
  wait(time: number): Promise<void>;
  /** Ends the subscription. */
  end(): void;
}

/** Begins to call the listener at each change; returns a function that ends the subscription. */
export type Subscribe = (listener: () => void) => () => void;

/**
 * Subscribes at once.
 * @param signal ends every wait
 */
export function createChangeSignal(clock: Clock, subscribe: Subscribe, signal: AbortSignal): ChangeSignal {
  let change = new AbortController();
  const notify = () => change.abort();
  const unsubscribe = subscribe(notify);
  signal.addEventListener('abort', notify);
  return {
    reset() {
      change = new AbortController();
      if (signal.aborted) notify();
    },
    wait: (time) => clock.sleep(Math.max(0, time - clock.now()), change.signal),
    end() {
      unsubscribe();
      signal.removeEventListener('abort', notify);
    },
  };
}

/** The result of one read of the store. */
export interface ReadResult<T> {
  result: T;
  /** True when the wait ends with this result. */
  isFinal: boolean;
  /** The store is read again at this time even without a change, epoch ms. */
  until: number;
}

/**
 * Calls `look` now and after each change, until its result is final, the deadline passes or the signal aborts.
 * @param deadline epoch ms
 * @param look called with the current time, at least once
 * @returns the last result
 * @throws what `look` throws
 */
export async function readUntil<T>(
  { clock, subscribe, signal }: { clock: Clock; subscribe: Subscribe; signal: AbortSignal },
  deadline: number,
  look: (now: number) => Promise<ReadResult<T>>,
): Promise<T> {
  const changes = createChangeSignal(clock, subscribe, signal);
  try {
    for (;;) {
      changes.reset();
      const now = clock.now();
      const { result, isFinal, until } = await look(now);
      if (isFinal || now >= deadline || signal.aborted) return result;
      await changes.wait(Math.min(deadline, until));
    }
  } finally {
    changes.end();
  }
}
