/** `lastUsedAt` of a key is accurate to one minute. */
const KEY_USE_MS = 60_000;

/** Collects when API keys were used, until the times are written to the store. */
export class KeyUses {
  readonly #pending = new Map<string, number>();
  readonly #written = new Map<string, number>();

  /** Notes that a key was used. @param now epoch milliseconds */
  record(keyId: string, now: number): void {
    if (now - (this.#written.get(keyId) ?? 0) < KEY_USE_MS) return;
    this.#written.set(keyId, now);
    this.#pending.set(keyId, now);
  }

  /** Removes and returns the uses to write. @param now epoch milliseconds */
  take(now: number): { keyId: string; at: number }[] {
    const taken = [...this.#pending].map(([keyId, at]) => ({ keyId, at }));
    this.#pending.clear();
    for (const [keyId, at] of this.#written) if (now - at >= KEY_USE_MS) this.#written.delete(keyId);
    return taken;
  }
}
