import { hashCredential, newCredential } from '../ids.ts';
import type { Store } from '../store.ts';
import type { SessionRecord } from './sql.ts';

/** A new session: its secret, for the cookie, and the record that was stored. */
export interface NewSession {
  secret: string;
  record: SessionRecord;
}

/**
 * Makes a session of the console for a credential. It may do what the credential may, and ends with it.
 * @param of the hash and kind of a live credential
 */
export async function addSession(
  store: Pick<Store['sessions'], 'create'>,
  of: Pick<SessionRecord, 'credentialHash' | 'kind'>,
  now: number,
): Promise<NewSession> {
  const secret = newCredential('mfs');
  const record = { ...of, hash: hashCredential(secret), createdAt: now, usedAt: now };
  await store.create(record);
  return { secret, record };
}

/**
 * From its first use a sign-in link stays valid for so long: browsers open a link twice, to preload it and then
 * to show it.
 */
const REUSE_MS = 60_000;
/** Only as many links as a person may open; the oldest one is dropped. */
const MAX_CODES = 10;

/** Codes of the links that sign in without a key. Kept in memory: they end with the process that printed them. */
export interface SignInCodes {
  /** A new code for a session of this account. */
  make(accountId: string): string;
  /**
   * @param now on the monotonic clock
   * @returns the account of a code; undefined for one that is unknown, or was first used longer than {@link REUSE_MS} ago
   */
  redeem(code: string, now: number): string | undefined;
}

/** @returns codes that are each good for one sign-in */
export function createSignInCodes(): SignInCodes {
  const codes = new Map<string, { accountId: string; endsAt: number }>();
  return {
    make(accountId) {
      const code = newCredential('mfs');
      const [oldest] = codes.keys();
      if (codes.size >= MAX_CODES && oldest !== undefined) codes.delete(oldest);
      codes.set(hashCredential(code), { accountId, endsAt: Number.POSITIVE_INFINITY });
      return code;
    },
    redeem(code, now) {
      const known = codes.get(hashCredential(code));
      if (!known || now >= known.endsAt) return undefined;
      known.endsAt = Math.min(known.endsAt, now + REUSE_MS);
      return known.accountId;
    },
  };
}
