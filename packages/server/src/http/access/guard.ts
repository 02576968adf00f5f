import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import type { AccountRecord, KeyRecord } from '../../accounts/sql.ts';
import { CACHE_TTL_MS, type Clock, MINUTE_MS } from '../../clock.ts';
import { AppError } from '../../errors.ts';
import { hashCredential } from '../../ids.ts';
import { type InboxRecord, liveInbox } from '../../inboxes/records.ts';
import { createSharing, type Store } from '../../store.ts';
import type { ProblemCode } from '../response/problems.ts';
import type { Admitted } from './admission.ts';
import {
  type Credential,
  DEV_KEY_HASH,
  devCaller,
  devKeyUnknown,
  type KeyCaller,
  missingCredential,
  readCredential,
  sessionEnded,
  unknownCredential,
} from './credential.ts';

/**
 * What a route requires of its caller; every route declares one.
 * - `public`: nothing
 * - `account:read`, `account:write`: an API key; a key of scope `read` only reads
 * - `inbox:read`: an API key of the owner of the inbox `:id`, or that inbox's read token
 * - `inbox:read-ended`: that inbox's read token, or any API key. With a key, the inbox may have ended, so the
 *   handler must check that it belongs to the account
 * - `inbox:key-read`: an API key of its owner
 * - `inbox:write`: an API key of its owner, not of scope `read`
 * - `any`: an API key, or the read token of any live inbox; that inbox becomes the inbox of the caller
 */
export type Access =
  | 'public'
  | 'account:read'
  | 'account:write'
  | 'inbox:read'
  | 'inbox:read-ended'
  | 'inbox:key-read'
  | 'inbox:write'
  | 'any';

export interface Caller {
  account: AccountRecord;
  /** Null for a read token. */
  key: KeyCaller | null;
  inbox: InboxRecord | null;
}

declare module 'fastify' {
  interface FastifySchema {
    operationId?: string;
    tags?: readonly string[];
    summary?: string;
    description?: string;
  }
  interface FastifyContextConfig {
    access?: Access | undefined;
    /** True if requests do not count against the quota. */
    free?: boolean | undefined;
    accepts?: readonly string[] | undefined;
    errors?: readonly ProblemCode[] | undefined;
    /** Status of a successful response; default: 200. */
    status?: number;
  }
  interface FastifyRequest {
    caller: Caller | null;
    session: string | undefined;
    admitted: Admitted | null;
  }
}

/** Minimum time between two records of a session's use, because each record is a database write. */
const SESSION_USE_EVERY_MS = 10 * MINUTE_MS;

const CACHED_INBOXES = 1_000;

const tokenNotEnough = () =>
  new AppError(
    'insufficient_scope',
    'A read token can only read its own inbox. Use an API key for this operation.',
  );

const keyReadsOnly = () =>
  new AppError(
    'insufficient_scope',
    'This API key has the scope "read". Use one with the scope "full" for this operation.',
  );

interface GuardDeps {
  store: Pick<Store, 'accounts' | 'keys' | 'inboxes' | 'sessions' | 'generation'>;
  clock: Clock;
  hasDevKey?: boolean | undefined;
}

export interface Asking {
  authorization: string | undefined;
  session?: string | undefined;
  access: Exclude<Access, 'public'>;
  inboxId: string | undefined;
  /** True for requests by POP3 or an imitated API (Mailpit). There, read tokens may change messages too. */
  isDialect?: boolean;
}

type Admit = (account: AccountRecord, key: KeyRecord | null) => Promise<void>;

/** Authenticates requests. Caches keys, accounts and inboxes for {@link CACHE_TTL_MS}, inboxes only until the next write. */
export class Guard {
  readonly #deps: GuardDeps;
  /** Credentials by Authorization header: hashing the header for each request would be slow. */
  readonly #credentials = new LRUCache<string, Credential>({ max: 1_000 });
  readonly #shared: ReturnType<typeof createSharing>;

  constructor(deps: GuardDeps) {
    this.#deps = deps;
    this.#shared = createSharing(deps.store, deps.clock, CACHED_INBOXES);
  }

