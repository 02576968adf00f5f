import type { FastifyRequest } from 'fastify';
import { CACHE_TTL_MS, LruCache, TtlCache } from '../../cache.ts';
import type { Clock } from '../../clock.ts';
import { AppError } from '../../errors.ts';
import { hashCredential, hasValidChecksum } from '../../ids.ts';
import { liveInbox } from '../../messages/live-inbox.ts';
import type { AccountRecord, InboxRecord, KeyRecord, Store } from '../../store/contract/index.ts';
import { andThen, type MaybePromise } from '../maybe-promise.ts';
import type { Admitted } from './admission.ts';

/**
 * What a route demands of its caller; every route declares one.
 * - `public`: nothing
 * - `account:read`, `account:write`: an API key; a key of scope `read` only reads
 * - `inbox:read`: an API key of the owner of the inbox `:id`, or that inbox's read token
 * - `inbox:write`: an API key of its owner, not of scope `read`
 * - `any`: an API key, or the read token of any live inbox, which the caller then has
 */
export type Access = 'public' | 'account:read' | 'account:write' | 'inbox:read' | 'inbox:write' | 'any';

/** An account that came with one of its API keys. */
export interface KeyCaller {
  key: KeyRecord;
  account: AccountRecord;
  /** Hash of the key, to derive read tokens from; the same for the key and its sessions. */
  keyHash: string;
}

/** Who asks, as far as the route's access promises it. */
export interface Caller {
  account: AccountRecord;
  /** Null for a read token. */
  key: KeyCaller | null;
  /** The live inbox of `inbox:…` routes. */
  inbox: InboxRecord | null;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access;
    /** True where a request costs nothing of the month: what tells that it is used up. */
    free?: boolean;
    /** Media types of the body that the operation takes. Default: `application/json`. */
    accepts?: readonly string[];
  }
  interface FastifyRequest {
    caller: Caller | null;
    /** The secret of its session cookie; undefined without one that counts. */
    session: string | undefined;
    /** What the request was let in with; null where it never got so far. */
    admitted: Admitted | null;
  }
}

/** Longer than any credential; what is longer is not even hashed. */
const MAX_CREDENTIAL = 512;
/** RFC 6750 section 2.1; the scheme's name has no case (RFC 9110 section 11.1). */
const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i;

/** A credential as it stands in a header, with the hash that the store knows it by. */
interface Credential {
  text: string;
  hash: string;
  /** The last result of the store, used until a monotonic time; undefined before the first look-up. */
  known: { caller: KeyCaller; until: number; forgotten: number } | undefined;
}

/** What every message about a credential ends with. Never contains any part of the header. */
const HOW_TO_AUTHENTICATE =
  'Send "Authorization: Bearer CREDENTIAL" with an API key (mfk_…) or the read token of the inbox (mft_…).';
const WHERE_KEYS_COME_FROM =
  'The first API key comes from the first start of the server: "mayfly dev" prints it, "mayfly serve" writes it to the file first-api-key. "mayfly key create" creates more.';

const unauthorized = (message: string): AppError => new AppError('unauthorized', message);

function bearer(header: string): string {
  if (header.length > MAX_CREDENTIAL) {
    throw unauthorized(
      `The Authorization header is longer than ${MAX_CREDENTIAL} characters. ${HOW_TO_AUTHENTICATE}`,
    );
  }
  const credential = BEARER.exec(header)?.[1];
  if (credential !== undefined) return credential;
  const problem = /^mf[kt]_/.test(header)
    ? 'The word "Bearer" is missing before the credential.'
    : 'The Authorization header does not have the form "Bearer CREDENTIAL".';
  throw unauthorized(`${problem} ${HOW_TO_AUTHENTICATE}`);
}

export const missingCredential = () =>
  unauthorized(`The Authorization header is missing. ${HOW_TO_AUTHENTICATE} ${WHERE_KEYS_COME_FROM}`);

