import { setImmediate } from 'node:timers/promises';

/** All callers aborted before the search began. */
export class AbandonedSearch extends Error {}

/** Runs the searches of each account one after the other, so that many of them delay only that account. */
export class SearchTurns {
  readonly #last = new Map<string, Promise<unknown>>();

  /** @param waiting signals of all callers. @throws AbandonedSearch if all are aborted before `work` begins */
  run<T>(accountId: string, waiting: readonly AbortSignal[], work: () => Promise<T>): Promise<T> {
    const step = (): Promise<T> => {
      if (waiting.every(({ aborted }) => aborted)) throw new AbandonedSearch();
      return work();
    };
    const result = (this.#last.get(accountId) ?? Promise.resolve()).then(step);
    // Other requests are served between two searches.
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
