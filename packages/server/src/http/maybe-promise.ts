/** A value, or the promise of one where it is not known yet. */
export type MaybePromise<T> = T | Promise<T>;

/**
 * Applies `next` at once to a value that is known, so that most requests finish within one turn of the event
 * loop; otherwise when the promise resolves.
 */
export function andThen<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}
