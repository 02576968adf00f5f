import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../clock.ts';
import { liveInbox } from '../core/read.ts';
import { AppError } from '../errors.ts';
import { hashCredential, hasValidChecksum } from '../ids.ts';
import type { AccountRecord, InboxRecord, KeyRecord, Store } from '../store/store.ts';

/**
 * What a route demands of its caller; every route declares one.
 * - `public`: nothing
 * - `account:read`, `account:write`: an API key; a key of scope `read` only reads
 * - `inbox:read`: an API key of the owner of the inbox `:id`, or that inbox's read token
 * - `inbox:write`: an API key of its owner, not of scope `read`
 */
export type Access = 'public' | 'account:read' | 'account:write' | 'inbox:read' | 'inbox:write';

export const ACCESS_KINDS: readonly Access[] = [
  'public',
  'account:read',
  'account:write',
  'inbox:read',
  'inbox:write',
];

/** An account that came with one of its API keys. */
export interface KeyCaller {
  key: KeyRecord;
  account: AccountRecord;
  /** The credential itself, to derive read tokens from; never logged. */
  apiKey: string;
}

/** Who asks, as far as the route's access promises it. */
export interface Caller {
  accountId: string;
  /** Null for a read token. */
  key: KeyCaller | null;
  /** The live inbox of `inbox:…` routes. */
  inbox: InboxRecord | null;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access;
  }
  interface FastifyRequest {
    caller: Caller | null;
  }
}

/** Longer than any credential; what is longer is not even hashed. */
const MAX_CREDENTIAL = 512;
/** RFC 6750 section 2.1; the scheme's name has no case (RFC 9110 section 11.1). */
const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i;

function bearer(header: string | undefined): string {
  if (header === undefined) {
    throw new AppError('unauthorized', 'give a credential: Authorization: Bearer <API key or read token>');
  }
  const credential = header.length > MAX_CREDENTIAL ? undefined : BEARER.exec(header)?.[1];
  if (credential === undefined) {
    throw new AppError('unauthorized', 'the Authorization header must be: Bearer <API key or read token>');
  }
  return credential;
}

const unknownCredential = () => new AppError('unauthorized', 'this credential is not known, or no longer');

/** Credentials whose hash is remembered: those that are in use now, whether the store knows them or not. */
const HASHED_CREDENTIALS = 1_000;

/**
 * For so long a key is taken for what it was: a program asks many times a second with one key, and the
 * look-up costs as much as the rest of the guard. A revoked key may go on for this second, no longer.
 */
const KEY_REMEMBERED_MS = 1_000;

/**
 * The hash of a credential, or undefined for a mistyped one. Working it out takes longer than the look-up
 * that follows, so it is remembered; whether the credential is still good is asked each time.
 */
function createHasher(): (credential: string) => string | undefined {
  const known = new LRUCache<string, string>({ max: HASHED_CREDENTIALS });
  return (credential) => {
    const remembered = known.get(credential);
    if (remembered !== undefined) return remembered;
    if (!hasValidChecksum(credential)) return undefined;
    const hashed = hashCredential(credential);
    known.set(credential, hashed);
    return hashed;
  };
}

export interface GuardDeps {
  store: Pick<Store, 'keys' | 'inboxes'>;
  clock: Clock;
}

/** The one guard of all routes: credential in, {@link Caller} out, or the refusal to give. */
export function createGuard({ store, clock }: GuardDeps) {
  const hasher = createHasher();

  type FoundKey = { key: KeyRecord; account: AccountRecord };
  const keys = new LRUCache<string, FoundKey & { until: number }>({ max: HASHED_CREDENTIALS });

  async function findKey(keyHash: string, now: number): Promise<FoundKey> {
    const known = keys.get(keyHash);
    if (known && now < known.until) return known;
    const found = await store.keys.findByHash(keyHash, now);
    if (!found) throw unknownCredential();
    const ends = found.key.expiresAt ?? Number.POSITIVE_INFINITY;
    keys.set(keyHash, { ...found, until: Math.min(now + KEY_REMEMBERED_MS, ends) });
    return found;
  }

  async function withToken(tokenHash: string, access: Access, inboxId: string | undefined): Promise<Caller> {
    const now = clock.now();
    const inbox = await store.inboxes.findByToken(tokenHash, now);
    if (!inbox) throw unknownCredential();
    if (access !== 'inbox:read') {
      throw new AppError('insufficient_scope', 'a read token only reads its inbox; this needs an API key');
    }
    const own = inbox.id === inboxId ? inbox : undefined;
    return { accountId: inbox.accountId, key: null, inbox: liveInbox(own, now) };
  }

  async function withKey(
    apiKey: string,
    keyHash: string,
    access: Access,
    inboxId: string | undefined,
  ): Promise<Caller> {
    const now = clock.now();
    const { key, account } = await findKey(keyHash, now);
    if (key.scope === 'read' && access.endsWith(':write')) {
      throw new AppError('insufficient_scope', 'this API key may only read');
    }
    const caller: Caller = { accountId: account.id, key: { key, account, apiKey }, inbox: null };
    if (!access.startsWith('inbox:')) return caller;
    const inbox = inboxId === undefined ? undefined : await store.inboxes.find(account.id, inboxId, now);
    return { ...caller, inbox: liveInbox(inbox, now) };
  }

  /**
   * @param inboxId the `:id` of the path
   * @throws AppError `unauthorized`, `insufficient_scope`, `not_found` or `inbox_expired`
   */
  return async (authorization: string | undefined, access: Access, inboxId: string | undefined) => {
    if (access === 'public') return null;
    const credential = bearer(authorization);
    const hashed = hasher(credential);
    if (hashed === undefined) throw new AppError('unauthorized', 'the credential is incomplete or mistyped');
    return credential.startsWith('mft_')
      ? withToken(hashed, access, inboxId)
      : withKey(credential, hashed, access, inboxId);
  };
}

/** Of a request to an `account:…` route or an `inbox:write` one. */
export function keyCaller({ caller }: FastifyRequest): KeyCaller {
  if (!caller?.key) throw new Error('the route did not declare an access that promises an API key');
  return caller.key;
}

/** The inbox of a request to an `inbox:…` route, alive when the request came in. */
export function callersInbox({ caller }: FastifyRequest): InboxRecord {
  if (!caller?.inbox) throw new Error('the route did not declare an access that promises an inbox');
  return caller.inbox;
}
