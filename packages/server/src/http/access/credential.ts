import type { FastifyRequest } from 'fastify';
import type { AccountRecord, KeyRecord } from '../../accounts/sql.ts';
import { AppError } from '../../errors.ts';
import { hashCredential, hasValidChecksum } from '../../ids.ts';
import { LruCache } from '../../workers/ttl-cache.ts';
import { foreignPage, isLoopbackHost } from './session.ts';

export interface KeyCaller {
  key: KeyRecord;
  account: AccountRecord;
}

/** Longer than any credential; a longer one is not hashed. */
const MAX_CREDENTIAL = 512;
/** RFC 6750 section 2.1; the scheme is case-insensitive (RFC 9110 section 11.1). */
const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i;

export interface Credential {
  text: string;
  hash: string;
  /** Cached result of the store, valid until the monotonic time `until` or the next `forget` of the guard. */
  known: { caller: KeyCaller; until: number; forgotten: number } | undefined;
}

/** The end of every message about a credential. No message contains any part of the header. */
const HOW_TO_AUTHENTICATE =
  'Send "Authorization: Bearer CREDENTIAL" with an API key (mfk_…) or the read token of the inbox (mft_…).';
const WHERE_KEYS_COME_FROM =
  'Programs on the machine of "mayfly dev" send the key "dev". "mayfly serve" writes the first API key to the file first-api-key, and "mayfly key create" creates more.';

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

const missingCredential = () =>
  unauthorized(`The Authorization header is missing. ${HOW_TO_AUTHENTICATE} ${WHERE_KEYS_COME_FROM}`);

/** The same 401 for unknown, revoked and expired credentials, so that callers cannot tell them apart. */
export const unknownCredential = () =>
  unauthorized(`The API key or token is unknown, revoked or expired. ${WHERE_KEYS_COME_FROM}`);

export const sessionEnded = () => unauthorized('The session of the console has ended. Sign in again.');

const HASHED_CREDENTIALS = 1_000;
/** Reads Authorization headers. Caches hashes, which are slow to compute; validity is checked for each request. */
export class CredentialReader {
  readonly #known = new LruCache<Credential>(HASHED_CREDENTIALS);

  /** @throws AppError `unauthorized` for a missing or malformed header, or a wrong checksum */
  read(header: string | undefined): Credential {
    if (header === undefined) throw missingCredential();
    const known = this.#known.get(header);
    if (known) return known;
    const text = bearer(header);
    if (!hasValidChecksum(text)) {
      throw unauthorized(
        'The credential is incomplete or mistyped: its checksum is wrong. Copy all of it again.',
      );
    }
    const credential = { text, hash: hashCredential(text), known: undefined };
    this.#known.set(header, credential);
    return credential;
  }
}

/*
 * The development key: with `mayfly dev` on loopback, `Authorization: Bearer dev` authenticates as the first account.
 * It is not secret, so {@link assertLocal} requires that a program on this machine sent the request. It is not stored.
 */

const DEV_KEY = 'dev';
/** No stored key has this id. */
export const DEV_KEY_ID = 'key_dev';
export const DEV_KEY_HASH: string = hashCredential(DEV_KEY);
const DEV_KEY_HEADER = /^bearer +dev *$/i;
const PROXY_FIELD = /^(?:forwarded|via|x-forwarded-.*|x-real-ip)$/;

export const devCaller = (account: AccountRecord): KeyCaller => ({
  account,
  key: {
    id: DEV_KEY_ID,
    accountId: account.id,
    name: 'development key',
    scope: 'full',
    prefix: DEV_KEY,
    createdAt: account.createdAt,
    expiresAt: null,
  },
});

export const isDevKey = (authorization: string | undefined): boolean =>
  authorization !== undefined && DEV_KEY_HEADER.test(authorization);

/**
 * Requires that a program on this machine sent the request, not a proxy or a page of another origin.
 * @throws AppError `cross_site_request`, also if the Host is not of this machine (DNS rebinding)
 */
export function assertLocal({ headers, raw }: FastifyRequest, publicUrl: string | null): void {
  const { host = '' } = headers;
  const publicHost = publicUrl === null ? null : new URL(publicUrl).host;
  if (!isLoopbackHost(host) && host.toLowerCase() !== publicHost) throw refused(`for the host "${host}"`);
  const field = Object.keys(headers).find((name) => PROXY_FIELD.test(name));
  if (field) throw refused(`with the header "${field}" of a proxy`);
  // By default nginx sends HTTP/1.0 without any field that identifies a proxy.
  if (raw.httpVersion === '1.0') throw refused('over HTTP/1.0, as proxies send it,');
  const page = foreignPage(headers, publicUrl);
  if (page) throw refused(`with ${page}, by a page of another origin,`);
}

const refused = (what: string): AppError =>
  new AppError(
    'cross_site_request',
    `A request ${what} cannot use the development key, which is for programs of this machine. Send an API key.`,
  );

export const devKeyUnknown = (): AppError =>
  new AppError(
    'unauthorized',
    '"dev" is the development key, which only "mayfly dev" accepts, and only while it listens on loopback. Clients send it when no API key is given: set MAYFLY_API_KEY.',
  );
