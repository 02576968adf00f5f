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
