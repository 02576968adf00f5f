import type { Clock } from '../../clock.ts';
import type { WakeQueue } from './wake-queue.ts';

/**
 * Every wait reads the store, waits for a change, and reads again. It subscribes before it reads, so no
 * change is missed in between.
 */
export interface ChangeSignal {
  /** Called before each read: a change during the read ends the wait that follows. */
  reset(): void;
  /**
   * Resolves soon after `ms` milliseconds or the first change since the last reset, or when the abort signal
   * fires.
   */
  wait(ms: number): Promise<void>;
  /** Ends the subscription. */
  end(): void;
}

/** Something that changes, and the account whose turn it is when a change resumes a request. */
export interface ChangeSource {
  accountId: string;
  /** Begins to call the listener at each change; returns a function that ends the subscription. */
  subscribe(listener: () => void): () => void;
}

/** What waits need. */
export interface WaitDeps {
  clock: Clock;
  /** Shared by all requests that the server holds. */
  wakes: WakeQueue;
  /** The same for those whose time is over: they do not wait behind those that resume after changes. */
  ends: WakeQueue;
}

/**
 * Subscribes at once.
 * @param signal ends every wait at once
 */
export function createChangeSignal(
  { clock, wakes, ends }: WaitDeps,
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
      // A thousand requests may have the same end: they resume in turns, as after a change.
      if (!changed.aborted) await new Promise<void>((resolve) => ends.add(accountId, resolve));
    },
    end() {
      unsubscribe();
      wakes.cancel(accountId, notify);
      signal.removeEventListener('abort', notify);
    },
  };
}

/** The result of one read of the store. */
export interface ReadResult<T> {
  result: T;
  /** True when the wait ends with this result. */
  isFinal: boolean;
  /** The store is read again at this time even without a change, epoch ms: the expiry of the inbox. */
  until: number;
}

/**
 * Calls `read` now and after each change, until its result is final, `waitMs` are over or the signal aborts.
 * @param waitMs milliseconds of monotonic time: corrections of the wall clock change nothing
 * @param read called at least once, with the wall-clock time and whether it is the last call
 * @returns the last result
 * @throws what `read` throws
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
