import type { Clock } from '../clock.ts';
import { hashCredential, hasValidChecksum } from '../ids.ts';
import type { InboxRecord } from '../inboxes/records.ts';
import { inboxAddress, parseAddress } from '../mail/address.ts';
import type { Store } from '../store.ts';

/** Longer than any address (254) and any credential of ours; longer values are not hashed or looked up. */
const MAX_LENGTH = 512;

/** What a client sends to authenticate an SMTP session (RFC 4616 section 2). */
export interface SmtpCredentials {
  /** The identity to act as; '' for the user's own, which is the only one allowed. */
  authorizeAs: string;
  /** An inbox id or address. */
  username: string;
  /** The inbox's read token, or an API key of its account. */
  password: string;
}

/** The inbox that takes all mail of an authenticated session. */
export interface CaptureTarget {
  inboxId: string;
  accountId: string;
  /** Lower case, without a tag. */
  address: string;
}

/**
 * Finds the inbox that SMTP credentials stand for.
 * @returns undefined for wrong ones, whatever is wrong: unknown, revoked or expired credential, unknown or
 *   expired inbox, an inbox of another account
 * @throws AppError `unavailable`
 */
export type FindCaptureTarget = (credentials: SmtpCredentials) => Promise<CaptureTarget | undefined>;

/** The inbox id or normalised address that a user name stands for. */
function normalised(username: string): string {
  const address = parseAddress(username.trim(), { smtputf8: true });
  return address ? inboxAddress(address) : username.trim().toLowerCase();
}

/**
 * Credentials are looked up by their SHA-256 hash, as those of HTTP requests are, so the time of an answer
 * says nothing about a stored secret. An API key of scope `read` is enough: anyone may send mail to an
 * inbox, so capturing it needs no right beyond the one to read it.
 */
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
    const inboxId = name.includes('@') ? (await store.inboxes.findByAddress(name, now))?.inboxId : name;
    return inboxId === undefined ? undefined : store.inboxes.find(found.account.id, inboxId, now);
  };

  return async ({ authorizeAs, username, password }) => {
    if (username.length > MAX_LENGTH || password.length > MAX_LENGTH) return undefined;
    if (authorizeAs !== '' && authorizeAs !== username) return undefined;
    if (!hasValidChecksum(password)) return undefined;
    const now = clock.now();
    const find = password.startsWith('mft_') ? byToken : byKey;
    const inbox = await find(hashCredential(password), normalised(username), now);
    if (!inbox || inbox.expiresAt <= now) return undefined;
    return { inboxId: inbox.id, accountId: inbox.accountId, address: inbox.address };
  };
}
