import type { Clock } from '../clock.ts';
import { hashCredential, hasValidChecksum } from '../ids.ts';
import type { InboxRecord } from '../inboxes/records.ts';
import { inboxAddress, parseAddress } from '../mail/address.ts';
import type { Store } from '../store.ts';

/** Longer than any address (254 characters) and any credential. Longer values are rejected. */
const MAX_LENGTH = 512;

/** Credentials of SASL PLAIN (RFC 4616 section 2). */
export interface SmtpCredentials {
  /** '' means the identity of `username`. Other identities are rejected. */
  authorizeAs: string;
  username: string;
  password: string;
}

/** The inbox that receives all mail of an authenticated client. */
export type CaptureTarget = Pick<InboxRecord, 'id' | 'accountId' | 'address'>;

/** Returns undefined for all wrong credentials, whatever the reason. @throws AppError `unavailable` */
export type FindCaptureTarget = (credentials: SmtpCredentials) => Promise<CaptureTarget | undefined>;

/** Looks up credentials by their hash, so timing reveals no secret. An API key of scope `read` is enough. */
export function createFindCaptureTarget(deps: {
  store: Pick<Store, 'inboxes' | 'keys'>;
  clock: Clock;
}): FindCaptureTarget {
  const { store, clock } = deps;

  const byToken = async (hash: string, name: string, now: number): Promise<InboxRecord | undefined> => {
    const inbox = await store.inboxes.findByToken(hash, now);
    return inbox && (inbox.id === name || inbox.address === name) ? inbox : undefined;
  };

  const byKey = async (hash: string, name: string, now: number): Promise<InboxRecord | undefined> => {
    const found = await store.keys.findByHash(hash, now);
    if (!found) return undefined;
    const inboxId = name.includes('@')
      ? (await store.inboxes.findTakers(name, now)).ofAddress?.inboxId
      : name;
    return inboxId ? store.inboxes.find(found.account.id, inboxId, now) : undefined;
  };

  return async ({ authorizeAs, username, password }) => {
    if (username.length > MAX_LENGTH || password.length > MAX_LENGTH) return undefined;
    if (authorizeAs !== '' && authorizeAs !== username) return undefined;
    if (!hasValidChecksum(password)) return undefined;
    const now = clock.now();
    const find = password.startsWith('mft_') ? byToken : byKey;
    const address = parseAddress(username.trim(), { smtputf8: true });
    const name = address ? inboxAddress(address) : username.trim().toLowerCase();
    const inbox = await find(hashCredential(password), name, now);
    return inbox && inbox.expiresAt > now ? inbox : undefined;
  };
}
