/**
 * The entries used last, by key. Entries leave in whole generations and there is no order within one, so
 * reading costs no more than a Map does: each request reads several of these caches.
 */
export class LruCache<V> {
  #young = new Map<string, V>();
  #old = new Map<string, V>();
  readonly #generation: number;

  /** @param max the largest number of entries; at least half as many of those used last are kept */
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
 * How long a result of the store is used again: programs repeat the same request many times a second. A
 * change by another process (the command line) takes effect after this half second.
 */
export const CACHE_TTL_MS = 500;

/** Results of the store, each for a limited time. Times are monotonic: see `Clock.monotonic`. */
export class TtlCache<T extends object> {
  readonly #values: LruCache<{ value: T; generation: number | null; until: number }>;

  /** @param max the largest number of entries */
  constructor(max: number) {
    this.#values = new LruCache(max);
  }

  /**
   * @param now monotonic milliseconds
   * @param generation where given, only an entry of this generation is returned
   */
  get(key: string, now: number, generation: number | null = null): T | undefined {
    const found = this.#values.get(key);
    return found && now < found.until && found.generation === generation ? found.value : undefined;
  }

  /** @param until monotonic milliseconds */
  set(key: string, value: T, until: number, generation: number | null = null): void {
    this.#values.set(key, { value, generation, until });
  }

  clear(): void {
    this.#values.clear();
  }
}
