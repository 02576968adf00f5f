import type { Clock } from '../clock.ts';

/** The rhythm of every wait: subscribe, look, wait for the hint, look again. */
export interface Hints {
  /** Called before each look: news that come while we look end the pause that follows. */
  looking(): void;
  /** Resolves at `time` (epoch ms), at news since the last look, or when the signal aborts. */
  pause(time: number): Promise<void>;
  /** Ends the subscription. */
  end(): void;
}

/** Begins to call the listener at each change; returns how to end it. */
export type Subscribe = (listener: () => void) => () => void;

/**
 * Subscribes at once.
 * @param subscribe to the news; answers how to end it
 * @param signal ends every pause
 */
export function listenForHints(clock: Clock, subscribe: Subscribe, signal: AbortSignal): Hints {
  let bell = new AbortController();
  const ring = () => bell.abort();
  const unsubscribe = subscribe(ring);
  signal.addEventListener('abort', ring);
  return {
    looking() {
      bell = new AbortController();
      if (signal.aborted) ring();
    },
    pause: (time) => clock.sleep(Math.max(0, time - clock.now()), bell.signal),
    end() {
      unsubscribe();
      signal.removeEventListener('abort', ring);
    },
  };
}

/** What one look found. */
export interface Look<T> {
  result: T;
  /** True when the wait is over with it. */
  isFinal: boolean;
  /** Until when it holds without a change, epoch ms. */
  until: number;
}

/**
 * Looks, and looks again after each change, until a look is final, the deadline passes or the signal aborts.
 * @param look called with the current time; called once at least
 * @returns the last result
 * @throws what `look` throws
 */
export async function lookUntil<T>(
  { clock, subscribe, signal }: { clock: Clock; subscribe: Subscribe; signal: AbortSignal },
  deadline: number,
  look: (now: number) => Promise<Look<T>>,
): Promise<T> {
  const hints = listenForHints(clock, subscribe, signal);
  try {
    for (;;) {
      hints.looking();
      const now = clock.now();
      const { result, isFinal, until } = await look(now);
      if (isFinal || now >= deadline || signal.aborted) return result;
      await hints.pause(Math.min(deadline, until));
    }
  } finally {
    hints.end();
  }
}