/** For an operation that needs an API key, asked with a read token. */
export const tokenNotEnough = () =>
  new AppError(
    'insufficient_scope',
    'A read token can only read its own inbox. Use an API key for this operation.',
  );

/** For an operation that changes something, asked with an API key of the scope `read`. */
export const keyReadsOnly = () =>
  new AppError(
    'insufficient_scope',
    'This API key has the scope "read". Use one with the scope "full" for this operation.',
  );

/** The same 401 for unknown, revoked and expired credentials, so that callers cannot tell them apart. */
export const unknownCredential = () =>
  unauthorized(`The API key or token is unknown, revoked or expired. ${WHERE_KEYS_COME_FROM}`);

/** A session that ended: by signing out, by its age, or because nobody used it. */
export const sessionEnded = () => unauthorized('The session of the console has ended. Sign in again.');

/** A use is recorded so often: each is a write, and a session lives for hours after it. */
const SESSION_USE_EVERY_MS = 10 * 60_000;

/** Credentials whose hash is remembered: those that are in use now, whether the store knows them or not. */
const HASHED_CREDENTIALS = 1_000;
/** Keys, accounts and inboxes that are remembered for a moment. */
const REMEMBERED = 10_000;

/**
 * Reads Authorization headers. Working out the hash takes longer than the look-up that follows, so it is
 * remembered; whether the credential is still good is asked each time.
 */
function createReader(): (header: string | undefined) => Credential {
  const known = new LruCache<Credential>(HASHED_CREDENTIALS);
  return (header) => {
    if (header === undefined) {
      throw missingCredential();
    }
    const remembered = known.get(header);
    if (remembered) return remembered;
    const text = bearer(header);
    if (!hasValidChecksum(text)) {
      throw unauthorized(
        'The credential is incomplete or mistyped: its checksum is wrong. Copy all of it again.',
      );
    }
    const credential = { text, hash: hashCredential(text), known: undefined };
    known.set(header, credential);
    return credential;
  };
}

export interface GuardDeps {
  store: Pick<Store, 'accounts' | 'keys' | 'inboxes' | 'sessions' | 'generation'>;
  clock: Clock;
}

/** What a request is judged by. */
export interface Asking {
  authorization: string | undefined;
  /** The secret of a session cookie; counts where `authorization` is undefined. */
  session?: string | undefined;
  access: Exclude<Access, 'public'>;
  /** The `:id` of the path. */
  inboxId: string | undefined;
}

/** The one guard of all routes. */
export interface Guard {
  /**
   * Credential in, {@link Caller} out, or the refusal to give.
   * @param admit called as soon as the account is known, before anything else is looked at
   * @throws AppError `unauthorized`, `insufficient_scope`, `not_found` or `inbox_expired`, and what
   *   `admit` throws
   */
  check(
    asking: Asking,
    admit?: (account: AccountRecord, key: KeyRecord | null) => MaybePromise<void>,
  ): MaybePromise<Caller>;
  /** Nothing that is remembered of keys and accounts is used any more. */
  forget(): void;
}

/** A token's hash stands for its inbox alone. */
const anyInbox = (): boolean => true;

