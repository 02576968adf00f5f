import type { FastifyReply, FastifyRequest } from 'fastify';

const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  // Mail is private and may be deleted at any time: caches must revalidate.
  'cache-control': 'private, no-cache',
};

/** Sets the headers that every response has; a route may replace them. */
export function setCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers(SECURITY_HEADERS).header('x-request-id', request.id);
}
