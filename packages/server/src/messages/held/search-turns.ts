import { setImmediate } from 'node:timers/promises';

/** A search was not made, because all that wanted its result had given up before its turn came. */
export class AbandonedSearch extends Error {}

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
   * @param waiting of those that wait for the result; `work` is not called if all of them have aborted by then
   * @throws AbandonedSearch then; what `work` throws
   */
  run<T>(accountId: string, waiting: readonly AbortSignal[], work: () => Promise<T>): Promise<T> {
    const step = (): Promise<T> => {
      if (waiting.every(({ aborted }) => aborted)) throw new AbandonedSearch();
      return work();
    };
    const result = (this.#last.get(accountId) ?? Promise.resolve()).then(step);
    // Other requests have their turn between two searches.
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
