/** Evicts whole generations of entries instead of ordering them, so that a read costs no more than a Map's. */
export class LruCache<V> {
  #young = new Map<string, V>();
  #old = new Map<string, V>();
  readonly #generation: number;

  /** @param max entries; at least the last `max / 2` used ones are kept */
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

/** Results of the store are reused for this long. Changes by other processes, such as the CLI, take effect after it. */
export const CACHE_TTL_MS = 500;

/** Times are monotonic milliseconds. An entry of another `generation` than the given one is not returned. */
export class TtlCache<T extends object> {
  readonly #values: LruCache<{ value: T; generation: number | null; until: number }>;

  constructor(max: number) {
    this.#values = new LruCache(max);
  }

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
