import type { Clock } from '../../clock.ts';
import type { WakeQueue } from './wake-queue.ts';

/** Waits subscribe before they read the store, so that no change in between is missed. */
export interface ChangeSignal {
  /** Called before each read: a change during the read ends the wait that follows. */
  reset(): void;
  /** Resolves after `ms`, after the first change since the last reset, or when the abort signal fires. */
  wait(ms: number): Promise<void>;
  end(): void;
}

/** Changes resume the requests of the account in its turn. */
export interface ChangeSource {
  accountId: string;
  /** Returns a function that ends the subscription. */
  subscribe(listener: () => void): () => void;
}

export interface WaitDeps {
  clock: Clock;
  /** Shared by all held requests. */
  wakes: WakeQueue;
}

/** Subscribes at once. @param signal ends every wait */
export function createChangeSignal(
  { clock, wakes }: WaitDeps,
  { accountId, subscribe }: ChangeSource,
  signal: AbortSignal,
): ChangeSignal {
  let change = new AbortController();
  const notify = () => change.abort();
  const unsubscribe = subscribe(() => wakes.add(accountId, notify));
  signal.addEventListener('abort', notify);
  return {
    reset() {
      change = new AbortController();
      if (signal.aborted) notify();
    },
    async wait(ms) {
      const { signal: changed } = change;
      await clock.sleep(Math.max(0, ms), changed);
      // Many requests may end at the same time, so they resume in turns as after a change.
      if (!changed.aborted) await new Promise<void>((resolve) => wakes.add(accountId, resolve));
    },
    end() {
      unsubscribe();
      wakes.cancel(accountId, notify);
      signal.removeEventListener('abort', notify);
    },
  };
}

export interface ReadResult<T> {
  result: T;
  isFinal: boolean;
  /** When the store is read again even without a change, epoch ms: the expiry of the inbox. */
  until: number;
}

/**
 * Reads now and after each change, until the result is final, `waitMs` of monotonic time are over or `signal` aborts.
 * @param read called at least once, with the wall-clock time and whether it is the last call
 */
export async function readUntil<T>(
  deps: WaitDeps & { source: ChangeSource; signal: AbortSignal },
  waitMs: number,
  read: (now: number, isLast: boolean) => Promise<ReadResult<T>>,
): Promise<T> {
  const { clock, source, signal } = deps;
  const deadline = clock.monotonic() + waitMs;
  const changes = createChangeSignal(deps, source, signal);
  try {
    for (;;) {
      changes.reset();
      const isLast = clock.monotonic() >= deadline;
      const { result, isFinal, until } = await read(clock.now(), isLast);
      if (isFinal || isLast || signal.aborted) return result;
      await changes.wait(Math.min(deadline - clock.monotonic(), until - clock.now()));
    }
  } finally {
    changes.end();
  }
}
