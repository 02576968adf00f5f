import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';
import type { AccountRecord, KeyRecord } from '../../accounts/sql.ts';
import { SESSION_MAX_MS } from '../../console/sql.ts';
import { AppError } from '../../errors.ts';
import { hashCredential, hasValidChecksum } from '../../ids.ts';
import { quoted } from '../../text/nearest.ts';

/** Browsers accept `__Host-` cookies only over HTTPS, for this host and all its paths (RFC 6265bis section 4.1.3.2). */
const SECURE_NAME = '__Host-mayfly';
const MAX_COOKIE = 200;
const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);
const LOOPBACK = /^(localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::(\d+))?$/i;

/** On loopback without HTTPS, the cookie is not `Secure`. All ports of a host share cookies, so its name has the port. */
function cookieName(host: string | undefined, publicUrl: string | null) {
  const loopback = publicUrl?.startsWith('https:') ? null : LOOPBACK.exec(host ?? '');
  return loopback
    ? { name: `mayfly-${loopback[2] ?? '80'}`, isSecure: false }
    : { name: SECURE_NAME, isSecure: true };
}

export function sessionCookie(request: FastifyRequest, secret: string, publicUrl: string | null): string {
  const { name, isSecure } = cookieName(request.headers.host, publicUrl);
  const maxAge = secret === '' ? 0 : SESSION_MAX_MS / 1_000;
  const attributes = ['Path=/', 'HttpOnly', 'SameSite=Strict', `Max-Age=${maxAge}`];
  if (isSecure) attributes.push('Secure');
  return `${name}=${secret}; ${attributes.join('; ')}`;
}

/** The secret of the session cookie; undefined with an Authorization header. @throws as assertSameOrigin */
export function sessionSecret(request: FastifyRequest, publicUrl: string | null): string | undefined {
  const { authorization, cookie, host } = request.headers;
  if (authorization !== undefined || cookie === undefined) return undefined;
  const start = `${cookieName(host, publicUrl).name}=`;
  const pair = cookie.split(/; */).find((one) => one.startsWith(start));
  const secret = pair?.slice(start.length) ?? '';
  if (secret === '' || secret.length > MAX_COOKIE) return undefined;
  assertSameOrigin(request, publicUrl);
  return secret;
}

/** @throws AppError `cross_site_request` if another site may have caused the request */
export function assertSameOrigin({ headers, method }: FastifyRequest, publicUrl: string | null): void {
  const { origin, 'sec-fetch-site': site } = headers;
  if (SAFE_METHODS.has(method)) {
    if (site === 'none') return;
  } else if (site === undefined && origin === undefined) {
    throw crossSite('neither of the headers Sec-Fetch-Site and Origin');
  }
  const page = foreignPage(headers, publicUrl);
  if (page) throw crossSite(page);
}

/** Describes, for an error message, the header that shows that a page of another origin sent the request. */
function foreignPage(
  { host, origin, 'sec-fetch-site': site }: FastifyRequest['headers'],
  publicUrl: string | null,
): string | undefined {
  if (site !== undefined) return site === 'same-origin' ? undefined : `the header "Sec-Fetch-Site: ${site}"`;
  if (origin === undefined || originHost(origin) === host?.toLowerCase()) return undefined;
  if (publicUrl !== null && origin === new URL(publicUrl).origin) return undefined;
  return `the origin ${quoted(origin)}`;
}

const originHost = (origin: string): string | undefined =>
  URL.canParse(origin) ? new URL(origin).host : undefined;

const crossSite = (what: string): AppError =>
  new AppError(
    'cross_site_request',
    `A request with ${what} cannot use the session of the console: another site may have caused the request. Open the console itself, or send an Authorization header.`,
  );

export interface KeyCaller {
  key: KeyRecord;
  account: AccountRecord;
}

const MAX_CREDENTIAL = 512;
const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i;

export interface Credential {
  text: string;
  hash: string;
  /** Key or account that the credential stands for, cached until `until` (monotonic milliseconds). */
  known: { owner: unknown; until: number } | undefined;
}

/** End of error messages. These never quote the Authorization header, because it may contain a secret. */
const HOW_TO_AUTHENTICATE =
  'Send "Authorization: Bearer CREDENTIAL" with an API key (mfk_…) or the read token of the inbox (mft_…).';
const WHERE_KEYS_COME_FROM =
  'Programs on the machine of "mayfly dev" send the key "dev". "mayfly serve" writes the first API key to the file first-api-key, and "mayfly key create" creates more.';

