/**
 * Runs the searches of each account one after the other. A search thread that takes calls in the order in
 * which they arrive then serves all accounts in turn, and one with many searches delays only itself.
 */
export class SearchTurns {
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
    const turn = (this.#last.get(accountId) ?? Promise.resolve()).then(step, step);
    this.#last.set(accountId, turn);
    const forget = () => {
      if (this.#last.get(accountId) === turn) this.#last.delete(accountId);
    };
    turn.then(forget, forget);
    return turn;
  }
}
