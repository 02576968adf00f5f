import { hashCredential, newCredential } from '../ids.ts';

/** A link stays valid for this long after its first use: browsers may preload it before they show it. */
const REUSE_MS = 60_000;
export type SignInCodes = ReturnType<typeof createSignInCodes>;

/** Makes codes for links that sign in without a key. Only the last code is valid; a restart invalidates it. */
export function createSignInCodes() {
  let made: { hash: string; accountId: string; endsAt: number } | undefined;
  return {
    make(accountId: string): string {
      const code = newCredential('mfs');
      made = { hash: hashCredential(code), accountId, endsAt: Number.POSITIVE_INFINITY };
      return code;
    },
    /** @param now monotonic milliseconds @returns the account's id; undefined for an unknown or expired code */
    redeem(code: string, now: number): string | undefined {
      if (made?.hash !== hashCredential(code) || now >= made.endsAt) return undefined;
      made.endsAt = Math.min(made.endsAt, now + REUSE_MS);
      return made.accountId;
    },
  };
}
