import { setImmediate } from 'node:timers/promises';

/**
 * Runs the searches of each account one after the other. A search thread that takes calls in the order in
 * which they arrive then serves all accounts in turn, and one with many searches delays only itself.
 */
export class SearchTurns {
  /** Of each account, when its last call has ended and others had a turn of the event loop. */
  readonly #last = new Map<string, Promise<unknown>>();

  /**
   * Calls `work` when the account's earlier calls have ended.
   * @param work one bounded step of a search
   * @param signal if it is aborted by then, `work` is not called
   * @throws the reason of the signal; what `work` throws
   */
  run<T>(accountId: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const step = (): Promise<T> => {
      signal.throwIfAborted();
      return work();
    };
    const result = (this.#last.get(accountId) ?? Promise.resolve()).then(step);
    // A thousand calls that find their result in memory would hold the event loop one after the other.
    const ended = result.then(
      () => setImmediate(),
      () => setImmediate(),
    );
    this.#last.set(accountId, ended);
    void ended.then(() => {
      if (this.#last.get(accountId) === ended) this.#last.delete(accountId);
    });
    return result;
  }
}
