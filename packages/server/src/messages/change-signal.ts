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

/**
 * Subscribes at once.
 * @param subscribe to the news; answers how to end it
 * @param signal ends every pause
 */
export function listenForHints(
  clock: Clock,
  subscribe: (listener: () => void) => () => void,
  signal: AbortSignal,
): Hints {
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
