import type { Logger } from '../log.ts';

/** SIGTERM to exit is promised within 10 s; what is in flight gets most of it. */
const DRAIN_MS = 8_000;

/** Something that stops accepting work and then finishes what is in flight. */
interface Stoppable {
  stop(deadlineMs: number): Promise<void>;
}

/**
 * The parts that are open. Each part is added as soon as it is open, so that a start that fails frees all
 * before it.
 */
export interface Opened {
  /** Adds what ends a part that others use. Called after all listeners have stopped, the last added first. */
  onClose(close: () => Promise<void>): void;
  /** Adds a part that begins work of its own: SMTP, HTTP, webhooks. All of them are stopped together. */
  addListener(listener: Stoppable): void;
  /** Stops and closes all parts. A failure is logged, and the other parts are closed. Safe to call twice. */
  closeAll(): Promise<void>;
}

export function createOpened(log: Logger): Opened {
  const closers: (() => Promise<void>)[] = [];
  const listeners: Stoppable[] = [];
  const close = async (part: () => Promise<void>): Promise<void> => {
    try {
      await part();
    } catch (err) {
      log.error({ err }, 'A part did not stop cleanly');
    }
  };
  return {
    onClose: (closer) => void closers.push(closer),
    addListener: (listener) => void listeners.push(listener),
    async closeAll() {
      await Promise.all(listeners.splice(0).map((listener) => close(() => listener.stop(DRAIN_MS))));
      for (let closer = closers.pop(); closer; closer = closers.pop()) await close(closer);
    },
  };
}
