/** A value at once where it is known, or the promise of it. */
export type Soon<T> = T | Promise<T>;

/** Goes on at once where the value is known: most requests then never leave their turn of the event loop. */
export function after<T, U>(value: Soon<T>, next: (value: T) => Soon<U>): Soon<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}
