import type { Clock } from '../clock.ts';
import { hashCredential, hasValidChecksum } from '../ids.ts';
import type { InboxRecord } from '../inboxes/records.ts';
import { inboxAddress, parseAddress } from '../mail/address.ts';
import type { Store } from '../store.ts';

/** Maximum characters of a user name or password: more than any address (254) or credential has. */
const MAX_LENGTH = 512;

/** Credentials of SASL PLAIN (RFC 4616 section 2). */
export interface SmtpCredentials {
  /** '' or the same as `username`; any other identity is rejected. */
  authorizeAs: string;
  username: string;
  password: string;
}

/** The inbox that receives all mail of an authenticated client. */
export type CaptureTarget = Pick<InboxRecord, 'id' | 'accountId' | 'address'>;

type CredentialStore = Pick<Store, 'inboxes' | 'keys'>;
export type FindCaptureTarget = (credentials: SmtpCredentials) => Promise<CaptureTarget | undefined>;

/** Searches by the hash of the password, so that timing reveals nothing. @throws AppError `unavailable` */
export async function findCaptureTarget(
  { store, clock }: { store: CredentialStore; clock: Clock },
  { authorizeAs, username, password }: SmtpCredentials,
): Promise<CaptureTarget | undefined> {
  if (username.length > MAX_LENGTH || password.length > MAX_LENGTH) return undefined;
  if (authorizeAs !== '' && authorizeAs !== username) return undefined;
  if (!hasValidChecksum(password)) return undefined;
  const now = clock.now();
  const hash = hashCredential(password);
  const address = parseAddress(username.trim(), { smtputf8: true });
  const name = address ? inboxAddress(address) : username.trim().toLowerCase();
  const isToken = password.startsWith('mft_');
  const inbox = await (isToken ? store.inboxes.findByToken(hash, now) : findByKey(store, hash, name, now));
  const isNamed = !isToken || inbox?.id === name || inbox?.address === name;
  return inbox && isNamed && inbox.expiresAt > now ? inbox : undefined;
}

async function findByKey(store: CredentialStore, hash: string, name: string, now: number) {
  const key = await store.keys.findByHash(hash, now);
  const isAddress = name.includes('@');
  const id = key && isAddress ? (await store.inboxes.findTakers(name, now)).ofAddress?.inboxId : name;
  return key && id ? store.inboxes.find(key.account.id, id, now) : undefined;
}
