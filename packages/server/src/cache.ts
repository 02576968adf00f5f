/**
 * What was used lately, by its key. It forgets in whole generations and keeps no order within them, so a
 * look costs no more than a Map's: several stand in the way of every request.
 */
export class Recent<V> {
  #young = new Map<string, V>();
  #old = new Map<string, V>();
  readonly #generation: number;

  /** @param max entries at most; at least half as many of the last used ones are there */
  constructor(max: number) {
    this.#generation = Math.ceil(max / 2);
  }

  get(key: string): V | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  set(key: string, value: V): void {
    if (this.#young.size >= this.#generation && !this.#young.has(key)) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, value);
  }

  clear(): void {
    this.#young.clear();
    this.#old.clear();
  }
}

/**
 * For so long what the store said is taken for what it would say: programs ask many times a second for the
 * same. What another process changes (the operator's command line) is in force after this half second.
 */
export const REMEMBERED_MS = 500;

/** What a look-up answered, for as long as it may be taken for true. */
export class Remembered<T extends object> {
  readonly #values: Recent<{ value: T; generation: number | null; until: number }>;

  /** @param max entries at most */
  constructor(max: number) {
    this.#values = new Recent(max);
  }

  /** @param generation where given: only what was found in this one */
  get(key: string, now: number, generation: number | null = null): T | undefined {
    const found = this.#values.get(key);
    return found && now < found.until && found.generation === generation ? found.value : undefined;
  }

  set(key: string, value: T, until: number, generation: number | null = null): void {
    this.#values.set(key, { value, generation, until });
  }

  clear(): void {
    this.#values.clear();
  }
}