const unauthorized = (message: string): AppError => new AppError('unauthorized', message);

export const missingCredential = () =>
  unauthorized(`The Authorization header is missing. ${HOW_TO_AUTHENTICATE} ${WHERE_KEYS_COME_FROM}`);

/** The error is the same for unknown, revoked and expired credentials, so that callers cannot tell them apart. */
export const unknownCredential = () =>
  unauthorized(
    `The API key or token is unknown, revoked or expired. A read token ends with its inbox. ${WHERE_KEYS_COME_FROM}`,
  );

export const sessionEnded = () => unauthorized('The session of the console has ended. Sign in again.');

/** @throws AppError `unauthorized` for a malformed Authorization header, or a wrong checksum */
export function readCredential(header: string): Credential {
  if (header.length > MAX_CREDENTIAL)
    throw unauthorized(
      `The Authorization header is longer than ${MAX_CREDENTIAL} characters. ${HOW_TO_AUTHENTICATE}`,
    );
  const text = BEARER.exec(header)?.[1];
  if (text === undefined) {
    const problem = /^mf[kt]_/.test(header)
      ? 'The word "Bearer" is missing before the credential.'
      : 'The Authorization header does not have the form "Bearer CREDENTIAL".';
    throw unauthorized(`${problem} ${HOW_TO_AUTHENTICATE}`);
  }
  if (!hasValidChecksum(text))
    throw unauthorized(
      'The credential is incomplete or mistyped: its checksum is wrong. Copy all of it again.',
    );
  return { text, hash: hashCredential(text), known: undefined };
}

/** The development key. It stands for the first account, with `mayfly dev` on loopback; see {@link assertLocal}. */
const DEV_KEY = 'dev';
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

const nameOf = (host: string): string => /^\[?(.*?)\]?(?::\d+)?$/.exec(host)?.[1] ?? '';

/** True for an IP address or a name without dots. DNS rebinding cannot use them: it needs a public domain. */
const isFixed = (name: string): boolean => isIP(name) !== 0 || /^[a-z0-9_-]+$/.test(name);

/** @param openHosts host names that other machines may use; null rejects other machines @throws AppError */
export function assertLocal(
  { headers, raw, method }: FastifyRequest,
  publicUrl: string | null,
  openHosts: readonly string[] | null = null,
): void {
  const host = headers.host?.toLowerCase() ?? '';
  const publicHost = publicUrl === null ? null : new URL(publicUrl).host;
  const name = nameOf(host);
  const isNamed = openHosts?.includes(name) ?? false;
  const isOpen = isNamed || (openHosts !== null && isFixed(name));
  if (!LOOPBACK.test(host) && host !== publicHost && !isOpen)
    throw openHosts === null ? refused(`for the host "${host}"`) : unknownHost(name);
  if (!isNamed) assertNoProxy(headers, raw.httpVersion);
  const { authorization, 'sec-fetch-site': site } = headers;
  const isTyped = authorization === undefined && site === 'none' && SAFE_METHODS.has(method);
  const page = isTyped ? undefined : foreignPage(headers, publicUrl);
  if (page) throw refused(`with ${page}, by a page of another origin,`);
}

function assertNoProxy(headers: FastifyRequest['headers'], httpVersion: string): void {
  const field = Object.keys(headers).find((name) => PROXY_FIELD.test(name));
  if (field) throw refused(`with the header "${field}" of a proxy`);
  // By default, nginx as a proxy sends HTTP/1.0, and no header that shows that it is a proxy.
  if (httpVersion === '1.0') throw refused('over HTTP/1.0, as proxies send it,');
}

const refused = (what: string): AppError =>
  new AppError(
    'cross_site_request',
    `A request ${what} cannot use the development key, which is for programs of this machine. Send an API key: set MAYFLY_API_KEY for the server and for the client.`,
  );

const unknownHost = (name: string): AppError =>
  new AppError(
    'cross_site_request',
    `This server is not known to have the name "${name}", so the request may come from a page of another site. Name it in MAYFLY_HOSTS, or send an API key.`,
  );

export const devKeyUnknown = (): AppError =>
  new AppError(
    'unauthorized',
    '"dev" is the development key, which only "mayfly dev" accepts, and only while it listens on loopback. Clients send it when no API key is given: set MAYFLY_API_KEY.',
  );
