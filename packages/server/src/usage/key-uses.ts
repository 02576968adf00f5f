/** Accuracy of a key's `lastUsedAt`. */
const KEY_USE_MS = 60_000;

/** Collects uses of API keys until they are written to the store. Times are epoch milliseconds. */
export class KeyUses {
  readonly #pending = new Map<string, number>();
  readonly #written = new Map<string, number>();

  record(keyId: string, now: number): void {
    if (now - (this.#written.get(keyId) ?? 0) < KEY_USE_MS) return;
    this.#written.set(keyId, now);
    this.#pending.set(keyId, now);
  }

  take(now: number): { keyId: string; at: number }[] {
    const taken = [...this.#pending].map(([keyId, at]) => ({ keyId, at }));
    this.#pending.clear();
    for (const [keyId, at] of this.#written) if (now - at >= KEY_USE_MS) this.#written.delete(keyId);
    return taken;
  }
}