  /** @param admit called before scope and inbox are checked @throws AppError for a wrong credential, scope or inbox */
  async check(asking: Asking, admit: Admit = async () => undefined): Promise<Caller> {
    const { authorization, session } = asking;
    if (authorization === undefined && session !== undefined)
      return this.#withSession(session, asking, admit);
    if (authorization === undefined) throw missingCredential();
    let credential = this.#credentials.get(authorization);
    if (!credential) {
      credential = readCredential(authorization);
      this.#credentials.set(authorization, credential);
    }
    return credential.text.startsWith('mft_')
      ? this.#withToken(credential, asking, admit)
      : this.#withKey(credential, asking, admit);
  }

  /** Clears the cache after a key was revoked. Queries that are in progress do not fill it again. */
  forget(): void {
    this.#credentials.clear();
  }

  findInbox(accountId: string, inboxId: string, now: number): Promise<InboxRecord | undefined> {
    const { inboxes } = this.#deps.store;
    return this.#shared(`${accountId} ${inboxId}`, () => inboxes.find(accountId, inboxId, now));
  }

  async #known<T>(credential: Credential, find: () => Promise<T | undefined>): Promise<T> {
    const { known } = credential;
    const monotonic = this.#deps.clock.monotonic();
    if (known && monotonic < known.until) return known.owner as T;
    const owner = await find();
    if (!owner) throw unknownCredential();
    credential.known = { owner, until: monotonic + CACHE_TTL_MS };
    return owner;
  }

  async #findKey(credential: Credential, now: number): Promise<KeyCaller> {
    const { store, hasDevKey } = this.#deps;
    if (credential.hash !== DEV_KEY_HASH) {
      const caller = await this.#known(credential, () => store.keys.findByHash(credential.hash, now));
      if (now >= (caller.key.expiresAt ?? Number.POSITIVE_INFINITY)) throw unknownCredential();
      return caller;
    }
    if (!hasDevKey) throw devKeyUnknown();
    return devCaller(await this.#known(credential, () => store.accounts.findFirst()));
  }

  async #withToken(credential: Credential, { access, inboxId, isDialect }: Asking, admit: Admit) {
    const now = this.#deps.clock.now();
    const { hash } = credential;
    const { inboxes, accounts } = this.#deps.store;
    const inbox = await this.#shared(hash, () => inboxes.findByToken(hash, now));
    if (!inbox) throw unknownCredential();
    const account = await this.#known(credential, () => accounts.find(inbox.accountId));
    await admit(account, null);
    const mayWrite = isDialect && access === 'inbox:write';
    if (!access.startsWith('inbox:read') && access !== 'any' && !mayWrite) throw tokenNotEnough();
    const own = access === 'any' || inbox.id === inboxId ? inbox : undefined;
    return { account, key: null, inbox: liveInbox(own, now, inboxId ?? '') };
  }

  async #withKey(credential: Credential, { access, inboxId }: Asking, admit: Admit): Promise<Caller> {
    const now = this.#deps.clock.now();
    const caller = await this.#findKey(credential, now);
    const { key, account } = caller;
    await admit(account, key);
    if (key.scope === 'read' && access.endsWith(':write')) throw keyReadsOnly();
    const needsInbox = access.startsWith('inbox:') && access !== 'inbox:read-ended';
    if (!needsInbox || inboxId === undefined) return { account, key: caller, inbox: null };
    const inbox = await this.findInbox(account.id, inboxId, now);
    return { account, key: caller, inbox: liveInbox(inbox, now, inboxId) };
  }

  async #withSession(secret: string, asking: Asking, admit: Admit): Promise<Caller> {
    const now = this.#deps.clock.now();
    const session = await this.#deps.store.sessions.find(hashCredential(secret), now);
    if (!session) throw sessionEnded();
    if (now - session.usedAt >= SESSION_USE_EVERY_MS) await this.#deps.store.sessions.used(session.hash, now);
    const credential = { text: '', hash: session.credentialHash, known: undefined };
    return session.kind === 'token'
      ? this.#withToken(credential, asking, admit)
      : this.#withKey(credential, asking, admit);
  }
}

export function callerOf({ caller }: FastifyRequest): Caller {
  if (!caller) throw new Error('The access of this route requires no caller');
  return caller;
}

export function keyCaller({ caller }: FastifyRequest): KeyCaller {
  if (!caller?.key) throw new Error('The access of this route requires no API key');
  return caller.key;
}

export function callersInbox({ caller }: FastifyRequest): InboxRecord {
  if (!caller?.inbox) throw new Error('The access of this route requires no inbox');
  return caller.inbox;
}
