import { hashCredential, newCredential } from '../ids.ts';
import type { Store } from '../store.ts';
import type { SessionRecord } from './sql.ts';

export interface NewSession {
  secret: string;
  record: SessionRecord;
}

/** Makes a session with the rights and lifetime of a live credential, given by its hash and kind. */
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

/** A link stays valid for this long after its first use: browsers may preload it before they show it. */
const REUSE_MS = 60_000;
/** More links than a person opens; the oldest one is dropped. */
const MAX_CODES = 10;

export type SignInCodes = ReturnType<typeof createSignInCodes>;

/** Codes of links that sign in without a key. In memory only: they end with the process that printed them. */
export function createSignInCodes() {
  const codes = new Map<string, { accountId: string; endsAt: number }>();
  return {
    make(accountId: string): string {
      const code = newCredential('mfs');
      const [oldest] = codes.keys();
      if (codes.size >= MAX_CODES && oldest !== undefined) codes.delete(oldest);
      codes.set(hashCredential(code), { accountId, endsAt: Number.POSITIVE_INFINITY });
      return code;
    },
    /** `now`: monotonic milliseconds. Undefined for an unknown code, or {@link REUSE_MS} after its first use. */
    redeem(code: string, now: number): string | undefined {
      const known = codes.get(hashCredential(code));
      if (!known || now >= known.endsAt) return undefined;
      known.endsAt = Math.min(known.endsAt, now + REUSE_MS);
      return known.accountId;
    },
  };
}
