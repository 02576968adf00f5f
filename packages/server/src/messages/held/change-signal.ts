import type { Clock } from '../../clock.ts';

/**
 * Requests resumed in one turn of the event loop. Each takes 50 to 150 µs (a response or a write to a
 * stream), so other requests wait half a millisecond at most.
 */
const WAKES_PER_TURN = 4;

/** Resumes held requests, one account after the other, so that an account with many of them delays no other. */
export class WakeQueue {
  /** In the order of the turns; the wake-ups of an account are called oldest first. */
  readonly #waiting = new Map<string, Set<() => void>>();
  #scheduled = false;

  /** Calls `wake` once, even if it is added several times before. */
  add(accountId: string, wake: () => void): void {
    const ofAccount = this.#waiting.get(accountId);
    if (ofAccount) ofAccount.add(wake);
    else this.#waiting.set(accountId, new Set([wake]));
    this.#schedule();
  }

  cancel(accountId: string, wake: () => void): void {
    const ofAccount = this.#waiting.get(accountId);
    if (ofAccount?.delete(wake) && ofAccount.size === 0) this.#waiting.delete(accountId);
  }

  #schedule(): void {
    if (this.#scheduled || this.#waiting.size === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      for (let n = 0; n < WAKES_PER_TURN; n++) this.#wakeNext();
      this.#schedule();
    });
  }

  #wakeNext(): void {
    const [next] = this.#waiting;
    if (!next) return;
    const [accountId, ofAccount] = next;
    this.#waiting.delete(accountId);
    const [wake] = ofAccount;
    if (!wake) return;
    ofAccount.delete(wake);
    // At the end, so that every other account has its turn first.
    if (ofAccount.size > 0) this.#waiting.set(accountId, ofAccount);
    wake();
  }
}

/** Changes that a held request of an account waits for. */
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

/** Subscribes at once, so that no change before the first read of the store is missed. @param signal ends every wait */
export function createChangeSignal(
  { clock, wakes }: WaitDeps,
  { accountId, subscribe }: ChangeSource,
  signal: AbortSignal,
) {
  let change = new AbortController();
  const notify = () => change.abort();
  const unsubscribe = subscribe(() => wakes.add(accountId, notify));
  signal.addEventListener('abort', notify);
  return {
    /** Called before each read: a change during the read ends the wait that follows. */
    reset(): void {
      change = new AbortController();
      if (signal.aborted) notify();
    },
    /** Resolves after `ms`, after the first change since the last reset, or when the abort signal fires. */
    async wait(ms: number): Promise<void> {
      const { signal: changed } = change;
      await clock.sleep(Math.max(0, ms), changed);
      // Many requests may time out at once, so they also resume in turns.
      if (!changed.aborted) await new Promise<void>((resolve) => wakes.add(accountId, resolve));
    },
    end(): void {
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
