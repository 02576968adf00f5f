import type { FastifyReply, FastifyRequest } from 'fastify';

/*
 * Cross-origin requests of browsers (the Fetch standard, section 3.3). Access-Control-Allow-Credentials is never sent,
 * so browsers add no cookies or stored passwords, and `*` is as safe as a list of origins.
 */

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE';
/** Request headers that the API reads and that browsers send cross-origin only if they are allowed. */
const REQUEST_HEADERS = [
  'authorization',
  'content-type',
  'idempotency-key',
  'if-none-match',
  'if-range',
  'last-event-id',
  'range',
];
/** Response headers that pages may read besides those that are always readable, such as Content-Type. */
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
/** The longest time, in seconds, for which Chromium caches a preflight. */
const PREFLIGHT_SECONDS = 7_200;

const ANY = '*';

export interface Cors {
  /** Sets the CORS headers of a response, also of an error. */
  allow(request: FastifyRequest, reply: FastifyReply): void;
  /** Responds to a preflight of an allowed origin and returns true. Preflights carry no credential. */
  respondToPreflight(request: FastifyRequest, reply: FastifyReply): boolean;
}

/** @param origins exact origins, such as `https://app.example.com`, or only `*`; if empty, none is allowed */
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
      // Also headers that the API does not read: monitoring scripts add their own to all requests of a page.
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
