/** The last use of a key is told to the minute. */
const KEY_USE_MS = 60_000;

/** Remembers when keys were used, until the store is told. */
export interface KeyUses {
  saw(keyId: string, now: number): void;
  /** What is to be told; it is forgotten here. */
  take(now: number): { keyId: string; at: number }[];
}

export function createKeyUses(): KeyUses {
  const uses = new Map<string, number>();
  const told = new Map<string, number>();
  return {
    saw(keyId, now) {
      if (now - (told.get(keyId) ?? 0) < KEY_USE_MS) return;
      told.set(keyId, now);
      uses.set(keyId, now);
    },
    take(now) {
      const taken = [...uses].map(([keyId, at]) => ({ keyId, at }));
      uses.clear();
      for (const [keyId, at] of told) if (now - at >= KEY_USE_MS) told.delete(keyId);
      return taken;
    },
  };
}
