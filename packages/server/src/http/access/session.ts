import type { FastifyRequest } from 'fastify';
import { SESSION_MAX_MS } from '../../console/sql.ts';
import { AppError } from '../../errors.ts';
import { quoted } from '../../text/nearest.ts';

/*
 * The console authenticates with an HttpOnly cookie. Browsers add it to every request for this host, also to those that
 * another site causes, so a request with the cookie must come from a page of this server.
 */

/** Only over HTTPS, for this host and all its paths (RFC 6265bis section 4.1.3.2). */
const SECURE_NAME = '__Host-mayfly';
const MAX_COOKIE = 200;
const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);
const LOOPBACK = /^(localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::(\d+))?$/i;
const HTTP_PORT = '80';

export const isLoopbackHost = (host: string): boolean => LOOPBACK.test(host);

/**
 * Browsers accept `Secure` only over HTTPS, so on loopback the cookie is a plain one. Its name contains the port,
 * because all ports of a host share their cookies.
 */
function cookieName(host: string | undefined, isHttps: boolean): { name: string; isSecure: boolean } {
  const loopback = isHttps ? null : LOOPBACK.exec(host ?? '');
  return loopback
    ? { name: `mayfly-${loopback[2] ?? HTTP_PORT}`, isSecure: false }
    : { name: SECURE_NAME, isSecure: true };
}

/** The Set-Cookie header of a session. @param secret '' ends the session */
export function sessionCookie(request: FastifyRequest, secret: string, publicUrl: string | null): string {
  const { name, isSecure } = cookieName(request.headers.host, isHttpsUrl(publicUrl));
  const maxAge = secret === '' ? 0 : SESSION_MAX_MS / 1_000;
  const attributes = ['Path=/', 'HttpOnly', 'SameSite=Strict', `Max-Age=${maxAge}`];
  if (isSecure) attributes.push('Secure');
  return `${name}=${secret}; ${attributes.join('; ')}`;
}

const isHttpsUrl = (url: string | null): boolean => url?.startsWith('https:') ?? false;

/**
 * The secret of the session cookie; undefined without one, or if an Authorization header takes precedence.
 * @throws AppError `cross_site_request` if another site may have caused the request
 */
export function sessionSecret(request: FastifyRequest, publicUrl: string | null): string | undefined {
  const { authorization, cookie, host } = request.headers;
  if (authorization !== undefined || cookie === undefined) return undefined;
  const { name } = cookieName(host, isHttpsUrl(publicUrl));
  const start = `${name}=`;
  const pair = cookie.split(/; */).find((one) => one.startsWith(start));
  const secret = pair?.slice(start.length) ?? '';
  if (secret === '' || secret.length > MAX_COOKIE) return undefined;
  assertSameOrigin(request, publicUrl);
  return secret;
}

/** @throws AppError `cross_site_request` unless a page of this server, or for reads the user, caused the request */
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

/** The header that shows that the request was not caused by a page of this origin, as text; undefined without one. */
export function foreignPage(
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
