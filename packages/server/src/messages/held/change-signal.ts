import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../clock.ts';
import { createTurns, type Turns } from '../turns.ts';

/**
 * Held requests that resume in one turn of the event loop, in turns by account. Each takes 50 to 150 µs (a response or
 * a write to a stream), so other requests wait for about half a millisecond.
 */
const WAKES_PER_TURN = 5;

export const createWakes = (): Turns => createTurns(WAKES_PER_TURN);

/** Changes that a held request of an account waits for. */
export interface ChangeSource {
  accountId: string;
  /** Returns a function that ends the subscription. */
  subscribe(listener: () => void): () => void;
}

export interface WaitDeps {
  clock: Clock;
  /** Shared by all held requests. */
  wakes: Turns;
}

export interface ReadResult<T> {
  result: T;
  isFinal: boolean;
  /** When the store is read again even without a change, epoch ms. */
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
  const { clock, wakes, source, signal } = deps;
  const deadline = clock.monotonic() + waitMs;
  const inTurn = () => wakes(source.accountId, () => nextTurn());
  let change = new AbortController();
  let isQueued = false;
  const resume = () => change.abort();
  // Subscribes before the first read, so that no change is missed.
  const unsubscribe = source.subscribe(async () => {
    if (isQueued) return;
    isQueued = true;
    await inTurn();
    isQueued = false;
    resume();
  });
  signal.addEventListener('abort', resume);
  try {
    for (;;) {
      // A change during the read ends the wait that follows.
      change = new AbortController();
      const isLast = clock.monotonic() >= deadline;
      const { result, isFinal, until } = await read(clock.now(), isLast);
      if (isFinal || isLast || signal.aborted) return result;
      const ms = Math.min(deadline - clock.monotonic(), until - clock.now());
      if (ms > 0) await clock.sleep(ms, change.signal);
      // Many requests may time out at once, so they also resume in turns.
      if (!change.signal.aborted) await inTurn();
    }
  } finally {
    unsubscribe();
    signal.removeEventListener('abort', resume);
  }
}