export function createGuard({ store, clock }: GuardDeps): Guard {
  const read = createReader();
  const accounts = new TtlCache<AccountRecord>(REMEMBERED);
  const inboxes = new TtlCache<InboxRecord>(REMEMBERED);
  let forgotten = 0;

  const findKey = (credential: Credential, now: number): MaybePromise<KeyCaller> => {
    const { known } = credential;
    const monotonic = clock.monotonic();
    const isFresh = known && monotonic < known.until && known.forgotten === forgotten;
    if (isFresh && now < (known.caller.key.expiresAt ?? Number.POSITIVE_INFINITY)) return known.caller;
    // What was asked before something was forgotten may be what was to be forgotten.
    const asked = forgotten;
    return store.keys.findByHash(credential.hash, now).then((found) => {
      if (!found) throw unknownCredential();
      const until = monotonic + CACHE_TTL_MS;
      const caller = { ...found, keyHash: credential.hash };
      credential.known = { caller, until, forgotten: asked };
      return caller;
    });
  };

  const findAccount = (accountId: string): MaybePromise<AccountRecord> =>
    accounts.get(accountId, clock.monotonic()) ??
    store.accounts.find(accountId).then((account) => {
      // It was deleted a moment ago; what its inbox was is still remembered.
      if (!account) throw unknownCredential();
      accounts.set(accountId, account, clock.monotonic() + CACHE_TTL_MS);
      return account;
    });

  /** An inbox, remembered until any write is answered: pollers ask again long before something happens. */
  const findInbox = (
    key: string,
    isAsked: (inbox: InboxRecord) => boolean,
    find: () => Promise<InboxRecord | undefined>,
  ): MaybePromise<InboxRecord | undefined> => {
    const generation = store.generation();
    const known = generation === null ? undefined : inboxes.get(key, clock.monotonic(), generation);
    if (known && isAsked(known)) return known;
    return find().then((inbox) => {
      if (inbox && generation !== null) {
        inboxes.set(key, inbox, clock.monotonic() + CACHE_TTL_MS, generation);
      }
      return inbox;
    });
  };

  const withToken = (hash: string, { access, inboxId }: Asking, admit: Admit): MaybePromise<Caller> => {
    const now = clock.now();
    const found = findInbox(hash, anyInbox, () => store.inboxes.findByToken(hash, now));
    return andThen(found, (inbox) => {
      if (!inbox) throw unknownCredential();
      return andThen(findAccount(inbox.accountId), (account) =>
        andThen(admit(account, null), () => {
          if (access !== 'inbox:read' && access !== 'any') {
            throw tokenNotEnough();
          }
          const own = access === 'any' || inbox.id === inboxId ? inbox : undefined;
          return { account, key: null, inbox: liveInbox(own, now, inboxId ?? '') };
        }),
      );
    });
  };

  const withKey = (
    credential: Credential,
    { access, inboxId }: Asking,
    admit: Admit,
  ): MaybePromise<Caller> => {
    const now = clock.now();
    return andThen(findKey(credential, now), (caller) => {
      const { key, account } = caller;
      return andThen(admit(account, key), () => {
        if (key.scope === 'read' && access.endsWith(':write')) {
          throw keyReadsOnly();
        }
        if (!access.startsWith('inbox:') || inboxId === undefined)
          return { account, key: caller, inbox: null };
        const isOwn = (inbox: InboxRecord): boolean => inbox.accountId === account.id;
        const found = findInbox(inboxId, isOwn, () => store.inboxes.find(account.id, inboxId, now));
        return andThen(found, (inbox) => ({ account, key: caller, inbox: liveInbox(inbox, now, inboxId) }));
      });
    });
  };

  const withSession = async (secret: string, asking: Asking, admit: Admit): Promise<Caller> => {
    const now = clock.now();
    const session = await store.sessions.find(hashCredential(secret), now);
    if (!session) throw sessionEnded();
    if (now - session.usedAt >= SESSION_USE_EVERY_MS) await store.sessions.used(session.hash, now);
    const { credentialHash: hash } = session;
    const caller =
      session.kind === 'token'
        ? withToken(hash, asking, admit)
        : withKey({ text: '', hash, known: undefined }, asking, admit);
    return caller;
  };

  return {
    check(asking, admit = () => undefined) {
      if (asking.authorization === undefined && asking.session !== undefined) {
        return withSession(asking.session, asking, admit);
      }
      const credential = read(asking.authorization);
      return credential.text.startsWith('mft_')
        ? withToken(credential.hash, asking, admit)
        : withKey(credential, asking, admit);
    },
    forget() {
      forgotten += 1;
      accounts.clear();
    },
  };
}

type Admit = NonNullable<Parameters<Guard['check']>[1]>;

/** What a guarded request was let in with. @throws Error on a public route */
export function callerOf({ caller }: FastifyRequest): Caller {
  if (!caller) throw new Error('the route did not declare an access that promises a caller');
  return caller;
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
