import type { FastifyReply, FastifyRequest } from 'fastify';

/*
 * Cross-origin requests of browsers (the Fetch standard, section 3.3). The credential is an Authorization
 * header that the page has to know. Access-Control-Allow-Credentials is never sent, so a browser adds no
 * cookie and no stored password of its own, and `*` is as safe as a list.
 */

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE';
/** Request headers that the API reads and that a page may not send without being allowed to. */
const REQUEST_HEADERS = [
  'authorization',
  'content-type',
  'idempotency-key',
  'if-none-match',
  'if-range',
  'last-event-id',
  'range',
];
/** Response headers that a page may read, besides those that it always may, such as Content-Type. */
const EXPOSED_HEADERS = [
  'accept-ranges',
  'allow',
  'content-disposition',
  'content-range',
  'etag',
  'location',
  'ratelimit',
  'ratelimit-policy',
  'retry-after',
  'www-authenticate',
  'x-quota-limit',
  'x-quota-remaining',
  'x-quota-reset',
  'x-request-id',
].join(', ');
/** Seconds that a browser may remember a preflight; Chromium keeps none for longer. */
const PREFLIGHT_SECONDS = 7_200;

const ANY = '*';

export interface Cors {
  /** Sets the headers of a response, also of an error. */
  allow(request: FastifyRequest, reply: FastifyReply): void;
  /**
   * Responds to a preflight of an allowed origin. A preflight carries no credential, so it is answered before
   * authentication, and does not count against a quota.
   * @returns true when the request was one
   */
  respondToPreflight(request: FastifyRequest, reply: FastifyReply): boolean;
}

/** @param origins exact origins such as `https://app.example.com`, or only `*`; none: no request is allowed */
export function createCors(origins: readonly string[]): Cors {
  const isAny = origins.includes(ANY);
  const allowed = new Set(origins);
  const isAllowed = ({ headers }: FastifyRequest): boolean =>
    headers.origin !== undefined && (isAny || allowed.has(headers.origin));
  return {
    allow(request, reply) {
      if (origins.length === 0) return;
      // A cache must not give the response for one origin to another.
      if (!isAny) reply.header('vary', 'Origin');
      if (!isAllowed(request)) return;
      reply.header('access-control-allow-origin', isAny ? ANY : request.headers.origin);
      reply.header('access-control-expose-headers', EXPOSED_HEADERS);
    },
    respondToPreflight(request, reply) {
      const { headers, method } = request;
      if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) return false;
      if (!isAllowed(request)) return false;
      // Also what the API does not read: monitoring scripts add headers of their own to all requests of a page.
      const asked = (headers['access-control-request-headers'] ?? '').toLowerCase().split(',');
      const names = new Set([...REQUEST_HEADERS, ...asked.map((name) => name.trim()).filter(Boolean)]);
      reply
        .code(204)
        .header('access-control-allow-methods', METHODS)
        .header('access-control-allow-headers', [...names].join(', '))
        .header('access-control-max-age', PREFLIGHT_SECONDS)
        .send();
      return true;
    },
  };
}
