import { Recent } from './recent.ts';

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
